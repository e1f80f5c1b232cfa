"""`fairlead jobs run-now` and `fairlead jobs priority`: all jobs that fit a filter and still wait."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Annotated

import typer

from fairlead.cli.cancel import Everything, States
from fairlead.cli.enqueue import PriorityOption, parse_priority
from fairlead.cli.filters import (
    Actor,
    Most,
    Pool,
    Reason,
    Tenant,
    Type,
    Yes,
    operator,
    require_choice,
    require_reason,
    require_yes,
)
from fairlead.cli.loading import Database, Json, opened, settings_for
from fairlead.cli.output import show, show_json
from fairlead.config import Settings
from fairlead.core.jobs.job_records import JobFilter
from fairlead.core.jobs.model import Priority
from fairlead.core.jobs.states import State
from fairlead.operate import change_jobs
from fairlead.operate.audit import Operator
from fairlead.operate.cancel_jobs import count
from fairlead.records.store import Store

MOST = 1_000_000

NewPriority = Annotated[
    Priority, typer.Argument(parser=parse_priority, metavar="critical|high|default|low", help="Their new priority.")
]
Act = Callable[[Store, JobFilter, Operator, int], Awaitable[int]]


def run_now(
    states: States = None, type_name: Type = None, tenant: Tenant = None, pool: Pool = None,
    priority: PriorityOption = None, everything: Everything = False, limit: Most = None, reason: Reason = None,
    actor: Actor = None, yes: Yes = False, database: Database = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Let all jobs that fit and wait for their time or for a retry run now."""
    wanted = JobFilter(tuple(states or change_jobs.DELAYED), type_name, tenant, pool, priority)
    require_choice([], replace(wanted, states=tuple(states or ())), everything)
    require_reason(reason)
    settings = settings_for(database)
    if _agreed(settings, wanted, "run {} now ({})?", limit, yes, as_json):
        done = asyncio.run(_do(settings, change_jobs.hasten_many, wanted, operator(actor, reason), limit))
        _print(done, "made ready", as_json)


def set_priority(
    new: NewPriority, states: States = None, type_name: Type = None, tenant: Tenant = None, pool: Pool = None,
    priority: PriorityOption = None, everything: Everything = False, limit: Most = None, reason: Reason = None,
    actor: Actor = None, yes: Yes = False, database: Database = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Give all jobs that fit and still wait another priority."""
    wanted = JobFilter(tuple(states or change_jobs.WAITING), type_name, tenant, pool, priority)
    require_choice([], replace(wanted, states=tuple(states or ())), everything)
    require_reason(reason)
    settings, act = settings_for(database), partial(change_jobs.set_priorities, priority=new)
    if _agreed(settings, wanted, f"give {{}} the priority {new.word} ({{}})?", limit, yes, as_json):
        done = asyncio.run(_do(settings, act, wanted, operator(actor, reason), limit))
        _print(done, f"given the priority {new.word}", as_json)


def _agreed(
    settings: Settings, wanted: JobFilter, question: str, limit: int | None, yes: bool, as_json: bool
) -> bool:  # fmt: skip
    """Whether there is anything to do, after a person has seen how much and agreed."""
    found = asyncio.run(_count(settings, wanted))
    total = sum(found.values()) if limit is None else min(limit, sum(found.values()))
    parts = ", ".join(f"{number} {state}" for state, number in sorted(found.items()))
    if total:
        require_yes(question.format(f"{total} jobs", parts), yes, as_json)
        return True
    _print(0, "fit", as_json)
    return False


def _print(changed: int, words: str, as_json: bool) -> None:
    if as_json:
        show_json({"changed": changed})
    else:
        show(f"{changed} jobs {words}")


async def _count(settings: Settings, wanted: JobFilter) -> dict[State, int]:
    async with opened(settings) as client:
        return await count(client.store, wanted)


async def _do(settings: Settings, act: Act, wanted: JobFilter, who: Operator, limit: int | None) -> int:
    async with opened(settings) as client:
        return await act(client.store, wanted, who, limit or MOST)
