"""Helpers for tests of programs that use Fairlead: a manual clock, and `drain`, which runs all due jobs."""

from fairlead.testing.clock import ManualClock
from fairlead.testing.drain import drain

__all__ = ["ManualClock", "drain"]
