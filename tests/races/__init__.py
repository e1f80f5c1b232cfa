"""Many at once: what must hold when stores compete for the same jobs."""
