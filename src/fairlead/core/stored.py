"""Reading stored settings and enums that a newer version of Fairlead may have written.

Unknown fields are ignored, missing fields have their defaults, and an invalid value is replaced by the default. So an
older process goes on working beside a newer one instead of failing at every job.
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
    """Return the policy from stored data without unknown fields; the default policy if a value is invalid."""
    known = {item.name for item in fields(kind)}  # type: ignore[arg-type]
    return readable(lambda: kind(**{name: value for name, value in data.items() if name in known}), kind())


def readable(read: Callable[[], Value], usual: Value) -> Value:
    """Return the result of `read`, or `usual` if it raises an error of conversion."""
    try:
        return read()
    except (ConfigError, KeyError, TypeError, ValueError):
        return usual


def known_member(kind: type[Word], text: str, usual: Word) -> Word:
    """Return the enum member with this value, or `usual` if this version does not know it."""
    return readable(lambda: kind(text), usual)


def known_members(kind: type[Word], texts: Iterable[str]) -> tuple[Word, ...]:
    """Return the enum members with these values, without unknown ones."""
    known = set(kind)
    return tuple(kind(text) for text in texts if text in known)
