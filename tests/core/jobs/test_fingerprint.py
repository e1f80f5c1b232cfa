"""Fingerprints: alike for one cause, different for different ones, and cheap whatever the message is."""

import string
import time
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.jobs.failure import LENGTH, LONGEST_MESSAGE, fingerprint, normalise

words = st.text(string.ascii_letters.replace("e", "").replace("E", "") + "    .!", max_size=40)
folders = st.lists(st.text(string.ascii_lowercase + string.digits + "_.-", min_size=1, max_size=8), min_size=1)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("order 17 of 20 failed", "order <number> of <number> failed"),
        ("took 1.5e-3 s, -7 or +8", "took <number> s, <number> or <number>"),
        ("user42 is gone", "user<number> is gone"),
        ("no user 7f3d1c9a-2b4e-4f6a-8c1d-0123456789ab here", "no user <uuid> here"),
        ("<object at 0x7f3d1c9a>", "<object at <number>>"),
        ("commit 3f2a9c1 is bad", "commit <number> is bad"),
        ("KeyError: 'name' in \"x y\"", "KeyError: <text> in <text>"),
        ("can't open the user's file", "can't open the user's file"),
        ("mail to ada.b+c@mail.example.org bounced", "mail to <email> bounced"),
        ("cannot read /var/lib/a-1/x.csv now", "cannot read <path> now"),
        ("cannot read C:\\Users\\ada\\x.csv", "cannot read <path>"),
        ("at 2030-01-31T08:15:00.123+02:00 or 2030-01-31", "at <time> or <time>"),
        ("since 08:15:00", "since <time>"),
        ("GET https://api.example.org/v1/orders/7?x=1 gave 503", "GET <url> gave <number>"),
        ("many\n  lines\tand   spaces", "many lines and spaces"),
        ("", ""),
    ],
)
def test_what_differs_from_run_to_run_is_replaced(message: str, expected: str) -> None:
    assert normalise(message) == expected


@given(words, st.integers(), st.integers(), words)
def test_numbers_do_not_matter(before: str, one: int, other: int, after: str) -> None:
    assert fingerprint("E", f"{before} {one} {after}") == fingerprint("E", f"{before} {other} {after}")


@given(words, st.uuids(), st.uuids(), words)
def test_ids_do_not_matter(before: str, one: uuid.UUID, other: uuid.UUID, after: str) -> None:
    assert normalise(f"{before} {one} {after}") == normalise(f"{before} {other} {after}")


@given(folders, folders)
def test_paths_do_not_matter(one: list[str], other: list[str]) -> None:
    assert normalise(f"no file /{'/'.join(one)} there") == normalise(f"no file /{'/'.join(other)} there")


@given(st.text(string.printable.replace("'", ""), max_size=50).filter(lambda text: "\n" not in text))
def test_quoted_text_does_not_matter(quoted: str) -> None:
    assert normalise(f"no key '{quoted}' found") == "no key <text> found"


@given(st.text(max_size=5000))
def test_any_message_becomes_a_short_text_without_digits(message: str) -> None:
    text = normalise(message)
    assert len(text) <= LONGEST_MESSAGE
    assert not set(text) & set(string.digits)
    assert len(fingerprint("E", message)) == LENGTH


def test_type_message_and_place_all_count() -> None:
    prints = {
        fingerprint("ValueError", "no", "a.py:f"),
        fingerprint("KeyError", "no", "a.py:f"),
        fingerprint("ValueError", "yes", "a.py:f"),
        fingerprint("ValueError", "no", "b.py:f"),
        fingerprint("ValueError", "no", "a.py:g"),
        fingerprint("ValueError", "no"),
    }
    assert len(prints) == 6


def test_lone_surrogates_have_a_fingerprint() -> None:
    assert fingerprint("E", "\ud800")


@pytest.mark.parametrize("unit", ["a", "1", "a/", "'", '"', "a@", "a.", "0x", "1-", "-", "://", "f1", "2030-01-", "\\"])
def test_no_message_takes_long(unit: str) -> None:
    began = time.perf_counter()
    normalise(unit * 20_000)
    assert time.perf_counter() - began < 0.5
