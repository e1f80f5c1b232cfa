"""What `fairlead jobs` prints for a person."""

import json
from collections.abc import Mapping, Sequence

from rich.text import Text

from fairlead.cli.output import block, cell, is_narrow, listing, moment, more, short, show, state_cell
from fairlead.core.durations import humanize
from fairlead.core.insight.timeline import Moment
from fairlead.core.jobs.checkpoints import CheckpointRecord
from fairlead.core.jobs.job_records import JobRecord, Page
from fairlead.core.jobs.progress import Progress
from fairlead.core.jobs.states import State
from fairlead.insight.job_types import JobTerms
from fairlead.operate.dead_letters import DeadLetter

BAR = 24


def print_page(page: Page, now: float) -> None:
    """Print a page of jobs; on a narrow terminal without tenant and duration."""
    columns = {
        "id": lambda job: job.id,
        "type": lambda job: job.type,
        "tenant": lambda job: job.tenant,
        "state": lambda job: state_cell(job.state),
        "try": lambda job: job.attempt,
        "age": lambda job: humanize(max(0.0, now - job.created_at.timestamp())),
        "took": lambda job: _took(job, now),
        "error": lambda job: short(job.error),
    }
    if any(job.state is State.DEAD for job in page.jobs):
        columns["fingerprint"] = lambda job: job.error and job.error.fingerprint
    shown = {name: column for name, column in columns.items() if not (is_narrow() and name in ("tenant", "took"))}
    none = "no jobs among the newest" if page.cursor else "no jobs"
    listing(page.jobs, shown, none, cut=("type", "tenant", "error"))
    more(page.cursor)


def print_job(found: DeadLetter, terms: JobTerms, lease: float | None) -> None:
    """Print everything about a job."""
    job, attempts = found.record, found.attempts
    for name, value in _fields(job, _terms(job, terms, lease)):
        shown = value if isinstance(value, Text) else block(value)
        show(Text(f"{name:<12}", "bold"), shown, wrap=False)
    _print_timeline(found.timeline())
    _print_checkpoints(found.checkpoints)
    _print_section("payload", _pretty(job.payload))
    if job.result is not None:
        _print_section("result", _pretty(job.result))
    failures = [attempt.error for attempt in attempts if attempt.error and attempt.error.traceback]
    if failures:
        _print_section("traceback of the last failure", failures[-1].traceback or "")


def _terms(job: JobRecord, terms: JobTerms, lease: float | None) -> dict[str, object]:
    """How often a job is tried, when a run is stopped, and how long its worker still owns it."""
    return {
        "attempt": f"{job.attempt} of {terms.attempts}" if terms.attempts else job.attempt,
        "timeout": None if terms.timeout is None else humanize(terms.timeout),
        "lease": None if lease is None else f"{humanize(lease)} left",
    }


def _fields(job: JobRecord, terms: Mapping[str, object]) -> list[tuple[str, object]]:
    """What there is to say about a job, without what it does not have."""
    fields: list[tuple[str, object]] = [
        ("id", job.id),
        ("type", f"{job.type} (version {job.version})"),
        ("state", state_cell(job.state)),
        ("tenant", job.tenant),
        ("pool", job.pool),
        ("priority", job.priority.word),
        ("attempt", terms.get("attempt", job.attempt)),
        ("crashes", job.crashes or None),
        ("fence", job.fence),
        ("replays", job.replays or None),
        ("worker", job.worker),
        ("lease", terms.get("lease")),
        ("timeout", terms.get("timeout")),
        ("created", moment(job.created_at)),
        ("run at", moment(job.run_at)),
        ("not after", moment(job.not_after)),
        ("progress", cell(_progress(job.progress)) if job.progress else None),
        ("key", cell(job.key) if job.key is not None else None),
        ("parent", job.parent),
        ("options", job.options),
        ("error", cell(short(job.error)) if job.error else None),
        ("failure", job.error.failure.value if job.error and job.error.failure else None),
        ("fingerprint", job.error.fingerprint if job.error else None),
    ]
    return [(name, value) for name, value in fields if value is not None]


def _progress(found: Progress) -> str:
    """How far the last run has come, as a bar with what its handler said."""
    full = round(found.fraction * BAR)
    counts = "" if found.total is None else f" ({found.done:g} of {found.total:g})"
    return f"{'█' * full}{'░' * (BAR - full)} {found.fraction:.0%}{counts} {found.message}".rstrip()


def _print_timeline(moments: Sequence[Moment]) -> None:
    show(Text("\ntimeline", "bold"))
    listing(
        moments,
        {
            "when": lambda step: step.at,
            "what": _what,
            "state": lambda step: None if step.state is None else state_cell(step.state),
            "worker": lambda step: step.worker and step.worker[:8],
            "took": lambda step: None if step.took is None else humanize(max(0.0, step.took)),
            "note": _note,
        },
        none="nothing",
        cut=("note",),
    )


def _print_checkpoints(found: Sequence[CheckpointRecord]) -> None:
    """Print the last checkpoints of a job that has some."""
    if found:
        show(Text("\ncheckpoints", "bold"))
        listing(
            found,
            {
                "number": lambda item: item.number,
                "name": lambda item: item.name,
                "when": lambda item: item.at,
                "bytes": lambda item: item.size,
                "resumptions": lambda item: item.resumptions,
            },
            none="none",
            cut=("name",),
        )


def _what(step: Moment) -> str:
    failure = step.error and step.error.failure
    number = "" if step.attempt is None else f"attempt {step.attempt} "
    return f"{number}{step.what}" + (f" ({failure.value})" if failure else "")


def _note(step: Moment) -> str:
    """What there is to say about a moment beside its facts."""
    by = step.by and f"by {step.by}"
    return "; ".join(str(part) for part in (by, step.note, short(step.error)) if part)


def _print_section(title: str, text: str) -> None:
    show(Text(f"\n{title}", "bold"))
    show(block(text), wrap=False)


def _pretty(text: str) -> str:
    """Stored JSON, indented; text that is not JSON stays as it is."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, str) and value == text else json.dumps(value, indent=2, ensure_ascii=False)


def _took(job: JobRecord, now: float) -> str | None:
    """How long the last run took, or has taken until now; None between two runs."""
    if job.started_at is None or not (job.finished_at or job.state is State.RUNNING):
        return None
    end = job.finished_at.timestamp() if job.finished_at else now
    return humanize(max(0.0, end - job.started_at.timestamp()))
