"""The W3C trace context of a job (traceparent)."""

import re

_TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")


def parse_traceparent(text: str | None) -> str | None:
    """Return the header if it is valid, else None, since the standard says to ignore it."""
    return text if text is not None and _TRACEPARENT.fullmatch(text) else None
