"""Dead letters over HTTP."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any

from pydantic import Field, model_validator

from fairlead.api.models.common import NUMBER_ONLY, Id, Incoming, Key, Name, Outgoing, Seconds, Text
from fairlead.core.jobs.dead_letters import DeadGroup
from fairlead.core.jobs.job_records import JobFilter
from fairlead.errors import FairleadError
from fairlead.operate.dead_letters import HOURS
from fairlead.operate.staged_replay import Report

MOST_IDS = 1_000
MOST_AT_ONCE = 10_000


class DeadFilter(Incoming):
    """Which dead jobs are meant; what is absent does not restrict."""

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


class DeadChoice(Incoming):
    """Dead jobs by their ids, or all that fit a filter; an empty filter means all."""

    ids: Annotated[list[Id], Field(min_length=1, max_length=MOST_IDS)] | None = None
    filter: DeadFilter | None = None
    limit: Annotated[int, Field(ge=1, le=MOST_AT_ONCE), NUMBER_ONLY] = MOST_AT_ONCE
    reason: Annotated[Text, Field(min_length=1)]

    @model_validator(mode="after")
    def _one_choice(self) -> "DeadChoice":
        if (self.ids is None) == (self.filter is None):
            raise ValueError("give ids or a filter, one of them")
        return self


class StagedReplay(Incoming):
    """A replay in stages: one job, ten, then growing batches, each only if the one before did well."""

    filter: DeadFilter
    limit: Annotated[int, Field(ge=1, le=MOST_AT_ONCE), NUMBER_ONLY] = MOST_AT_ONCE
    patience: Annotated[float, Field(strict=True, gt=0, le=60, description="Seconds to wait for a stage.")] = 20.0
    tolerance: Annotated[float, Field(strict=True, ge=0, le=1, description="Which share may fail again.")] = 0.1
    reason: Annotated[Text, Field(min_length=1)]


class Purge(Incoming):
    """Dead jobs to remove for good: by their ids, or all that fit a filter and are old enough."""

    ids: Annotated[list[Id], Field(min_length=1, max_length=MOST_IDS)] | None = None
    filter: DeadFilter | None = None
    older_than: Annotated[Seconds | None, Field(description="Goes with a filter: died so many seconds ago.")] = None
    dry_run: Annotated[bool, Field(strict=True, description="Remove nothing, tell how many it would be.")] = False
    reason: Annotated[Text, Field(min_length=1)]

    @model_validator(mode="after")
    def _one_choice(self) -> "Purge":
        if (self.ids is None) == (self.filter is None):
            raise ValueError("give ids or a filter, one of them")
        if (self.filter is None) != (self.older_than is None):
            raise ValueError("give older_than with a filter, and only there")
        return self


class DeadEdit(Incoming):
    """A payload that a dead job gets; it stays dead."""

    payload: dict[str, Any]
    reason: Text | None = None


class DeadReplay(Incoming):
    """How one dead job is brought back: as it is, or with another payload."""

    payload: dict[str, Any] | None = None
    reason: Text | None = None


class DeadGroupDocument(Outgoing):
    """Dead jobs of one type that died of the same."""

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


class DeadGroups(Outgoing):
    """Groups, the largest first."""

    groups: list[DeadGroupDocument]


class DeadCount(Outgoing):
    """How many dead jobs fit."""

    count: int


class DeadAction(Outgoing):
    """What became of an action on many jobs."""

    done: list[str]
    refused: list[dict[str, Any]]


class Purged(Outgoing):
    """How many were removed, and why not those of the ids that are left."""

    removed: int
    would_remove: int | None = Field(default=None, description="In a dry run: how many it would be.")
    refused: list[dict[str, Any]] = Field(default=[])


class StageDocument(Outgoing):
    """What became of one stage."""

    number: int
    revived: int
    refused: int
    succeeded: int
    failed_again: int
    failed_otherwise: int
    unfinished: int


class StagedReport(Outgoing):
    """What a staged replay did; `stopped` says why it did not go on to the end."""

    stages: list[StageDocument]
    revived: int
    refused: list[dict[str, Any]]
    stopped: str | None


def group_document(group: DeadGroup, trend: Sequence[int] | None) -> DeadGroupDocument:
    """A group as it is shown."""
    return DeadGroupDocument(
        fingerprint=group.fingerprint,
        type=group.type,
        error_type=group.error_type,
        message=group.message,
        sample=group.sample,
        count=group.count,
        tenants=group.tenants,
        first_at=group.first_at,
        last_at=group.last_at,
        trend=list(trend or [0] * HOURS),
    )


def staged_report(report: Report) -> StagedReport:
    """What a staged replay did, as it is shown."""
    return StagedReport(
        stages=[StageDocument(**asdict(stage)) for stage in report.stages],
        revived=report.revived,
        refused=refused_documents(report.refused),
        stopped=report.stopped,
    )


def refused_documents(refused: Mapping[str, FairleadError]) -> list[dict[str, Any]]:
    """Why some jobs were left as they were."""
    return [{"id": job_id, "code": error.code, "detail": str(error)} for job_id, error in refused.items()]
