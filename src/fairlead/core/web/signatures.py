"""Signatures of callbacks by Standard Webhooks 1.0: HMAC-SHA256 over `id.timestamp.body`.

A secret is `whsec_` and the base64 of 24 to 64 random bytes. A message carries a signature for each valid secret, so
that a receiver can change to a new secret at any time.
"""

import base64
import binascii
import hmac
import json
from collections.abc import Mapping, Sequence
from typing import Any

from fairlead.errors import ConfigError, InvalidSignature

PREFIX = "whsec_"
SECRET_BYTES = 32
FEWEST_BYTES, MOST_BYTES = 24, 64
TOLERANCE = 300.0
MOST_SIGNATURES = 32
ID, TIMESTAMP, SIGNATURE = "webhook-id", "webhook-timestamp", "webhook-signature"


def secret_of(random: bytes) -> str:
    """Return the secret with these random bytes as its key."""
    return PREFIX + base64.b64encode(random).decode()


def key_of(secret: str) -> bytes:
    """Return the key bytes of a secret; ConfigError if the secret is invalid."""
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not FEWEST_BYTES <= len(key) <= MOST_BYTES:
        raise ConfigError(f"a secret is {PREFIX} and the base64 of {FEWEST_BYTES} to {MOST_BYTES} bytes; this is none")
    return key


def signature(secret: str, message: str, timestamp: int, body: bytes) -> str:
    """Return the signature of a message with one secret."""
    signed = b".".join([message.encode(), str(timestamp).encode(), body])
    return "v1," + base64.b64encode(hmac.digest(key_of(secret), signed, "sha256")).decode()


def signed_headers(secrets: Sequence[str], message: str, timestamp: int, body: bytes) -> dict[str, str]:
    """Return the headers of a message: id, time of this try, and a signature for each secret."""
    signatures = " ".join(signature(secret, message, timestamp, body) for secret in secrets)
    return {ID: message, TIMESTAMP: str(timestamp), SIGNATURE: signatures}


def verified(headers: Mapping[str, str], body: bytes, secrets: Sequence[str], tolerance: float, now: float) -> Any:
    """Return the event of a callback; InvalidSignature if no secret matches its signature or it is too old."""
    given = {str(name).lower(): value for name, value in headers.items()}
    message, timestamp = _required(given, ID), _timestamp(_required(given, TIMESTAMP))
    if abs(now - timestamp) > tolerance:
        raise InvalidSignature(f"the callback is more than {tolerance:g} s old, or from the future; check the clocks")
    expected = [signature(secret, message, timestamp, body).encode() for secret in secrets]
    if not _matches(expected, _required(given, SIGNATURE).split()[:MOST_SIGNATURES]):
        raise InvalidSignature("no signature of the callback fits its body and these secrets; refuse it")
    try:
        return json.loads(body)
    except ValueError:
        raise InvalidSignature("the callback is signed, but its body is not JSON") from None


def _matches(expected: Sequence[bytes], given: Sequence[str]) -> bool:
    """Compare every pair in constant time, so that the timing reveals nothing."""
    pairs = [(one, other.encode(errors="replace")) for one in expected for other in given]
    return sum(hmac.compare_digest(one, other) for one, other in pairs) > 0


def _required(headers: Mapping[str, str], name: str) -> str:
    value = headers.get(name)
    if not value:
        raise InvalidSignature(f"the callback has no header {name}; it is not from Fairlead, or a proxy removed it")
    return value


def _timestamp(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 15):
        raise InvalidSignature(f"{TIMESTAMP} of the callback is not a number of seconds")
    return int(text)
