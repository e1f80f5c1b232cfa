"""The registered types as a server that submits all the time knows them: remembered, with their schemas compiled."""

import time
from collections.abc import Callable, Mapping

from fairlead.core.jobs.job_records import JobRecord, JobType
from fairlead.core.jobs.pools import Pools
from fairlead.handlers.registered import Registered, compiled, placed, pools_of, unknown_type
from fairlead.insight.job_types import JobTerms, terms_of
from fairlead.records.store import Store
from fairlead.runtime.cache import Cached

FRESH = 1.0
FRESH_ENOUGH_TO_REFUSE = 0.2


class TypeCache:
    """Types by name; a change in the store is seen within a second, a new type at once."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._known: dict[str, Registered] = {}
        self._types = Cached(self._read, clock)
        self._served = Cached(self._read_served, clock)

    async def find(self, name: str) -> Registered:
        """The type; UnknownType if there is none."""
        types, pools = await self._types.get(FRESH)
        if name not in types:
            types, pools = await self._types.get(FRESH_ENOUGH_TO_REFUSE)
        if name not in types:
            raise unknown_type(name, types)
        registered, pool = self._known.get(name), placed(types[name], pools)
        if registered is None or registered.type is not types[name] or registered.pool != pool:
            registered = self._known[name] = compiled(types[name], pool)
        return registered

    async def terms(self, job: JobRecord) -> JobTerms:
        """On which terms a job runs."""
        types, pools = await self._types.get(FRESH)
        return terms_of(job, types.get(job.type), pools)

    async def all(self) -> list[JobType]:
        """All types, by name."""
        types, _ = await self._types.get(FRESH)
        return [types[name] for name in sorted(types)]

    async def knows_pool(self, name: str) -> bool:
        """Whether a pool is built in, set up, declared by a type, or served by a worker."""
        types, pools = await self._types.get(FRESH)
        declared = {pool.name for pool in pools.all()} | {job_type.pool for job_type in types.values()}
        return name in declared or name in await self._served.get(FRESH)

    async def _read_served(self) -> frozenset[str]:
        return frozenset(pool for worker in await self._store.workers.all() for pool in worker.info.pools)

    async def _read(self) -> tuple[Mapping[str, JobType], Pools]:
        """What is registered; a type that has not changed stays the object it was, with its schema compiled."""
        types = {job_type.name: job_type for job_type in await self._store.types.all()}
        self._known = {name: known for name, known in self._known.items() if name in types}
        for name, known in self._known.items():
            if known.type == types[name]:
                types[name] = known.type
        return types, await pools_of(self._store)
