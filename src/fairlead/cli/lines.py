"""Many jobs from a file: one JSON object a line, all checked before any is stored."""

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from fairlead.app import App
from fairlead.cli.loading import opened
from fairlead.cli.options import parse_payload
from fairlead.cli.output import show, show_document
from fairlead.client.client import Client
from fairlead.client.job import Job, jobs_in_hand
from fairlead.config import Settings
from fairlead.core.jobs.retry import Retry
from fairlead.errors import FairleadError, PayloadError
from fairlead.handlers.options import Options
from fairlead.handlers.registered import prepare
from fairlead.handlers.spec import HandlerSpec


async def enqueue_lines(
    settings: Settings,
    app: App | None,
    type_name: str,
    path: str,
    options: Options,
    attempts: int | None,
    as_json: bool,
) -> None:
    """Submit a job for each line, on the same terms."""
    payloads = _read(path)
    async with opened(settings) as client:
        if app is None:
            jobs = await _submit_registered(client, type_name, payloads, options, settings, attempts)
        else:
            jobs = await _submit_declared(client, app, type_name, payloads, options, attempts)
    _print(jobs, as_json)


def _read(path: str) -> list[tuple[int, dict[str, Any]]]:
    """The payloads with the numbers of their lines; empty lines are left out."""
    try:
        lines = (sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()).split(b"\n")
    except OSError as error:
        raise PayloadError(f"{path!r} cannot be read: {error}") from None
    return _each(((number, line) for number, line in enumerate(lines, 1) if line.strip()), parse_payload)


def _each(items: Iterable[tuple[int, Any]], make: Callable[[Any], Any]) -> list[tuple[int, Any]]:
    """What each line becomes; an error names its line."""
    made = []
    for number, item in items:
        try:
            made.append((number, make(item)))
        except FairleadError as error:
            raise type(error)(f"line {number}: {error}; nothing was submitted") from None
    return made


async def _submit_registered(
    client: Client,
    type_name: str,
    payloads: Sequence[tuple[int, dict[str, Any]]],
    options: Options,
    settings: Settings,
    attempts: int | None,
) -> list[Job]:
    registered = await client.types.get(type_name)
    await client.require_callback(options)
    jobs = [job for _, job in _each(payloads, lambda item: prepare(registered, item, options, settings, attempts))]
    answers = await client.submit(jobs) if jobs else []
    return jobs_in_hand(client.itself, jobs, answers)


async def _submit_declared(
    client: Client,
    app: App,
    type_name: str,
    payloads: Sequence[tuple[int, dict[str, Any]]],
    options: Options,
    attempts: int | None,
) -> list[Job]:
    spec = app.registry[type_name]
    calls = [call for _, call in _each(payloads, lambda item: spec.arguments.load(json.dumps(item)))]
    return await client.enqueue(spec, calls, with_attempts(options, spec, attempts)) if calls else []


def _print(jobs: Sequence[Job], as_json: bool) -> None:
    shed = sum(job.shed for job in jobs)
    if as_json:
        show_document({"jobs": [job.id for job in jobs if not job.shed], "shed": shed})
        return
    for job in jobs:
        show(job.id, "shed" if job.shed else "", wrap=False)


def with_attempts(options: Options, spec: HandlerSpec, attempts: int | None) -> Options:
    """The options with the retry policy of the type, but for its attempts."""
    return options if attempts is None else options.but(retry=Retry(**{**spec.retry.stored(), "attempts": attempts}))
