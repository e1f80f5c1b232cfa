"""API keys: making, listing and ending them."""

import secrets
from collections.abc import AsyncIterator, Iterable
from typing import NamedTuple

from fairlead.core.names import check_name
from fairlead.core.web.api_keys import (
    ApiKey,
    NewKey,
    check_key_name,
    check_key_rate,
    hash_of,
    key_id_of,
    make_text,
    parse_grants,
)
from fairlead.errors import ConfigError, KeyNotFound
from fairlead.records.store import Store
from fairlead.runtime.operator import Operator

PAGE = 500
LONGEST_LIFE = 100 * 366 * 86400.0


class CreatedKey(NamedTuple):
    """A new key and its text, which is not kept and cannot be read again."""

    key: ApiKey
    text: str


async def create_key(
    store: Store,
    operator: Operator,
    name: str,
    grants: Iterable[str],
    tenant: str | None = None,
    expires_in: float | None = None,
    rate: float | None = None,
) -> CreatedKey:
    """Make a key; with a tenant it sees and touches only what is that tenant's. `rate` bounds its requests a second."""
    text = make_text(secrets.choice)
    key_id = key_id_of(text)
    assert key_id
    if expires_in is not None and not 0 < expires_in <= LONGEST_LIFE:
        raise ConfigError("a key lives for more than no time, and for at most a hundred years")
    new = NewKey(
        id=key_id,
        name=check_key_name(name),
        grants=parse_grants(grants),
        tenant=None if tenant is None else check_name("tenant", tenant),
        hash=hash_of(text),
        expires_in=expires_in,
        rate=None if rate is None else check_key_rate(rate),
    )
    details = {"name": name, "scopes": sorted(new.grants), "tenant": tenant, "expires_in": expires_in, "rate": rate}
    await store.api_keys.add(new, operator.note("create key", f"key {key_id}", **details))
    return CreatedKey(await read_key(store, key_id), text)


async def read_key(store: Store, key_id: str) -> ApiKey:
    """One key; KeyNotFound if there is none."""
    found = await store.api_keys.read([key_id])
    if not found:
        raise KeyNotFound(f"there is no key {key_id}; list them with `fairlead keys list`")
    return found[0]


async def list_keys(store: Store, limit: int, cursor: str | None = None) -> tuple[list[ApiKey], str | None]:
    """A page of keys by id, and the cursor that continues after them."""
    found = await store.api_keys.page(limit + 1, cursor)
    return found[:limit], found[limit - 1].id if len(found) > limit else None


async def all_keys(store: Store) -> AsyncIterator[ApiKey]:
    """All keys by id."""
    cursor = None
    while True:
        page, cursor = await list_keys(store, PAGE, cursor)
        for key in page:
            yield key
        if cursor is None:
            return


async def revoke_key(store: Store, key_id: str, operator: Operator) -> ApiKey:
    """End a key at once; one that was ended before stays as it is."""
    await store.api_keys.revoke(key_id, operator.note("revoke key", f"key {key_id}"))
    return await read_key(store, key_id)
