"""The W3C trace context: which trace a job belongs to."""

import re

_TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")


def parse_traceparent(text: str | None) -> str | None:
    """The header itself where it is valid; one that is not is ignored, as the standard has it."""
    return text if text is not None and _TRACEPARENT.fullmatch(text) else None
