"""Job ids: UUIDv7 text whose random part starts with the shard.

    48 bits  milliseconds since 1970
     4 bits  version (7)
    12 bits  sequence within the process, so that ids of one batch sort in submission order
     2 bits  variant
    10 bits  shard
    52 bits  random

The client makes the id, so an insert whose commit was lost in a network failure can be repeated: the same id cannot be
inserted twice. The id contains the shard, so a look-up by id needs no directory.
"""

import os
import threading
import uuid
from hashlib import blake2b
from random import Random

SHARDS = 1024
RANDOM = 13  # hexadecimal digits
SEQUENCE = tuple(f"{number:03x}" for number in range(1 << 12))

_lock = threading.Lock()
_last_stamp = 0
_random = Random(os.urandom(32))
# A forked process would otherwise generate the same ids as its parent.
os.register_at_fork(after_in_child=lambda: _random.seed(os.urandom(32)))


def make_ids(count: int, now: float, shard: int = 0, rng: Random | None = None) -> list[str]:
    """Return `count` new ids that sort after all ids this process made before."""
    random = rng or _random
    digits = f"{random.getrandbits(RANDOM * 4 * count):0{RANDOM * count}x}"
    fixed, head, millis, at = f"{0x800 | shard:03x}", "", -1, 0
    ids = []
    for stamp in _stamps(count, int(now * 1000)):
        if stamp >> 12 != millis:
            millis = stamp >> 12
            time = f"{millis:012x}"
            head = f"{time[:8]}-{time[8:]}-7"
        ids.append(f"{head}{SEQUENCE[stamp & 0xFFF]}-{fixed}{digits[at]}-{digits[at + 1 : at + RANDOM]}")
        at += RANDOM
    return ids


def derived_id(job_id: str, purpose: str) -> str:
    """Return the id of the job that follows from `job_id` for a purpose: the same each time, in the same shard."""
    digest = blake2b(f"{job_id}:{purpose}".encode(), digest_size=8).hexdigest()
    return f"{job_id[:22]}{digest[0]}-{digest[1:13]}"


def shard_of(job_id: str) -> int:
    """Return the shard in a job id."""
    return int(job_id[19:23], 16) >> 4 & 0x3FF


def is_id(text: str) -> bool:
    """Whether the text is the canonical form of a UUID."""
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False


def _stamps(count: int, millis: int) -> range:
    """Reserve `count` values of (milliseconds, sequence), above all values reserved before."""
    global _last_stamp
    with _lock:
        first = max(millis << 12, _last_stamp + 1)
        _last_stamp = first + count - 1
    return range(first, first + count)
