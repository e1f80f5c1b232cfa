"""`python -m tests.torture.campaign --minutes 60`: run a campaign on each store and print one table."""

import argparse
import asyncio
import os
import platform
import secrets
import shutil
import statistics
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

from tests.torture.campaign.checker import Findings, Hit, Recovery, check, recoveries
from tests.torture.campaign.injector import OUTAGES, Injected, Injector, plan
from tests.torture.campaign.journal import History, read_history
from tests.torture.campaign.world import CLIENTS, SERVER, WORKERS, WORLDS, World

DRAIN_SECONDS = 180.0
SHOWN = 20
REFUSED = "settlement_refused"  # the event in the logs of workers
HEADER = (
    "store", "minutes", "faults", "jobs", "runs", "cut off", "late writes refused",
    "lost", "doubled", "unexplained", "overlapping", "late writes accepted", "recovery p50", "recovery max",
)  # fmt: skip


class Result(NamedTuple):
    """One campaign on one store."""

    store: str
    minutes: float
    world: World
    injector: Injector
    history: History
    findings: Findings
    recoveries: list[Recovery]
    drained: float | None

    def row(self) -> list[str]:
        """Its line of the table."""
        found, times = self.findings, [each.seconds for each in self.recoveries]
        return [
            self.store,
            f"{self.minutes:g}",
            f"{len(self.injector.injected):,}",
            f"{len(self.history.accepted):,}",
            f"{len(self.history.runs):,}",
            f"{found.causes['lost']:,}",
            f"{self.world.count_in_logs(REFUSED):,}",
            *(f"{len(kind):,}" for kind in found[:5]),
            f"{statistics.median(times):.1f} s" if times else "-",
            f"{max(times):.1f} s" if times else "-",
        ]

    def broken(self) -> list[str]:
        """Everything that breaks a promise."""
        stuck = [] if self.drained is not None else [f"jobs were left after {DRAIN_SECONDS:g} quiet seconds"]
        return [*self.findings.broken(), *stuck]


async def campaign(store: str, minutes: float, seed: str, folder: Path) -> Result:
    """Run one campaign and judge it."""
    async with WORLDS[store](folder, minutes, seed) as world:
        injector = Injector(world)
        await injector.run(plan(store, minutes * 60, seed), minutes * 60)
        world.replace_ended()
        await world.stop(CLIENTS)
        drained = await world.drained(DRAIN_SECONDS)
        await world.stop((SERVER, *WORKERS))
        history = await asyncio.to_thread(read_history, world.url, folder)
        return judge(store, minutes, world, injector, history, drained)


def judge(
    store: str, minutes: float, world: World, injector: Injector, history: History, drained: float | None
) -> Result:
    """The findings and figures of a campaign that is over."""
    frozen = {pid for item in injector.injected if item.kind.startswith("freeze") for pid in item.pids or ()}
    times = recoveries(history, map(hit, injector.injected))
    return Result(store, minutes, world, injector, history, check(history, frozen), times, drained)


def hit(injected: Injected) -> Hit:
    """How recovery from a fault is counted."""
    since = injected.end if injected.kind in OUTAGES else injected.begin
    return Hit(injected.begin, since, injected.kind, injected.pids)


def report(results: list[Result], seed: str) -> str:
    """The table as Markdown, and what else was seen."""
    rows = [HEADER, ["---"] * 2 + ["---:"] * (len(HEADER) - 2), *(result.row() for result in results)]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    lines += ["", f"{time.strftime('%Y-%m-%d')}, seed {seed}, {machine()}."]
    return "\n".join([*lines, *(line for result in results for line in details(result))])


def details(result: Result) -> list[str]:
    """What else was seen on one store."""
    world, injector = result.world, result.injector
    states = Counter(changes[-1].state for changes in result.history.changes.values())
    return [
        f"\n{result.store}: {listed(Counter(item.kind for item in injector.injected))}.",
        *(f"  {note}." for note in world.notes),
        f"  Left out, since the target was down: {listed(injector.left_out)}.",
        f"  Runs that did not succeed, by recorded cause: {listed(result.findings.causes)}.",
        f"  States at the end: {listed(states)}.",
        f"  Recovery by fault, p50 and max: {by_fault(result.recoveries)}.",
        "  NOT DRAINED." if result.drained is None else f"  Drained in {result.drained:.1f} s.",
        f"  Started while the database was away, and again by the service manager: {world.found_no_database}.",
        f"  Ended by themselves: {', '.join(world.gave_up) or 'none'}.",
        *(f"  BROKEN: {text}" for text in result.broken()[:SHOWN]),
    ]


def listed(counts: Counter[str]) -> str:
    """Counts in words, the most frequent first."""
    return ", ".join(f"{count} {name}" for name, count in counts.most_common()) or "none"


def by_fault(times: list[Recovery]) -> str:
    """The median and the longest recovery from each kind of fault, the longest first."""
    kinds: dict[str, list[float]] = defaultdict(list)
    for kind, seconds in times:
        kinds[kind].append(seconds)
    slowest = sorted(kinds.items(), key=lambda item: -max(item[1]))
    return ", ".join(f"{kind} {statistics.median(each):.1f} s {max(each):.1f} s" for kind, each in slowest) or "none"


def machine() -> str:
    """What it ran on."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} cores, {memory:.0f} GB, Linux {platform.release()}, Python {platform.python_version()}"


def main() -> int:
    """Run the campaigns one after the other; returns 1 if a promise was broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.torture.campaign", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long, over all stores")
    parser.add_argument("--seed", default=secrets.token_hex(4), help="the same seed draws the same faults")
    parser.add_argument("--store", choices=list(WORLDS), action="append", help="only this one")
    options = parser.parse_args()
    stores = options.store or list(WORLDS)
    folder = Path(tempfile.mkdtemp(prefix="fairlead-campaign-"))
    print(
        f"A campaign of {options.minutes:g} minutes with seed {options.seed}; logs and journals: {folder}", flush=True
    )
    results = []
    for store in stores:
        (folder / store).mkdir()
        run = campaign(store, options.minutes / len(stores), options.seed, folder / store)
        results.append(asyncio.run(run))
    print(report(results, options.seed))
    if any(result.broken() or result.world.gave_up for result in results):
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
