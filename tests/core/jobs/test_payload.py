"""What may be in a payload."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.jobs.payload import MAX_DEPTH, MOST_DIGITS, _check_closely, _is_suspicious, check_payload
from fairlead.errors import PayloadTooLarge, UnsafePayload

PLENTY = 10**7

texts = st.text(st.characters(exclude_categories=[]), max_size=8) | st.sampled_from(
    ["NaN", "Infinity", "\\u0000", "\\ud800", "\x00", "\ud800", "\udfff", "😀"]
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=10,
)


def nested(depth: int, opening: str = "[", closing: str = "]") -> bytes:
    return (opening * depth + "1" + closing * depth).encode()


def is_safe(check: Any, *arguments: Any) -> bool:
    try:
        check(*arguments)
    except UnsafePayload:
        return False
    return True


def test_a_number_that_cannot_be_read_back_is_refused() -> None:
    with pytest.raises(UnsafePayload, match="cannot be read back"):
        check_payload(b'{"x":%s}' % (b"9" * (MOST_DIGITS + 1)), PLENTY)
    check_payload(b'{"x":-%s}' % (b"9" * MOST_DIGITS), PLENTY)
    check_payload(b'{"x":"%s"}' % (b"9" * (MOST_DIGITS + 1)), PLENTY)


@given(value=values, ascii_only=st.booleans())
def test_the_quick_look_misses_nothing_that_the_close_look_finds(value: Any, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "replace")
    if not is_safe(_check_closely, text.decode(), "payload"):
        assert _is_suspicious(text.decode())
    assert is_safe(check_payload, text, PLENTY) == is_safe(_check_closely, text.decode(), "payload")


@pytest.mark.parametrize("text", [rb'"\ud800"', rb'"\uD800"', rb'"\uDFff"', rb'"\u0000"', rb'{"\uDC00": 1}'])
def test_escapes_are_found_however_they_are_written(text: bytes) -> None:
    with pytest.raises(UnsafePayload):
        check_payload(text, PLENTY)


@pytest.mark.parametrize(
    "text",
    [b'{"a": [1, 2.5, "x", null, true]}', '"日本 🛟"'.encode(), rb'"\ud83d\ude00"', rb'"\\u0000"', rb'"\\ud800"',
     b'"NaN"', b'"Infinity"', b'{"NaN": "-Infinity"}', b"{}", nested(MAX_DEPTH)],
)  # fmt: skip
def test_innocent_texts_pass(text: bytes) -> None:
    assert check_payload(text, PLENTY) == text.decode()


@pytest.mark.parametrize("text", [b"NaN", b"[1, Infinity]", b'{"a": -Infinity}'])
def test_numbers_that_json_does_not_have_are_refused(text: bytes) -> None:
    with pytest.raises(UnsafePayload, match="JSON cannot express"):
        check_payload(text, PLENTY)


@pytest.mark.parametrize("text", [rb'"a\u0000b"', rb'{"a": {"b": ["\u0000"]}}', rb'{"\u0000": 1}'])
def test_nul_is_refused_in_values_and_names(text: bytes) -> None:
    with pytest.raises(UnsafePayload, match="NUL"):
        check_payload(text, PLENTY)


def test_the_place_is_named() -> None:
    with pytest.raises(UnsafePayload, match=r"payload\.a\.b\[1\] contains"):
        check_payload(rb'{"a": {"b": ["ok", "\u0000"]}}', PLENTY)


@pytest.mark.parametrize("text", [rb'"\ud800"', rb'"\udc00x"', rb'["\ud83d \ude00"]'])
def test_half_a_surrogate_pair_is_refused(text: bytes) -> None:
    with pytest.raises(UnsafePayload, match="surrogate"):
        check_payload(text, PLENTY)


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 10_000, 200_000])
@pytest.mark.parametrize("brackets", [("[", "]"), ('{"a":', "}")])
def test_what_is_too_deep_is_refused(depth: int, brackets: tuple[str, str]) -> None:
    with pytest.raises(UnsafePayload, match="levels deep"):
        check_payload(nested(depth, *brackets), PLENTY)


def test_many_brackets_side_by_side_are_not_deep() -> None:
    check_payload(json.dumps([[] for _ in range(1000)]).encode(), PLENTY)


def test_brackets_in_texts_are_not_deep() -> None:
    check_payload(json.dumps("[" * 1000).encode(), PLENTY)


def test_the_size_is_bounded_in_bytes() -> None:
    text = '"éé"'.encode()
    check_payload(text, 6)
    with pytest.raises(PayloadTooLarge, match="6 bytes and at most 5"):
        check_payload(text, 5)


def test_a_result_is_called_a_result() -> None:
    with pytest.raises(PayloadTooLarge, match="the result has"):
        check_payload(b"123", 2, "result")


def test_a_number_with_thousands_of_digits_is_refused_or_passes() -> None:
    """Python refuses to read it; that must not come out as another kind of error."""
    text = b"[" + b"[]," * MAX_DEPTH + b"1" * 5000 + b"]"
    is_safe(check_payload, text, PLENTY)
