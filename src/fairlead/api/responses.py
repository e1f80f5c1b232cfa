"""Responses: documents as JSON, pages bounded in bytes, and the errors that the description of an endpoint lists."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from fastapi import Response
from pydantic_core import to_json

from fairlead.api.caller import Caller
from fairlead.api.privacy import job_for
from fairlead.core.jobs.job_records import JobRecord, Page
from fairlead.documents.base import ProblemDocument
from fairlead.documents.jobs import JobDocument, JobPage

ALWAYS = (400, 401, 403, 408, 414, 415, 422, 429, 431, 503)
WORDS = {
    400: "The request cannot be read.",
    401: "A valid key is needed.",
    403: "The key does not suffice.",
    404: "There is no such thing, or it is not the caller's.",
    408: "The body did not arrive in time.",
    409: "It is not in a state that allows this, or a request with the same Idempotency-Key is being worked on.",
    412: "It is not of the version that If-Match or If-None-Match names.",
    413: "The body or the payload is too large.",
    414: "The address is too long.",
    415: "The body is not JSON.",
    422: "The request does not fit.",
    429: "Too many requests; Retry-After says when to come again.",
    431: "The headers are too large.",
    503: "The store cannot be used now.",
}


def answer(status: int, document: Any, headers: Mapping[str, str] | None = None) -> Response:
    """An answer with a JSON document."""
    return Response(to_json(document), status, headers, "application/json")


def answers(*more: int) -> dict[int | str, dict[str, Any]]:
    """The errors that an endpoint may answer with: those that all have, and these."""
    return {status: {"model": ProblemDocument, "description": WORDS[status]} for status in sorted({*ALWAYS, *more})}


AT_ONCE = 50
MOST_BYTES = 2 * 1024 * 1024

ReadPage = Callable[[int, str | None], Awaitable[Page]]


async def job_page(caller: Caller, read: ReadPage, limit: int, cursor: str | None, fields: frozenset[str]) -> JobPage:
    """A page of at most `limit` jobs and about MOST_BYTES; large fields are left out unless `fields` names them.

    The store is read a few jobs at a time, so that no more than those are held with their payloads.
    """
    jobs: list[JobDocument] = []
    size = 0
    while len(jobs) < limit:
        page = await read(min(AT_ONCE, limit - len(jobs)), cursor)
        for record in page.jobs:
            size += _size(record, fields)
            if jobs and size > MOST_BYTES:
                return JobPage(jobs=jobs, cursor=jobs[-1].id)
            jobs.append(job_for(caller, JobDocument.of(record).small(fields)))
        cursor = page.cursor
        if cursor is None or not page.jobs:
            break
    return JobPage(jobs=jobs, cursor=cursor)


def _size(record: JobRecord, fields: frozenset[str]) -> int:
    """About how many bytes a job takes on the page."""
    error, parts = record.error, {"payload": record.payload, "result": record.result or ""}
    large = sum(len(text) for name, text in parts.items() if name in fields)
    return 1_000 + (len(error.message) if error else 0) + large
