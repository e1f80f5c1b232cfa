"""Work that starts by itself: recurring schedules, their fires, and promotion of due jobs. Retries are in core.jobs."""
