"""Token buckets: rate limits that allow at most `burst + rate * seconds` tokens in any span of time.

A bucket stores the tokens at an instant; later values are computed from it. A new bucket is full.
"""

import math
import re
from typing import NamedTuple

from fairlead.core.durations import seconds
from fairlead.errors import ConfigError

MOST = 1e9
_RATE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*/\s*(\d[\w.]*|[a-z]+)\s*")


class RateLimit(NamedTuple):
    """A rate limit: tokens per second, and how many tokens the bucket holds."""

    rate: float
    burst: float


class Bucket(NamedTuple):
    """The tokens in a bucket at an instant."""

    tokens: float
    at: float


def rate_limit(rate: float | str, burst: float | None = None) -> RateLimit:
    """Parse a rate like "100/s", "600/m" or 2.5 (per second); the default burst is one second's tokens."""
    speed = parse_rate(rate)
    if burst is not None and not 1 <= burst <= MOST:
        raise ConfigError(f"a burst of {burst!r} cannot work: it must be at least 1")
    return RateLimit(speed, float(burst) if burst is not None else max(1.0, float(math.ceil(speed))))


def parse_rate(rate: float | str) -> float:
    """Parse a rate into tokens per second, else ConfigError."""
    value = _per_second(rate) if isinstance(rate, str) else float(rate)
    if not 0 < value <= MOST:
        raise ConfigError(f"{rate!r} is not a rate: it must be more than 0; write it like 100/s, 600/m or 5/h")
    return value


def left(bucket: Bucket | None, limit: RateLimit, now: float) -> float:
    """Return the tokens in the bucket now; a clock that went back adds none."""
    if bucket is None:
        return limit.burst
    return min(limit.burst, bucket.tokens + max(0.0, now - bucket.at) * limit.rate)


def take(bucket: Bucket | None, limit: RateLimit, now: float, count: float) -> Bucket:
    """Return the bucket without `count` tokens; the caller has checked `left`."""
    at = now if bucket is None else max(now, bucket.at)
    return Bucket(left(bucket, limit, now) - count, at)


def wait(bucket: Bucket, limit: RateLimit, count: float) -> float:
    """Return the seconds from the bucket's instant until it holds `count` tokens."""
    return max(0.0, (min(count, limit.burst) - bucket.tokens) / limit.rate)


def full_at(bucket: Bucket, limit: RateLimit) -> float:
    """Return the instant when the bucket is full again, and so equals a new one."""
    return bucket.at + wait(bucket, limit, limit.burst)


def _per_second(text: str) -> float:
    found = _RATE.fullmatch(text.lower())
    if not found:
        raise ConfigError(f"{text!r} is not a rate; write it like 100/s, 600/m, 5/h or 20/30s")
    amount, span = found.groups()
    try:
        length = seconds(span if span[0].isdigit() else f"1{span}")
    except ConfigError:
        raise ConfigError(f"{text!r} is not a rate; write it like 100/s, 600/m, 5/h, 20/hour or 20/30s") from None
    if length <= 0:
        raise ConfigError(f"{text!r} is not a rate: its span of time must be more than 0")
    return float(amount) / length
