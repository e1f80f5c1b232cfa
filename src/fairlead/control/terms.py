"""On which terms a job runs, as far as what is stored tells: how often it is tried, and when a run is stopped."""

from typing import Any, NamedTuple

from pydantic_core import from_json

from fairlead.control.submit import pools_of
from fairlead.core.model import JobRecord, JobType
from fairlead.core.pools import Pools
from fairlead.ports.store import Store


class JobTerms(NamedTuple):
    """What the job, its type or its pool says, in this order; None where nothing is known, or there is no timeout."""

    attempts: int | None
    timeout: float | None


async def job_terms(store: Store, job: JobRecord) -> JobTerms:
    """The terms of a job, by what is registered and set now."""
    types = {job_type.name: job_type for job_type in await store.job_types()}
    return terms_of(job, types.get(job.type), await pools_of(store))


def terms_of(job: JobRecord, job_type: JobType | None, pools: Pools) -> JobTerms:
    """The terms of a job of a type, by the pools as they are set now."""
    own: dict[str, Any] = from_json(job.options) if job.options else {}
    declared = job_type.settings if job_type else {}
    pool = pools.get(job.pool)
    attempts = _attempts(own.get("retry")) or (pool.attempts if declared.get("usual_retry") else None)
    timeouts = (own.get("timeout"), declared.get("timeout"), pool.timeout)
    return JobTerms(
        attempts or _attempts(declared.get("retry")), next((given for given in timeouts if given is not None), None)
    )


def _attempts(policy: dict[str, Any] | None) -> int | None:
    return policy.get("attempts") if policy else None
