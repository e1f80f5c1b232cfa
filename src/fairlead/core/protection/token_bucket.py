"""Token buckets: at most `burst + rate * seconds` in any span of time, however the taking is spread over it.

A bucket is what is left in it at an instant; nothing runs between. One that nobody has used yet is full.
"""

import math
import re
from typing import NamedTuple

from fairlead.core.durations import seconds
from fairlead.errors import ConfigError

MOST = 1e9
_RATE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*/\s*(\d[\w.]*|[a-z]+)\s*")


class RateLimit(NamedTuple):
    """How fast a bucket fills, in tokens a second, and how many it holds."""

    rate: float
    burst: float


class Bucket(NamedTuple):
    """What was left at an instant."""

    tokens: float
    at: float


def rate_limit(rate: float | str, burst: float | None = None) -> RateLimit:
    """The flow of a rate like "100/s", "600/m" or 2.5 a second; unless said otherwise a second's worth may burst."""
    speed = parse_rate(rate)
    if burst is not None and not 1 <= burst <= MOST:
        raise ConfigError(f"a burst of {burst!r} cannot work: it must be at least 1")
    return RateLimit(speed, float(burst) if burst is not None else max(1.0, float(math.ceil(speed))))


def parse_rate(rate: float | str) -> float:
    """Tokens a second; ConfigError where it is no rate."""
    value = _per_second(rate) if isinstance(rate, str) else float(rate)
    if not 0 < value <= MOST:
        raise ConfigError(f"{rate!r} is not a rate: it must be more than 0; write it like 100/s, 600/m or 5/h")
    return value


def left(bucket: Bucket | None, way: RateLimit, now: float) -> float:
    """The tokens in the bucket now; a clock that went back adds nothing."""
    if bucket is None:
        return way.burst
    return min(way.burst, bucket.tokens + max(0.0, now - bucket.at) * way.rate)


def take(bucket: Bucket | None, way: RateLimit, now: float, count: float) -> Bucket:
    """The bucket after taking; who takes has looked at what is left."""
    at = now if bucket is None else max(now, bucket.at)
    return Bucket(left(bucket, way, now) - count, at)


def wait(bucket: Bucket, way: RateLimit, count: float) -> float:
    """Seconds from the bucket's instant until it holds so many."""
    return max(0.0, (min(count, way.burst) - bucket.tokens) / way.rate)


def full_at(bucket: Bucket, way: RateLimit) -> float:
    """When it will be full, and so no different from one that was never used."""
    return bucket.at + wait(bucket, way, way.burst)


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
