"""The audit on real stores: whoever tampers with its rows is found out."""

import asyncio

import apsw
import psycopg
import pytest

from fairlead.core.insight.audit import AuditNote
from fairlead.operate.audit import PAGE, verify_chain
from fairlead.records.store import Store
from fairlead.runtime.operator import whoami
from fairlead.wiring import make_store

FORGERY = """
insert into audit (id, at, actor, action, target, details, previous_hash, hash)
select 8, at, actor, action, target, details, hash, 'x' from audit where id = 7
"""


@pytest.fixture(params=["sqlite_url", pytest.param("postgres_url", marks=pytest.mark.postgres)])
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(request.param))


def tamper(url: str, statement: str) -> None:
    """What somebody with access to the database could do."""
    if url.startswith("postgres"):
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(statement.encode())
        return
    database = apsw.Connection(url.removeprefix("sqlite:///"))
    database.execute(statement)
    database.close()


async def filled(store: Store, count: int) -> None:
    for number in range(count):
        await store.audit.append(AuditNote("ann", "replay", "x", {"number": number, "reason": "ä ' \" \\ \x01"}))


@pytest.mark.parametrize(
    ("statement", "entry"),
    [
        ("update audit set actor = 'bob' where id = 3", 3),
        ("update audit set details = '{}' where id = 1", 1),
        ("delete from audit where id = 1", 1),
        ("delete from audit where id = 4", 4),
        ("delete from audit where id = 7", 7),
        (FORGERY, 8),
        ("update audit_head set hash = 'x'", 7),
    ],
)
async def test_tampering_is_found(url: str, statement: str, entry: int) -> None:
    store = make_store(url)
    await store.open()
    try:
        assert (await verify_chain(store)).sound
        await filled(store, 7)
        whole = await verify_chain(store)
        assert (whole.sound, whole.entries, whole.head.last) == (True, 7, 7)
        tamper(url, statement)
        found = await verify_chain(store)
        assert not found.sound
        assert entry in {flaw.entry for flaw in found.flaws}
    finally:
        await store.close()


async def test_a_chain_of_several_pages_is_read_to_its_beginning(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairlead.operate.audit.PAGE", 3)
    store = make_store(url)
    await store.open()
    try:
        await filled(store, 10)
        assert (await verify_chain(store)).entries == 10
        tamper(url, "delete from audit where id = 1")
        assert [flaw.message for flaw in (await verify_chain(store)).flaws] == ["entry 1 was removed"]
    finally:
        await store.close()


async def test_a_chain_that_grows_while_it_is_checked_is_sound(url: str) -> None:
    store = make_store(url)
    await store.open()
    try:
        await filled(store, 3)
        growing = asyncio.create_task(filled(store, 40))
        assert (await verify_chain(store)).sound
        await growing
        assert (await verify_chain(store)).entries == 43 < PAGE
    finally:
        await store.close()


def test_somebody_is_somebody() -> None:
    user, at, host = whoami().partition("@")
    assert user
    assert at
    assert host
