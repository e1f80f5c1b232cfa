"""What a program that receives callbacks uses: is this really from Fairlead."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from fairlead.core.web.signatures import TOLERANCE, verified


def verify_callback(
    headers: Mapping[str, str],
    body: bytes | str,
    secrets: str | Sequence[str],
    tolerance: float = TOLERANCE,
    now: float | None = None,
) -> Any:
    """The event of a callback, as JSON says it; InvalidSignature unless one of the secrets signed it lately.

    `body` is what was received, byte for byte. A message whose time is further than `tolerance` seconds from now is
    refused, so that somebody who has read an old one cannot send it again.
    """
    raw = body.encode() if isinstance(body, str) else bytes(body)
    known = [secrets] if isinstance(secrets, str) else list(secrets)
    return verified(headers, raw, known, tolerance, time.time() if now is None else now)
