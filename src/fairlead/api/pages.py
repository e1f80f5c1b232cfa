"""Pages of jobs that are bounded in bytes as well as in rows."""

from collections.abc import Awaitable, Callable

from fairlead.api.caller import Caller
from fairlead.api.privacy import job_for
from fairlead.core.jobs.job_records import JobRecord, Page
from fairlead.documents.jobs import JobDocument, JobPage

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
