"""Retry policies."""

from typing import Annotated, Literal

from pydantic import Field

from fairlead.core.jobs.retry import MAX_ATTEMPTS, MAX_POWER, Retry
from fairlead.documents.base import NUMBER_ONLY, Body, Seconds

MOST_DELAYS = 100

Attempts = Annotated[int, Field(ge=1, le=MAX_ATTEMPTS), NUMBER_ONLY]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]


class RetryPolicy(Body):
    """How often a job is tried, and how long it waits before each further try. Durations are seconds."""

    attempts: Attempts | None = None
    backoff: Literal["list", "fixed", "linear", "exponential", "polynomial"] | None = None
    first: Seconds | None = None
    factor: Annotated[Number, Field(ge=1, le=1e6)] | None = None
    power: Annotated[Number, Field(ge=0, le=MAX_POWER)] | None = None
    delays: Annotated[list[Seconds], Field(min_length=1, max_length=MOST_DELAYS)] | None = None
    cap: Seconds | None = None
    jitter: Literal["full", "none", "equal", "proportional", "decorrelated"] | None = None
    percent: Annotated[Number, Field(ge=0, le=100)] | None = None
    max_age: Seconds | None = Field(None, description="No retry starts later than that after the submission.")

    def policy(self) -> Retry:
        """The policy; ConfigError where its parts do not belong together."""
        return Retry(**self.model_dump(exclude_none=True))
