"""On which terms a job runs: what its type declares, and where that says nothing, what its pool says."""

from dataclasses import replace
from typing import NamedTuple

from fairlead.core.failure import Policies
from fairlead.core.pools import Pool


class TypeTerms(NamedTuple):
    """After how many seconds a run is stopped, if ever, and how failures are retried."""

    timeout: float | None
    policies: Policies


def terms_in(pool: Pool, timeout: float | None, policies: Policies, usual_retry: bool) -> TypeTerms:
    """The terms of a type's jobs in a pool; with `usual_retry` the type declares no retry policy of its own."""
    timeout = pool.timeout if timeout is None else timeout
    if not usual_retry or pool.attempts is None:
        return TypeTerms(timeout, policies)
    return TypeTerms(timeout, policies.but(replace(policies.application, attempts=pool.attempts)))
