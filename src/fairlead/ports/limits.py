"""What is asked of a store about limits on what runs, and bounds on what is submitted."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from fairlead.core.jobs.model import Claim, Lane, Lease, NewJob
from fairlead.core.protection.controls import Changed
from fairlead.core.protection.limits import Rules, Wanted
from fairlead.core.protection.token_bucket import Bucket, Flow


class LimitedClaims(NamedTuple):
    """What was claimed under limits, and which are full now, with the seconds until there is room where known."""

    claims: list[Claim]
    full: Mapping[str, float | None]


class LimitUse(NamedTuple):
    """How many jobs run in each lane, and the buckets that are not full, at an instant of the store's clock."""

    running: Mapping[Lane, int]
    buckets: Mapping[str, Bucket]
    now: float


class Holder(NamedTuple):
    """A job that runs, and since when."""

    id: str
    tenant: str
    since: float
    worker: str | None


class Taken(NamedTuple):
    """How many tokens were taken; where none, the seconds until there are enough."""

    tokens: int
    again_in: float


class Backlog(NamedTuple):
    """How many jobs waited, so many seconds ago."""

    waiting: int
    age: float


class Door(Protocol):
    """Decides about submissions inside a caller's transaction, by figures that are read there when they are old."""

    @property
    def version(self) -> int:
        """The last version of the controls that it knows."""

    def is_stale(self) -> bool:
        """Whether the figures are to be read again."""

    def lacks(self, jobs: Sequence[NewJob]) -> bool:
        """Whether it has to read a figure first that matters for these jobs."""

    def tenants(self) -> list[str]:
        """Whose figures it wants."""

    def follow(self, changed: Changed) -> None:
        """Take over the controls that were read."""

    def sampled(self, backlog: Mapping[str, Backlog]) -> None:
        """Take over the figures that were read."""

    def admit_here(self, jobs: Sequence[NewJob]) -> Sequence[NewJob]:
        """The jobs that are to be stored; an error refuses all."""


class LimitedStore(Protocol):
    """The verbs of a store about limits and bounds."""

    async def claim_limited(self, wanted: Sequence[Wanted], rules: Rules, lease: Lease) -> LimitedClaims:
        """Claim as much of the quotas as their limits leave; limits hold over all that claim through this."""

    async def limit_use(self) -> LimitUse:
        """What runs in each lane, and the buckets of rates."""

    async def holders(self, lanes: Iterable[Lane], most: int) -> list[Holder]:
        """Jobs of these lanes that run now, those that run longest first."""

    async def take_tokens(self, name: str, way: Flow, least: int, most: int) -> Taken:
        """Take up to `most` tokens of a shared bucket, or none if there are not `least`."""

    async def waiting(self) -> dict[Lane, tuple[int, int]]:
        """How many jobs of each lane are ready, and how many wait in all; reads every live job."""

    async def write_backlog(self, backlog: Mapping[str, int], age: float = 0.0) -> None:
        """Replace the sampled figures by these, which were counted so many seconds ago."""

    async def read_backlog(self, tenants: Iterable[str]) -> dict[str, Backlog]:
        """The sampled figures of those tenants that have one."""

    async def count_admissions(self, counts: Mapping[tuple[str, str], int]) -> None:
        """Add to what was refused, put off or shed, by tenant and code."""

    async def admissions(self) -> dict[tuple[str, str], int]:
        """What was refused, put off or shed so far, by tenant and code."""

    async def prune_limits(self, kept: float, limit: int) -> int:
        """Remove buckets that make no difference, and lanes with keys in which no job was live for so many seconds."""
