"""Validation of payloads and results: bounded JSON that every database can store."""

import json
import re
from typing import Any, NoReturn

from fairlead.errors import PayloadTooLarge, UnsafePayload

MAX_DEPTH = 64
MOST_DIGITS = 4300  # of a number; Python parses no longer ones

_LONG_NUMBER = re.compile(rf"(?<![0-9])[0-9]{{{MOST_DIGITS + 1}}}")  # the lookbehind tries each run of digits once


def check_payload(given: bytes, limit: int, what: str = "payload") -> str:
    """Return the JSON text; PayloadTooLarge or UnsafePayload if it is too large, too deep or not storable."""
    if len(given) > limit:
        raise PayloadTooLarge(
            f"the {what} has {len(given):,} bytes and at most {limit:,} are kept; "
            "store the data elsewhere and pass a reference to it"
        )
    text = given.decode()
    if _is_suspicious(text):
        _check_closely(text, what)
    return text


def _is_suspicious(text: str) -> bool:
    """A fast check without false negatives; most texts need no other."""
    return (
        "NaN" in text
        or "Infinity" in text
        or ("\\u" in text and ("\\u0000" in text or "\\ud" in text or "\\uD" in text))
        or (len(text) > 2 * MAX_DEPTH and text.count("[") + text.count("{") > MAX_DEPTH)
        or (len(text) > MOST_DIGITS and _LONG_NUMBER.search(text) is not None)
    )


def _check_closely(text: str, what: str) -> None:
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise UnsafePayload(_too_deep(what)) from None
    except ValueError as error:
        raise UnsafePayload(f"the {what} contains a value that cannot be read back ({error}); shorten it") from None
    _walk(value, what, what, 0)


def _walk(value: Any, path: str, what: str, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise UnsafePayload(_too_deep(what))
    if isinstance(value, str):
        _check_text(value, path)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _walk(item, f"{path}[{index}]", what, depth + 1)
    elif isinstance(value, dict):
        for key, item in value.items():
            _check_text(key, path)
            _walk(item, f"{path}.{key}", what, depth + 1)


def _check_text(text: str, path: str) -> None:
    if "\x00" in text:
        raise UnsafePayload(f"{path} contains a NUL character, which databases cannot keep; remove it")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise UnsafePayload(f"{path} contains half of a surrogate pair, which is not valid text; remove it")


def _too_deep(what: str) -> str:
    return f"the {what} is nested more than {MAX_DEPTH} levels deep; flatten it"


def _refuse_constant(constant: str) -> NoReturn:
    raise UnsafePayload(f"the payload contains {constant}, which JSON cannot express; use null or a string")
