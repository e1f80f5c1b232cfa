"""On which terms a job runs, as far as what is stored tells: how often it is tried, and when a run is stopped."""

from typing import NamedTuple

from fairlead.core.jobs.failure import Policies
from fairlead.core.jobs.job_records import JobRecord, JobType
from fairlead.core.jobs.pools import Pool, Pools, TypeTerms, terms_in
from fairlead.handlers.options import overridden
from fairlead.handlers.registered import placed, policies_of, pools_of
from fairlead.records.store import Store


class JobTerms(NamedTuple):
    """What the job, its type or its pool says, in this order; None where nothing is known, or there is no timeout."""

    attempts: int | None
    timeout: float | None


async def job_terms(store: Store, job: JobRecord) -> JobTerms:
    """The terms of a job, by what is registered and set now."""
    types = {job_type.name: job_type for job_type in await store.types.all()}
    return terms_of(job, types.get(job.type), await pools_of(store))


def terms_of(job: JobRecord, job_type: JobType | None, pools: Pools) -> JobTerms:
    """The terms of a job of a type, by the pools as they are set now."""
    pool = pools.get(job.pool)
    if job_type is None:
        return JobTerms(None, overridden(job.options, pool.timeout, Policies())[0])
    timeout, policies = overridden(job.options, *type_terms(job_type, pool))
    return JobTerms(policies.application.attempts, timeout)


def new_terms(job_type: JobType, pools: Pools) -> TypeTerms:
    """On which terms new jobs of a registered type run, in the pool that they go to."""
    return type_terms(job_type, pools.get(placed(job_type, pools)))


def type_terms(job_type: JobType, pool: Pool) -> TypeTerms:
    """On which terms the jobs of a registered type run in a pool."""
    settings = job_type.settings
    return terms_in(pool, settings.get("timeout"), policies_of(job_type), bool(settings.get("usual_retry")))
