"""The services behind the workers: each a class with `run_once`, run by one shared runner under an elected leader."""
