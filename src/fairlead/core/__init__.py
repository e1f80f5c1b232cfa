"""Decisions as pure functions: no input or output, no clock, no global random."""
