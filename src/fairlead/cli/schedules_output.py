"""What `fairlead schedules` prints."""

from collections.abc import Sequence
from typing import Any
from zoneinfo import ZoneInfo

from rich.text import Text

from fairlead.cli.output import (
    block,
    cell,
    json_moment,
    json_value,
    moment,
    plain,
    show,
    show_json,
    state_cell,
    table,
)
from fairlead.core.durations import humanize
from fairlead.core.schedule.schedules import FireOutcome, PastFire, ScheduleRecord, ScheduleState

COLOURS = {ScheduleState.ACTIVE: "green", ScheduleState.PAUSED: "yellow", ScheduleState.RETIRED: "dim"}
OUTCOMES = {FireOutcome.FIRED: "green", FireOutcome.SKIPPED: "yellow", FireOutcome.MISSED: "bold red"}


def schedule_document(record: ScheduleRecord) -> dict[str, Any]:
    """A schedule in JSON."""
    return {
        "name": record.name,
        "state": record.state.value,
        "expression": record.expression,
        "tz": record.tz,
        "type": record.type,
        "tenant": record.tenant,
        "pool": record.pool,
        "priority": record.priority.word,
        "payload": json_value(record.payload),
        "options": json_value(record.options),
        "overlap": record.overlap.value,
        "catch_up": record.catch_up.value,
        "catch_up_window": record.catch_up_window,
        "start_within": record.start_within,
        "app": record.app,
        "next_fires": [json_moment(at) for at in record.next_fires],
        "fires": [_fire_document(fire) for fire in record.fires],
    }


def listing(records: Sequence[ScheduleRecord], as_json: bool) -> None:
    """Print schedules."""
    if as_json:
        show_json({"schedules": [schedule_document(record) for record in records]})
        return
    if not records:
        show("no schedules")
        return
    found = table(
        name=True, when=True, tz=True, type=True, tenant=False, state=True, next_fire=True, last_fire=True, result=True,
        app=False,
    )  # fmt: skip
    for record in records:
        last = record.fires[0] if record.fires else None
        found.add_row(
            cell(record.name), cell(record.expression), cell(record.tz), cell(record.type), cell(record.tenant),
            cell(record.state.value, COLOURS[record.state]), cell(moment(next(iter(record.next_fires), None))),
            cell(moment(last.at) if last else None), _result(last), cell(record.app),
        )  # fmt: skip
    show(found)


def schedule(record: ScheduleRecord, as_json: bool) -> None:
    """Print one schedule."""
    if as_json:
        show_json({"schedule": schedule_document(record)})
        return
    facts = table(name=True, value=False)
    facts.show_header = False
    for name, value in _facts(record):
        facts.add_row(cell(name, "dim"), block(value))
    show(facts)
    if record.next_fires:
        show("\nnext fires")
        for at in record.next_fires:
            show(f"  {moment(at)}  {plain(at.astimezone(ZoneInfo(record.tz)).strftime('%a %Y-%m-%d %H:%M:%S %Z'))}")
    if record.fires:
        show("\nlast fires")
        _print_fires(record.fires)


def done(record: ScheduleRecord, verb: str, as_json: bool) -> None:
    """Say what was done to a schedule, and when it fires next."""
    if as_json:
        show_json({"schedule": schedule_document(record)})
        return
    following = f"next fire {moment(record.next_fires[0])}" if record.next_fires else f"it is {record.state.value}"
    show(f"{verb} {plain(record.name)}; {following}", wrap=False)


def ran(name: str, job_id: str, as_json: bool) -> None:
    """Say which job was made."""
    if as_json:
        show_json({"schedule": name, "job": job_id})
    else:
        show(f"made job {job_id} of {plain(name)}", wrap=False)


def removed(name: str, as_json: bool) -> None:
    """Say that a schedule is gone."""
    if as_json:
        show_json({"schedule": name, "removed": True})
    else:
        show(f"removed {plain(name)}", wrap=False)


def _facts(record: ScheduleRecord) -> list[tuple[str, object]]:
    window = f" (within {humanize(record.catch_up_window)})" if record.catch_up.value != "none" else ""
    facts: list[tuple[str, object]] = [
        ("name", record.name),
        ("state", record.state.value),
        ("when", f"{record.expression} ({record.tz})"),
        ("type", record.type),
        ("tenant", record.tenant),
        ("pool", record.pool),
        ("priority", record.priority.word),
        ("payload", record.payload),
        ("overlap", record.overlap.value),
        ("catch up", f"{record.catch_up.value}{window}"),
        ("declared by", record.app or "nobody's code"),
    ]
    if record.start_within is not None:
        facts.append(("start within", humanize(record.start_within)))
    if record.options is not None:
        facts.append(("options", record.options))
    return facts


def _print_fires(fires: Sequence[PastFire]) -> None:
    found = table(at=True, outcome=True, result=True, job=True)
    for fire in fires:
        outcome = f"{fire.outcome.value}{' by hand' if fire.manual else ''}"
        times = f" ({fire.times} up to then)" if fire.times > 1 else ""
        found.add_row(
            cell(moment(fire.at)), cell(outcome + times, OUTCOMES[fire.outcome]), _result(fire), cell(fire.job_id)
        )  # fmt: skip
    show(found)


def _result(fire: PastFire | None) -> Text:
    """The state of the job that a fire made, or why it made none."""
    if fire is None:
        return cell(None)
    if fire.outcome is not FireOutcome.FIRED:
        return cell(fire.outcome.value, OUTCOMES[fire.outcome])
    return state_cell(fire.job_state) if fire.job_state else cell("removed", "dim")


def _fire_document(fire: PastFire) -> dict[str, Any]:
    return {
        "at": json_moment(fire.at),
        "outcome": fire.outcome.value,
        "times": fire.times,
        "manual": fire.manual,
        "job": fire.job_id,
        "job_state": fire.job_state and fire.job_state.value,
    }
