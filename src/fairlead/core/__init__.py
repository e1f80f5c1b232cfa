"""Decisions as pure functions. No input or output, no clock, no global random: callers pass the time and the dice."""
