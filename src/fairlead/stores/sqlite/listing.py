"""Listing live jobs, which lie among the finished ones.

No index has live jobs in the order of their ids: it would have to change with every end. Few of them are found by the
indexes of their states and put in order, so that they are found at once below any number of finished ones. Where there
are many, the newest jobs are looked at one after the other, as for any other listing; the pages after the first begin
where the last one ended, below the finished jobs that are newer, so there it pays sooner.
"""

from fairlead.core.jobs.model import Held, JobFilter, Page
from fairlead.core.jobs.states import LIVE
from fairlead.stores import rows
from fairlead.stores.records import RecordVerbs

FEW = 50_000
FEW_AFTER = 10_000  # where there was a page before


class ListingVerbs(RecordVerbs):
    """The verbs of records that list jobs."""

    async def list_jobs(
        self, wanted: JobFilter, limit: int, cursor: str | None = None, containing: str | None = None
    ) -> Page:
        """Jobs, newest first; a search in keys looks at no more than so many, and the cursor goes on where it ended."""
        only_live = bool(wanted.states) and LIVE.issuperset(wanted.states)
        if containing is not None or not only_live or not await self._are_few(wanted, cursor):
            return await super().list_jobs(wanted, limit, cursor, containing)
        given = {"limit": limit + 1, "cursor": cursor, **rows.filter_row(wanted)}
        return await self._page(await self.ask("list_few_live", **given), limit)

    async def find_live(self, wanted: JobFilter, limit: int, cursor: str | None = None) -> list[Held]:
        """Live jobs that fit, newest first, as another settler sees them."""
        name = "find_few_live" if await self._are_few(wanted, cursor) else "find_live"
        return await self._held(await self.ask(name, limit=limit, cursor=cursor, **rows.filter_row(wanted)))

    async def _are_few(self, wanted: JobFilter, cursor: str | None) -> bool:
        """Whether few live jobs are in the wanted states."""
        most = FEW if cursor is None else FEW_AFTER
        return not await self.ask("live_beyond", states=rows.filter_row(wanted)["states"], most=most)
