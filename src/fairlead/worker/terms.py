"""On which terms a job runs: what its type declares, and where that says nothing, what its pool says."""

from dataclasses import replace

from fairlead.core.controls import Controls
from fairlead.core.failure import Policies
from fairlead.core.pools import POOL, Pools
from fairlead.handlers.spec import HandlerSpec


class Terms:
    """The timeout and the retry policies of types in pools, as the controls have them."""

    def __init__(self, controls: Controls) -> None:
        self._pools = Pools(controls)
        self._known: dict[tuple[str, str], tuple[float | None, Policies]] = {}

    def follow(self, kinds: frozenset[str]) -> None:
        """Controls of these kinds have changed."""
        if POOL in kinds:
            self._known.clear()

    def of(self, spec: HandlerSpec, pool: str) -> tuple[float | None, Policies]:
        """For the jobs of a type in a pool."""
        key = (spec.name, pool)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._find(spec, pool)
        return found

    def _find(self, spec: HandlerSpec, pool: str) -> tuple[float | None, Policies]:
        settings = self._pools.get(pool)
        timeout = settings.timeout if spec.timeout is None else spec.timeout
        if not spec.usual_retry or settings.attempts is None:
            return timeout, spec.policies
        return timeout, spec.policies.but(replace(spec.retry, attempts=settings.attempts))
