"""Of the jobs that one worker has claimed, whose comes first."""

from collections import deque
from collections.abc import Sequence

from fairlead.core.alike import only_lane
from fairlead.core.jobs.model import Claim


def in_turns(claims: Sequence[Claim]) -> deque[Claim]:
    """The claims in the order in which tenants take turns, each with its own in their order."""
    if only_lane(claims) is not None:
        return deque(claims)
    by_tenant: dict[str, deque[Claim]] = {}
    for claim in claims:
        by_tenant.setdefault(claim.lane.tenant, deque()).append(claim)
    if len(by_tenant) < 2:
        return deque(claims)
    ordered: deque[Claim] = deque()
    while by_tenant:
        for tenant, own in list(by_tenant.items()):
            ordered.append(own.popleft())
            if not own:
                del by_tenant[tenant]
    return ordered
