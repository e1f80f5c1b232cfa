"""The chain of the audit: whatever is done to stored rows shows."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.insight.audit import (
    AuditEntry,
    AuditHead,
    AuditNote,
    Flaw,
    check,
    check_beginning,
    hash_of,
    next_entry,
)

START = AuditHead(0, "")


def chain(length: int) -> list[AuditEntry]:
    """Oldest first."""
    entries: list[AuditEntry] = []
    for number in range(length):
        head = AuditHead(entries[-1].id, entries[-1].hash) if entries else START
        entries.append(next_entry(AuditNote(f"actor {number}", "replay", "x", {"n": number}), head, 1e9 + number / 7))
    return entries


def flaws(entries: list[AuditEntry], head: AuditHead) -> list[Flaw]:
    found, rest = check(reversed(entries), head)
    return found + check_beginning(rest)


def head_of(entries: list[AuditEntry]) -> AuditHead:
    return AuditHead(entries[-1].id, entries[-1].hash) if entries else START


@given(st.integers(0, 20))
def test_a_chain_that_nobody_touched_is_sound(length: int) -> None:
    assert flaws(chain(length), head_of(chain(length))) == []


@given(st.integers(1, 12), st.data())
def test_a_chain_read_in_pages_is_as_sound_as_in_one(length: int, data: st.DataObject) -> None:
    entries = chain(length)[::-1]
    cut = data.draw(st.integers(0, length))
    first, head = check(entries[:cut], head_of(entries[::-1]))
    second, rest = check(entries[cut:], head)
    assert first + second + check_beginning(rest) == []


@given(st.integers(1, 12), st.data())
def test_every_edit_shows(length: int, data: st.DataObject) -> None:
    entries = chain(length)
    head, at = head_of(entries), data.draw(st.integers(0, length - 1))
    field = data.draw(st.sampled_from(["at", "actor", "action", "target", "details", "previous_hash", "hash"]))
    change: dict[str, Any] = {field: 5.5 if field == "at" else "other"}
    entries[at] = replace(entries[at], **change)
    found = flaws(entries, head)
    assert at + 1 in {flaw.entry for flaw in found}


@given(st.integers(1, 12), st.data())
def test_an_edit_with_a_new_hash_shows_too(length: int, data: st.DataObject) -> None:
    entries = chain(length)
    head, at = head_of(entries), data.draw(st.integers(0, length - 1))
    edited = replace(entries[at], actor="someone else")
    entries[at] = replace(edited, hash=hash_of(edited))
    assert {flaw.entry for flaw in flaws(entries, head)} == {at + 1}


@given(st.integers(1, 12), st.data())
def test_every_removal_shows(length: int, data: st.DataObject) -> None:
    entries = chain(length)
    head, at = head_of(entries), data.draw(st.integers(0, length - 1))
    del entries[at]
    assert [flaw.entry for flaw in flaws(entries, head)] == [at + 1]


def test_an_emptied_table_shows() -> None:
    assert [flaw.message for flaw in flaws([], AuditHead(3, "abc"))] == ["entries 1 to 3 were removed"]


@pytest.mark.parametrize("length", [0, 1, 5])
def test_an_entry_written_past_the_head_shows(length: int) -> None:
    entries = chain(length)
    head = head_of(entries)
    forged = next_entry(AuditNote("mallory", "nothing", "x"), head, 2e9)
    assert [flaw.entry for flaw in flaws([*entries, forged], head)] == [length + 1]


def test_details_are_hashed_in_one_form() -> None:
    one = next_entry(AuditNote("a", "b", "c", {"x": 1, "y": "ä"}), START, 1.0)
    other = next_entry(AuditNote("a", "b", "c", {"y": "ä", "x": 1}), START, 1.0)
    assert one == other
