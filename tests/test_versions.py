"""Payload versions with workers of two releases, on every store."""

import fairlead


async def test_an_older_worker_leaves_newer_payloads_and_a_newer_one_upgrades_older(store_url: str) -> None:
    old, new = fairlead.App(store_url, poll="100ms"), fairlead.App(store_url, poll="100ms")

    @old.handler("greet")
    async def greet_old(name: str) -> str:
        return f"old {name}"

    def upgrade(payload: dict[str, object], version: int) -> dict[str, object]:
        return {"first": payload["name"], "last": f"v{version}"}

    @new.handler("greet", version=2, upgrade=upgrade)
    async def greet_new(first: str, last: str) -> str:
        return f"new {first} {last}"

    async with old:
        new._memory_store = old._memory_store
        newer = await greet_new.enqueue("Ada", "L")
        async with old.worker():
            assert await (await greet_old.enqueue("Bob")).wait(10) == "old Bob"
            assert await newer.state() is fairlead.State.READY
        older = await greet_old.enqueue("Cy")
        async with new.worker():
            assert await newer.wait(10) == "new Ada L"
            assert await older.wait(10) == "new Cy v1"
        new._memory_store = None
        await new.close()
