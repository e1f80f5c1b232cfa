"""Typed events, and log lines made of them. Metrics belong here, too; decisions do not."""
