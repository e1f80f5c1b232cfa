"""Dead letters: groups of dead jobs, and the bodies that replay, cancel, edit and purge them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from fairlead.core.jobs.dead_letters import DeadGroup
from fairlead.core.jobs.job_records import JobFilter
from fairlead.documents.base import NUMBER_ONLY, Body, Document, Id, Key, Name, Reason, Seconds, Text
from fairlead.errors import FairleadError

MOST_IDS = 1_000
MOST_AT_ONCE = 10_000
HOURS = 24


class DeadFilter(Body):
    """Which dead jobs are meant; a field that is absent does not restrict."""

    type: Name | None = None
    tenant: Name | None = None
    pool: Name | None = None
    fingerprint: Key | None = None
    error_type: Key | None = None

    def job_filter(self, tenant: str | None) -> JobFilter:
        """The filter, for a tenant."""
        return JobFilter(
            type=self.type, tenant=tenant, pool=self.pool, fingerprint=self.fingerprint, error_type=self.error_type
        )


class _IdsOrFilter(Body):
    ids: Annotated[list[Id], Field(min_length=1, max_length=MOST_IDS)] | None = None
    filter: DeadFilter | None = None

    @model_validator(mode="after")
    def _one_choice(self) -> Self:
        if (self.ids is None) == (self.filter is None):
            raise ValueError("give ids or a filter, one of them")
        return self


class DeadChoice(_IdsOrFilter):
    """Dead jobs by their ids, or all that fit a filter; an empty filter means all."""

    limit: Annotated[int, Field(ge=1, le=MOST_AT_ONCE), NUMBER_ONLY] = MOST_AT_ONCE
    reason: Reason


class StagedReplay(Body):
    """A replay in stages: one job, ten, then growing batches, each only if the one before did well."""

    filter: DeadFilter
    limit: Annotated[int, Field(ge=1, le=MOST_AT_ONCE), NUMBER_ONLY] = MOST_AT_ONCE
    patience: Annotated[float, Field(strict=True, gt=0, le=60, description="Seconds to wait for a stage.")] = 20.0
    tolerance: Annotated[float, Field(strict=True, ge=0, le=1, description="Which share may fail again.")] = 0.1
    reason: Reason


class Purge(_IdsOrFilter):
    """Dead jobs to remove for good: by their ids, or all that fit a filter and are old enough."""

    older_than: Annotated[Seconds | None, Field(description="Goes with a filter: died so many seconds ago.")] = None
    dry_run: Annotated[bool, Field(strict=True, description="Remove nothing, say how many it would be.")] = False
    reason: Reason

    @model_validator(mode="after")
    def _age_with_filter(self) -> Self:
        if (self.filter is None) != (self.older_than is None):
            raise ValueError("give older_than with a filter, and only there")
        return self


class DeadEdit(Body):
    """A payload that a dead job gets; it stays dead."""

    payload: dict[str, Any]
    reason: Text | None = None


class DeadReplay(Body):
    """A replay of one dead job: as it is, or with another payload."""

    payload: dict[str, Any] | None = None
    reason: Text | None = None


class DeadGroupDocument(Document):
    """Dead jobs of one type that died of errors with one fingerprint; `sample` is the newest of them."""

    fingerprint: str | None
    type: str
    error_type: str | None
    message: str
    sample: str
    count: int
    tenants: int
    first_at: datetime
    last_at: datetime
    trend: list[int] = Field(description="How many died in each of the last 24 hours, oldest first.")

    @classmethod
    def of(cls, record: object, trend: Sequence[int] | None = None, **fields: Any) -> Self:
        """The document of a group, with its hourly counts."""
        return super().of(record, trend=list(trend or [0] * HOURS), **fields)

    def record(self) -> DeadGroup:
        """The group as core has it."""
        return DeadGroup(**self.model_dump(exclude={"trend"}))


class DeadGroups(Document):
    """Groups, the largest first."""

    groups: list[DeadGroupDocument]


class DeadCount(Document):
    """How many dead jobs fit."""

    count: int


class RefusedDocument(Document):
    """A job that was left as it was, and why."""

    id: str
    code: str
    detail: str

    @classmethod
    def all_of(cls, refused: Mapping[str, FairleadError]) -> list[Self]:
        """The documents of refusals by id."""
        return [cls(id=job_id, code=error.code, detail=str(error)) for job_id, error in refused.items()]


class DeadAction(Document):
    """The ids that an action applied to, and the jobs that it left."""

    done: list[str]
    refused: list[RefusedDocument]


class Purged(Document):
    """How many jobs were removed, and why not the others of the ids."""

    removed: int
    would_remove: int | None = Field(default=None, description="In a dry run: how many it would be.")
    refused: list[RefusedDocument] = Field(default=[])


class StageDocument(Document):
    """The result of one stage."""

    number: int
    revived: int
    refused: int
    succeeded: int
    failed_again: int
    failed_otherwise: int
    unfinished: int


class StagedReport(Document):
    """The result of a staged replay; `stopped` says why it did not go on to the end."""

    stages: list[StageDocument]
    revived: int
    refused: list[RefusedDocument]
    stopped: str | None

    @classmethod
    def of(cls, record: Any, **fields: Any) -> Self:
        """The document of a report."""
        stages = [StageDocument.of(stage) for stage in record.stages]
        return super().of(record, stages=stages, refused=RefusedDocument.all_of(record.refused), **fields)
