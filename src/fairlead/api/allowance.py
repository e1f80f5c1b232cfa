"""How many requests a key may send, and how often an address may send a key that is none.

The buckets are those of this process: several servers allow several times as much. Answers tell what is left in the
fields of draft-ietf-httpapi-ratelimit-headers.
"""

import time
from collections.abc import Callable
from math import ceil

from fairlead.api.problems import Problem, problem_of
from fairlead.api.request_rates import Meter, Reading
from fairlead.core.protection.token_bucket import RateLimit
from fairlead.core.web.api_keys import ApiKey
from fairlead.errors import FairleadError

BURST_SECONDS = 2.0
REFUSED_RATE = 2_000.0  # refused jobs a second that are worth reading
LONGEST_REFUSAL = 5.0
MOST_POLICIES = 1_000
FAILURES = RateLimit(rate=5.0, burst=200.0)

HeaderList = list[tuple[bytes, bytes]]


class Allowance:
    """The buckets of one server process."""

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        """`rate` is that of keys that have none of their own."""
        self._usual = rate
        self._keys = Meter()
        self._failures = Meter()
        self._policies: dict[float, tuple[RateLimit, bytes]] = {}
        self._unwanted: dict[str, tuple[float, FairleadError]] = {}
        self._clock = clock

    def spend(self, key: ApiKey, headers: HeaderList) -> None:
        """Count a request of this key, and tell what is left; a Problem if it is too many."""
        rate = self._usual if key.rate is None else key.rate
        known = self._policies.get(rate)
        if known is None:
            if len(self._policies) >= MOST_POLICIES:
                self._policies.clear()
            known = self._policies[rate] = _policy(rate)
        way, policy = known
        reading = self._keys.take(key.id, way)
        headers += ((b"ratelimit-policy", policy), (b"ratelimit", _field(reading)))
        if reading.again_in:
            raise Problem(
                429,
                "KEY_RATE_LIMIT_EXCEEDED",
                f"this key may send {way.rate:g} requests a second, {way.burst:g} at once; try again later",
                {"Retry-After": str(max(1, ceil(reading.again_in)))},
            )

    def refused(self, key: ApiKey, error: FairleadError, jobs: int) -> None:
        """Jobs of this key were refused: for a time that grows with them, its submissions are refused unread.

        A key that is not bound to a tenant submits for others too, who are wanted perhaps; it is read every time.
        """
        if key.tenant is None:
            return
        now = self._clock()
        until = max(now, self._unwanted.get(key.id, (now, error))[0]) + jobs / REFUSED_RATE
        if len(self._unwanted) >= MOST_POLICIES:
            self._unwanted = {name: item for name, item in self._unwanted.items() if item[0] > now}
        self._unwanted[key.id] = (min(until, now + LONGEST_REFUSAL), error)

    def require_wanted(self, key: ApiKey) -> None:
        """Refuse a submission of a key whose jobs were refused a moment ago."""
        until, error = self._unwanted.get(key.id, (0.0, None))
        if error is not None and until > self._clock():
            raise problem_of(error)

    def count_failure(self, address: str) -> None:
        """An address has sent a key that is none; a Problem if that happens too often."""
        reading = self._failures.take(address, FAILURES)
        if reading.again_in:
            raise _too_many(reading.again_in)

    def require_patience(self, address: str) -> None:
        """Refuse an address that has sent too many keys that are none."""
        if again_in := self._failures.again_in(address, FAILURES):
            raise _too_many(again_in)


def _policy(rate: float) -> tuple[RateLimit, bytes]:
    way = RateLimit(rate, max(1.0, float(ceil(rate * BURST_SECONDS))))
    return way, f'"key";q={way.burst:.0f};w={max(1, ceil(way.burst / rate))}'.encode()


def _field(reading: Reading) -> bytes:
    return b'"key";r=%d;t=%d' % (max(0, reading.left), ceil(reading.again_in or reading.full_in))


def _too_many(again_in: float) -> Problem:
    return Problem(
        429,
        "TOO_MANY_FAILURES",
        "too many keys that are not valid came from this address; wait before the next one",
        {"Retry-After": str(max(1, ceil(again_in)))},
    )
