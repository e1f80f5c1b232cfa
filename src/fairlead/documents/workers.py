"""Workers: where they run, what they serve, and what they last reported."""

from datetime import datetime
from typing import Any, Self

from pydantic import Field

from fairlead.core.jobs.workers import DRAINING, RESERVE, WorkerRecord, reserved
from fairlead.documents.base import Document


class WorkerDocument(Document):
    """A worker process."""

    id: str
    host: str
    pid: int
    pools: list[str]
    types: list[str]
    slots: int
    version: str
    started_at: datetime
    state: str = Field(description="`active`, `draining`, `stopping`, or `lost` where its lease ran out.")
    live: bool
    lease_left: float
    reserve: list[str] = Field(description="The tenants that it serves; it serves all where there are none.")
    report: dict[str, Any] = Field(description="The figures that it reported last.")

    @classmethod
    def of(cls, record: object, **fields: Any) -> Self:
        """The document of a worker."""
        assert isinstance(record, WorkerRecord)
        info = record.info
        return cls(
            id=info.id,
            host=info.host,
            pid=info.pid,
            pools=list(info.pools),
            types=list(info.types),
            slots=info.slots,
            version=info.version,
            started_at=record.started_at,
            state=record.state if record.live else "lost",
            live=record.live,
            lease_left=round(max(0.0, record.lease_left), 3),
            reserve=list(reserved(record)),
            report={name: value for name, value in record.report.items() if name not in (DRAINING, RESERVE)},
            **fields,
        )


class WorkerList(Document):
    """All registered workers."""

    workers: list[WorkerDocument]
