"""API keys: their text, their checksum, and what they allow.

    flk_<id: 10 characters>_<secret: 32 characters><checksum: 6 characters>

All characters are letters and digits. The id finds the key; the secret has 190 bits, so that a plain SHA-256 of the
whole key is enough to store; the checksum tells a mistyped key from an unknown one without asking the store, and lets
scanners find leaked keys with few false alarms.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from hmac import compare_digest
from string import ascii_lowercase, ascii_uppercase, digits
from zlib import crc32

from fairlead.errors import ConfigError

PREFIX = "flk"
ID_LENGTH = 10
SECRET_LENGTH = 32
CHECKSUM_LENGTH = 6
ALPHABET = digits + ascii_uppercase + ascii_lowercase
MOST_NAME = 200
LEAST_RATE, MOST_RATE = 0.001, 1_000_000.0

_KEY = re.compile(rf"{PREFIX}_([0-9A-Za-z]{{{ID_LENGTH}}})_([0-9A-Za-z]{{{SECRET_LENGTH}}})([0-9A-Za-z]{{6}})")

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


class Grant(StrEnum):
    """What a key may be used for."""

    ENQUEUE = "enqueue"  # submit jobs
    READ = "read"  # look at everything
    OPERATE = "operate"  # also change what waits, replay, drain
    ADMIN = "admin"  # everything, keys included

    __hash__ = str.__hash__


IMPLIED: dict[Grant, frozenset[Grant]] = {
    Grant.ENQUEUE: frozenset({Grant.ENQUEUE}),
    Grant.READ: frozenset({Grant.READ}),
    Grant.OPERATE: frozenset({Grant.OPERATE, Grant.READ}),
    Grant.ADMIN: frozenset(Grant),
}


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key as it is kept; `time_left` is as of the reading, and None where it does not expire."""

    id: str
    name: str
    grants: frozenset[Grant]
    tenant: str | None
    hash: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None
    time_left: float | None
    rate: float | None = None  # requests a second that it may send; None is the server's own

    def allows(self, grant: Grant) -> bool:
        """Whether one of its grants includes this one."""
        return any(grant in IMPLIED[own] for own in self.grants)

    @property
    def live(self) -> bool:
        """Whether it was neither revoked nor past its end when it was read."""
        return self.revoked_at is None and (self.time_left is None or self.time_left > 0)


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key about to be stored; its text is shown once and not kept."""

    id: str
    name: str
    grants: frozenset[Grant]
    tenant: str | None
    hash: str
    expires_in: float | None
    rate: float | None = None


def make_text(choose: Callable[[str], str]) -> str:
    """The text of a new key; `choose` picks a character of a text at random."""
    key_id = "".join(choose(ALPHABET) for _ in range(ID_LENGTH))
    secret = "".join(choose(ALPHABET) for _ in range(SECRET_LENGTH))
    body = f"{PREFIX}_{key_id}_{secret}"
    return body + checksum(body)


def checksum(body: str) -> str:
    """Six characters that follow from all others."""
    number, letters = crc32(body.encode()), ""
    for _ in range(CHECKSUM_LENGTH):
        number, rest = divmod(number, len(ALPHABET))
        letters = ALPHABET[rest] + letters
    return letters


def key_id_of(text: str) -> str | None:
    """The id in the text of a key, or None where it cannot be one."""
    match = _KEY.fullmatch(text)
    if match is None or checksum(text[:-CHECKSUM_LENGTH]) != match[3]:
        return None
    return match[1]


def hash_of(text: str) -> str:
    """What is kept of a key."""
    return sha256(text.encode()).hexdigest()


def fits(text: str, key: ApiKey) -> bool:
    """Whether the text is this key's, in a time that does not depend on where they differ."""
    return compare_digest(hash_of(text), key.hash)


def parse_grants(words: Iterable[str]) -> frozenset[Grant]:
    """The grants by their names; at least one."""
    try:
        grants = frozenset(Grant(word) for word in words)
    except ValueError as error:
        raise ConfigError(f"{error}; a scope is one of {', '.join(Grant)}") from None
    if not grants:
        raise ConfigError(f"a key needs a scope: one or more of {', '.join(Grant)}")
    return grants


def check_key_rate(rate: float) -> float:
    """The rate itself; ConfigError where a key cannot have it."""
    if not LEAST_RATE <= rate <= MOST_RATE:
        raise ConfigError(f"a key may send between {LEAST_RATE:g} and {MOST_RATE:g} requests a second, not {rate!r}")
    return rate


def check_key_name(name: str) -> str:
    """The name itself, or ConfigError where an operator could not read it."""
    if not 1 <= len(name) <= MOST_NAME or name != name.strip() or _CONTROL.search(name):
        raise ConfigError(f"the name of a key has 1 to {MOST_NAME} characters, none of them a control character")
    return name
