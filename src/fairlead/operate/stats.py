"""The system at a glance: jobs by pool and state, what waits longest, and the workers' slots."""

from dataclasses import dataclass

from fairlead.records.store import Store


@dataclass(frozen=True, slots=True)
class PoolStats:
    """One pool: live jobs by state, seconds that the first ready job has waited, and the slots that serve it."""

    pool: str
    jobs: dict[str, int]
    oldest_ready: float | None
    workers: int
    slots: int
    running: int


async def pool_stats(store: Store) -> list[PoolStats]:
    """Every pool that has jobs or workers, by name."""
    counts = await store.reader.count_jobs()
    now = (await store.controls.read()).now
    since: dict[str, float] = {}
    for active in await store.reader.active_lanes():
        since[active.lane.pool] = min(active.since, since.get(active.lane.pool, active.since))
    live = [worker for worker in await store.workers.all() if worker.live]
    pools = {pool for pool, _ in counts} | {pool for worker in live for pool in worker.info.pools}
    found = []
    for pool in sorted(pools):
        serving = [worker for worker in live if pool in worker.info.pools]
        found.append(
            PoolStats(
                pool=pool,
                jobs={state: count for (name, state), count in sorted(counts.items()) if name == pool},
                oldest_ready=max(0.0, now - since[pool]) if pool in since else None,
                workers=len(serving),
                slots=sum(worker.info.slots for worker in serving),
                running=sum(int(worker.report.get("running", 0)) for worker in serving),
            )
        )
    return found
