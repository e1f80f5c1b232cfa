"""API keys: their text, their checksum, and what they allow.

    flk_<id: 10 characters>_<secret: 32 characters><checksum: 6 characters>

All characters are letters and digits. The id is for the look-up. The secret has 190 bits, so a plain SHA-256 of the
whole key is safe to store. The checksum tells a mistyped key from an unknown one without reading the store, and lets
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
    READ = "read"  # read everything
    OPERATE = "operate"  # also change waiting jobs, replay, drain
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
    """A stored key; `time_left` is as of the reading, None if the key does not expire."""

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
    rate: float | None = None  # allowed requests per second; None is the server's default

    def allows(self, grant: Grant) -> bool:
        """Whether one of the key's grants includes this one."""
        return any(grant in IMPLIED[own] for own in self.grants)

    @property
    def live(self) -> bool:
        """Whether the key was neither revoked nor expired when it was read."""
        return self.revoked_at is None and (self.time_left is None or self.time_left > 0)


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key to be stored; its text is shown once and not stored."""

    id: str
    name: str
    grants: frozenset[Grant]
    tenant: str | None
    hash: str
    expires_in: float | None
    rate: float | None = None


def make_text(choose: Callable[[str], str]) -> str:
    """Return the text of a new key; `choose` picks a random character of a text."""
    key_id = "".join(choose(ALPHABET) for _ in range(ID_LENGTH))
    secret = "".join(choose(ALPHABET) for _ in range(SECRET_LENGTH))
    body = f"{PREFIX}_{key_id}_{secret}"
    return body + checksum(body)


def checksum(body: str) -> str:
    """Return the six checksum characters of a key's text."""
    number, letters = crc32(body.encode()), ""
    for _ in range(CHECKSUM_LENGTH):
        number, rest = divmod(number, len(ALPHABET))
        letters = ALPHABET[rest] + letters
    return letters


def key_id_of(text: str) -> str | None:
    """Return the id in a key's text, or None if the text is not a valid key."""
    match = _KEY.fullmatch(text)
    if match is None or checksum(text[:-CHECKSUM_LENGTH]) != match[3]:
        return None
    return match[1]


def hash_of(text: str) -> str:
    """Return the hash under which a key is stored."""
    return sha256(text.encode()).hexdigest()


def fits(text: str, key: ApiKey) -> bool:
    """Whether the text belongs to this key, compared in constant time."""
    return compare_digest(hash_of(text), key.hash)


def parse_grants(words: Iterable[str]) -> frozenset[Grant]:
    """Return the grants with these names; ConfigError if there is none or an unknown one."""
    try:
        grants = frozenset(Grant(word) for word in words)
    except ValueError as error:
        raise ConfigError(f"{error}; a scope is one of {', '.join(Grant)}") from None
    if not grants:
        raise ConfigError(f"a key needs a scope: one or more of {', '.join(Grant)}")
    return grants


def check_key_rate(rate: float) -> float:
    """Return the rate if it is within bounds, else ConfigError."""
    if not LEAST_RATE <= rate <= MOST_RATE:
        raise ConfigError(f"a key may send between {LEAST_RATE:g} and {MOST_RATE:g} requests a second, not {rate!r}")
    return rate


def check_key_name(name: str) -> str:
    """Return the name if it is bounded and printable, else ConfigError."""
    if not 1 <= len(name) <= MOST_NAME or name != name.strip() or _CONTROL.search(name):
        raise ConfigError(f"the name of a key has 1 to {MOST_NAME} characters, none of them a control character")
    return name
