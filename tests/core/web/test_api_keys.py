"""The text of keys, and what they allow."""

import random
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.web.api_keys import (
    ALPHABET,
    ApiKey,
    Grant,
    check_key_name,
    fits,
    hash_of,
    key_id_of,
    make_text,
    parse_grants,
)
from fairlead.errors import ConfigError

NOW = datetime(2030, 1, 1, tzinfo=UTC)
TEXT = make_text(random.Random(7).choice)


def key(*grants: Grant, text: str = TEXT, revoked: datetime | None = None, left: float | None = None) -> ApiKey:
    return ApiKey("id", "name", frozenset(grants), None, hash_of(text), NOW, None, revoked, None, left)


def test_a_key_has_a_prefix_an_id_a_secret_and_a_checksum() -> None:
    prefix, key_id, rest = TEXT.split("_")
    assert (prefix, len(key_id), len(rest)) == ("flk", 10, 38)
    assert key_id_of(TEXT) == key_id


@given(st.integers(4, len(TEXT) - 1), st.sampled_from(ALPHABET))
def test_one_wrong_letter_is_a_typing_error(place: int, letter: str) -> None:
    changed = TEXT[:place] + letter + TEXT[place + 1 :]
    assert (key_id_of(changed) is None) == (changed != TEXT)


@given(st.text())
def test_any_other_text_is_no_key(text: str) -> None:
    assert key_id_of(text) is None


def test_a_key_fits_only_its_own_text() -> None:
    assert fits(TEXT, key())
    assert not fits(make_text(random.Random(8).choice), key())
    assert TEXT not in repr(key())


@pytest.mark.parametrize(
    ("grant", "allowed"),
    [
        (Grant.ENQUEUE, {Grant.ENQUEUE}),
        (Grant.READ, {Grant.READ}),
        (Grant.OPERATE, {Grant.OPERATE, Grant.READ}),
        (Grant.ADMIN, set(Grant)),
    ],
)
def test_what_a_grant_includes(grant: Grant, allowed: set[Grant]) -> None:
    assert {wanted for wanted in Grant if key(grant).allows(wanted)} == allowed


def test_a_key_lives_until_it_is_revoked_or_its_time_is_over() -> None:
    assert key().live
    assert key(left=0.1).live
    assert not key(left=0.0).live
    assert not key(revoked=NOW).live


def test_grants_by_name() -> None:
    assert parse_grants(["read", "enqueue"]) == {Grant.READ, Grant.ENQUEUE}
    for words in ([], ["root"]):
        with pytest.raises(ConfigError, match="enqueue, read, operate, admin"):
            parse_grants(words)


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "\x1b[2J", "x" * 201])
def test_a_name_can_be_printed(name: str) -> None:
    with pytest.raises(ConfigError):
        check_key_name(name)
