"""Whether claims are of one lane."""

import pytest

from fairlead.core.alike import only_lane
from fairlead.core.jobs.model import Claim, Lane, Lease, Priority

LANES = {tenant: Lane("short", tenant, "work", Priority.DEFAULT, 1) for tenant in "ab"}


@pytest.mark.parametrize(
    ("tenants", "expected"), [("", None), ("a", "a"), ("aaa", "a"), ("ab", None), ("aba", None), ("abb", None)]
)
def test_the_only_lane_of_claims(tenants: str, expected: str | None) -> None:
    lease = Lease("w", "l")
    claims = [Claim("id", LANES[tenant], "{}", 1, 0, 1, 0.0, 0.0, None, None, None, lease) for tenant in tenants]
    assert only_lane(claims) is (None if expected is None else LANES[expected])
