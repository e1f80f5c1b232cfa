"""The fields of settings, and what checks them; each reader takes a JSON value or a text of the command line."""

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple

from fairlead.errors import ConfigError

Given = Mapping[str, Any]


class Field(NamedTuple):
    """A field of a setting: its name, what checks a JSON value or a text of it, and what it says."""

    name: str
    read: Callable[[Any], Any]
    about: str


def whole(value: Any) -> int:
    """A whole number."""
    if isinstance(value, str) and value.strip().lstrip("-").isdigit():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ConfigError(f"{value!r} is not a whole number")
    return value


def number(value: Any) -> float:
    """A number."""
    try:
        return float(value) if not isinstance(value, bool) else float("nan")
    except (TypeError, ValueError):
        raise ConfigError(f"{value!r} is not a number") from None


def yes(value: Any) -> bool:
    """Yes or no."""
    words = {True: True, False: False, "yes": True, "true": True, "no": False, "false": False}
    if value not in words:
        raise ConfigError(f"{value!r} must be yes or no")
    return words[value]


def one_of(*words: str) -> Callable[[Any], str]:
    """One of some words."""

    def read(value: Any) -> str:
        if value not in words:
            raise ConfigError(f"{value!r} must be one of {', '.join(words)}{meant(str(value), words)}")
        return str(value)

    return read


def checked(read: Callable[[Any], Any], name: str, value: Any) -> Any:
    """The value as it is read; ConfigError names the field."""
    try:
        return read(value)
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from None


def meant(text: str, known: Iterable[str]) -> str:
    """A question for the known word that is nearest to the text; empty where none is near."""
    near = get_close_matches(text, [str(word) for word in known], 1)
    return f"; did you mean {near[0]!r}?" if near else ""
