"""Whatever happens to jobs, claims say exactly which run, and none is left over."""

import asyncio
import random
import uuid
from pathlib import Path

import apsw
import pytest

from fairlead.core.jobs.model import Claim, Ending, Lease, Outcome, Quota, Settlement
from fairlead.core.jobs.settle import settle
from fairlead.core.jobs.states import State
from fairlead.core.jobs.workers import WorkerInfo
from fairlead.records.store import Store
from fairlead.stores.sqlite.migrate import migrate
from fairlead.wiring import make_store
from tests.contract.making import POLICY
from tests.stores.sqlite.support import LANE, new_jobs

LANES = [LANE, LANE._replace(tenant="other"), LANE._replace(tenant="third")]
ENDS = [
    (State.SUCCEEDED, Ending.SUCCEEDED),
    (State.SUCCEEDED, Ending.SUCCEEDED),
    (State.DEAD, Ending.FAILED),
    (State.RETRYING, Ending.FAILED),
    (State.READY, Ending.RELEASED),
]
WRONG = [
    "select id from entry where state = 'running' except select id from running",
    "select id from running group by id having count(*) > 1",
    "select id from entry where (state = 'running') <> (claim is not null)",
    "select id from entry where aside is not iif(state in ('ready', 'running', 'succeeded'), null, state)",
    "select id from claim where id not in (select claim from entry where claim is not null)",
    "select id from claim where jobs <> (select count(*) from entry where entry.claim = claim.id)",
]


class Party:
    """Two processes' stores on one file, and what their workers have in hand."""

    def __init__(self, stores: list[Store], seed: int) -> None:
        self.stores, self.random, self.now = stores, random.Random(seed), 1_000.0
        self.hands: list[Claim] = []

    async def step(self) -> None:
        self.now += self.random.random() * 3
        store = self.random.choice(self.stores)
        await self.random.choice([self.enqueue, self.claim, self.claim, self.end, self.end, self.recover])(store)

    async def enqueue(self, store: Store) -> None:
        for _ in range(self.random.randint(1, 30)):
            await store.jobs.enqueue(new_jobs(self.random.randint(1, 5), lane=self.random.choice(LANES)))
        await store.promotion.promote(100)

    async def claim(self, store: Store) -> None:
        worker = WorkerInfo(str(uuid.uuid4()), "host", 1, ("short",), ("mail",), 1, "1")
        await store.workers.register(worker, self.random.choice([5, 50]))
        quotas = [Quota(lane.id, self.random.randint(1, 90)) for lane in self.random.sample(LANES, 2)]
        leases = [Lease(worker.id, str(uuid.uuid4())) for _ in self.stores]
        taken = await asyncio.gather(
            *(one.jobs.claim(quotas, own) for one, own in zip(self.stores, leases, strict=True))
        )
        self.hands += [claim for claims in taken for claim in claims]

    async def end(self, store: Store) -> None:
        self.random.shuffle(self.hands)
        some, self.hands = self.hands[:60], self.hands[60:]
        ends = [(claim, *self.random.choice(ENDS), self.random.random() < 0.8) for claim in some]
        batch = [
            Settlement(claim.id, claim.hold, state, 1, 0, ending, place=claim.place if placed else None)
            for claim, state, ending, placed in ends
        ]
        await store.jobs.settle(batch)
        assert await store.jobs.settle(batch) == set()

    async def recover(self, store: Store) -> None:
        lost = await store.reader.lost(self.random.choice([3, 100]))
        again = [settle(held, Outcome(Ending.LOST), POLICY, self.random) for held in lost]
        await store.jobs.settle(again, expired_only=True)


@pytest.mark.parametrize("seed", range(4))
async def test_claims_say_what_runs(tmp_path: Path, seed: int) -> None:
    url = f"sqlite:///{tmp_path}/jobs.db"
    await migrate(url)
    party = Party([], seed)
    party.stores = [make_store(url, lambda: party.now) for _ in range(2)]
    connection = apsw.Connection(f"{tmp_path}/jobs.db")
    try:
        for store in party.stores:
            await store.open()
        for _ in range(80):
            await party.step()
            assert [question for question in WRONG if list(connection.execute(question))] == []
    finally:
        connection.close()
        for store in party.stores:
            await store.close()
