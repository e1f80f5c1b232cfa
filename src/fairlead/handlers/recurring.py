"""What a caller says about a schedule: when it fires, what its jobs are, and what becomes of those that clash."""

import json
from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Any, TypedDict, TypeVar

from fairlead.core.durations import Duration, seconds
from fairlead.core.jobs.model import Lane, Priority
from fairlead.core.jobs.retry import Retry
from fairlead.core.names import check_name
from fairlead.core.schedule.schedules import CatchUp, Overlap, ScheduleSpec
from fairlead.core.schedule.timing import timetable
from fairlead.errors import ConfigError
from fairlead.handlers.options import Options, overrides
from fairlead.handlers.spec import HandlerSpec

Choice = TypeVar("Choice", bound=StrEnum)


class Terms(TypedDict, total=False):
    """The terms of a schedule. What is not given stays as it is; in a new one the handler and the settings decide.

    `start_within` is how late a job may start before it expires; `timeout`, `retry` and `callback` are those of its
    jobs.
    """

    tz: str
    tenant: str
    priority: Priority | str
    pool: str
    timeout: Duration
    retry: Retry
    callback: str
    overlap: Overlap | str
    catch_up: CatchUp | str
    catch_up_window: Duration
    start_within: Duration


def bare_schedule(name: str, expression: str, type_name: str, version: int, pool: str, tenant: str) -> ScheduleSpec:
    """A schedule of a type on its usual terms, with no arguments."""
    lane = Lane(pool, tenant, type_name, Priority.DEFAULT, version)
    return ScheduleSpec(check_name("schedule", name), expression, "UTC", lane, "{}")


def handler_schedule(
    name: str | None,
    expression: str,
    handler: HandlerSpec,
    payload: Mapping[str, Any] | None,
    terms: Terms,
    tenant: str,
    limit: int,
) -> ScheduleSpec:
    """A schedule of a handler, by default of the same name; the arguments are checked by its type hints."""
    bare = bare_schedule(name or handler.name, expression, handler.name, handler.version, handler.pool, tenant)
    text = handler.arguments.dump(payload or {}, limit)
    return on_terms(bare.of_version(handler.version, handler.marks.of(text)), terms, payload=text)


def on_terms(
    spec: ScheduleSpec, terms: Terms, expression: str | None = None, payload: str | None = None
) -> ScheduleSpec:
    """The schedule on these terms, checked; the payload was checked where its type is known."""
    unknown = sorted(terms.keys() - Terms.__annotations__.keys())
    if unknown:
        raise ConfigError(f"a schedule has no {unknown[0]!r}; it takes {', '.join(Terms.__annotations__)}")
    when, zone = expression or spec.expression, terms.get("tz") or spec.zone
    timetable(when, zone)
    return replace(
        spec,
        expression=when,
        zone=zone,
        lane=_lane(spec.lane, terms),
        payload=spec.payload if payload is None else payload,
        options=_options(spec.options, terms),
        overlap=_choice(Overlap, terms.get("overlap"), spec.overlap),
        catch_up=_choice(CatchUp, terms.get("catch_up"), spec.catch_up),
        window=seconds(terms.get("catch_up_window", spec.window)),
        start_within=seconds(terms["start_within"]) if "start_within" in terms else spec.start_within,
    )


def _lane(lane: Lane, terms: Terms) -> Lane:
    return lane._replace(
        tenant=check_name("tenant", terms.get("tenant", lane.tenant)),
        pool=check_name("pool", terms.get("pool", lane.pool)),
        priority=Priority.parse(terms.get("priority", lane.priority)),
    )


def _options(present: str | None, terms: Terms) -> str | None:
    added = overrides(Options(timeout=terms.get("timeout"), retry=terms.get("retry"), callback=terms.get("callback")))
    if added is None:
        return present
    return json.dumps({**json.loads(present or "{}"), **json.loads(added)}, sort_keys=True)


def _choice(kind: type[Choice], given: str | None, present: Choice) -> Choice:
    try:
        return present if given is None else kind(given)
    except ValueError:
        names = ", ".join(member.value for member in kind)
        raise ConfigError(f"{given!r} is not a policy; it must be one of {names}") from None
