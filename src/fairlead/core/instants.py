"""Instants as people read them."""

from datetime import UTC, datetime

EARLIEST = datetime.min.replace(tzinfo=UTC).timestamp()
LATEST = datetime.max.replace(tzinfo=UTC, microsecond=0).timestamp()


def instant(moment: float | None) -> datetime | None:
    """The datetime, in UTC, of seconds since 1970; what lies beyond all dates is the first or last of them."""
    return None if moment is None else datetime.fromtimestamp(min(max(moment, EARLIEST), LATEST), UTC)
