"""Store: one database with all records of Fairlead."""

from fairlead.ports.jobs import JobStore
from fairlead.records.api_keys import ApiKeys, StoredResponses
from fairlead.records.audit import Audit
from fairlead.records.backpressure import Backpressure
from fairlead.records.callbacks import Callbacks
from fairlead.records.checkpoints import Checkpoints
from fairlead.records.controls import Controls
from fairlead.records.dead_letters import DeadLetters
from fairlead.records.job_changes import JobChanges
from fairlead.records.jobs import JobReader, RunState
from fairlead.records.lanes import KnownLanes
from fairlead.records.limits import Limits
from fairlead.records.promotion import Promotion
from fairlead.records.run_counts import RunCounts
from fairlead.records.samples import Samples
from fairlead.records.schedules import Schedules
from fairlead.records.shares import Shares
from fairlead.records.workers import JobTypes, Leadership, Workers


class Store:
    """`jobs` differs between databases; the other attributes are records written once over any database."""

    def __init__(self, jobs: JobStore, lanes: KnownLanes) -> None:
        self.jobs = jobs
        self.reader = JobReader(jobs, lanes)
        self.changes = JobChanges(jobs)
        self.promotion = Promotion(jobs, self.reader, lanes)
        self.run_state = RunState(jobs)
        self.checkpoints = Checkpoints(jobs)
        self.dead_letters = DeadLetters(jobs)
        self.schedules = Schedules(jobs, self.reader)
        self.callbacks = Callbacks(jobs)
        self.controls = Controls(jobs)
        self.limits = Limits(jobs, lanes)
        self.backpressure = Backpressure(jobs, lanes)
        self.run_counts = RunCounts(jobs)
        self.shares = Shares(jobs, lanes)
        self.workers = Workers(jobs)
        self.types = JobTypes(jobs)
        self.leadership = Leadership(jobs)
        self.audit = Audit(jobs)
        self.api_keys = ApiKeys(jobs)
        self.responses = StoredResponses(jobs)
        self.samples = Samples(jobs)

    async def open(self) -> None:
        """Connect, and check that the schema is the one this version needs."""
        await self.jobs.open()

    async def close(self) -> None:
        """Close all connections; the store can be opened again."""
        await self.jobs.close()

    async def now(self) -> float:
        """Return the time of the database's clock."""
        return float((await self.jobs.ask("read_clock"))[0][0])
