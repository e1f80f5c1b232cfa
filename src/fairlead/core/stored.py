"""What is kept as data, and may have been written by a newer version that runs beside this one.

Whoever reads it takes what this version knows: fields that it does not know are left out, those that are missing have
their defaults, and where a value cannot be taken the usual one is in force. An older process goes on then, rather than
fail at every job until it is replaced.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from enum import StrEnum
from typing import Any, TypeVar

from fairlead.errors import ConfigError

Policy = TypeVar("Policy")
Value = TypeVar("Value")
Word = TypeVar("Word", bound=StrEnum)


def restored(kind: type[Policy], data: Mapping[str, Any]) -> Policy:
    """The policy, as far as this version knows it; the usual one where a value cannot be taken."""
    known = {item.name for item in fields(kind)}  # type: ignore[arg-type]
    return readable(lambda: kind(**{name: value for name, value in data.items() if name in known}), kind())


def readable(read: Callable[[], Value], usual: Value) -> Value:
    """What is read, or the usual where this version cannot take it."""
    try:
        return read()
    except (ConfigError, KeyError, TypeError, ValueError):
        return usual


def known_member(kind: type[Word], text: str, usual: Word) -> Word:
    """One of the words of a kind; the usual where this version does not know it."""
    return readable(lambda: kind(text), usual)


def known_members(kind: type[Word], texts: Iterable[str]) -> tuple[Word, ...]:
    """Those of the words that this version knows."""
    known = set(kind)
    return tuple(kind(text) for text in texts if text in known)
