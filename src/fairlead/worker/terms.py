"""The terms on which jobs run (core.terms), remembered by type and pool until a pool is changed."""

from fairlead.core.jobs.pools import POOL, Pools, TypeTerms, terms_in
from fairlead.core.protection.controls import Controls
from fairlead.handlers.spec import HandlerSpec


class Terms:
    """The timeout and the retry policies of types in pools, as the controls have them."""

    def __init__(self, controls: Controls) -> None:
        self._pools = Pools(controls)
        self._known: dict[tuple[str, str], TypeTerms] = {}

    def follow(self, kinds: frozenset[str]) -> None:
        """Controls of these kinds have changed."""
        if POOL in kinds:
            self._known.clear()

    def of(self, spec: HandlerSpec, pool: str) -> TypeTerms:
        """For the jobs of a type in a pool."""
        key = (spec.name, pool)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = terms_in(self._pools.get(pool), spec.timeout, spec.policies, spec.usual_retry)
        return found
