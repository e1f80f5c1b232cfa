"""For tests of programs that use Fairlead: a clock that the test moves, and all due work done in one call."""

from fairlead.testing.clock import ManualClock
from fairlead.testing.drain import drain

__all__ = ["ManualClock", "drain"]
