"""When work starts by itself: recurring schedules, their fires, and promotion of jobs that are due."""
