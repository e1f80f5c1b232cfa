"""The background services: classes with `run_once`, run under an elected leader. No handler runs here."""
