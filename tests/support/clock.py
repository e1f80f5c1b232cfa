"""A clock that the test moves."""


class Clock:
    """Stands in for the module `time`."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        """The instant it stands at."""
        return self.now
