"""A fast test whether all claims are from one lane, as most batches are."""

from collections.abc import Sequence
from operator import itemgetter

from fairlead.core.jobs.model import Claim, Lane

_lane_of = itemgetter(Claim._fields.index("lane"))


def only_lane(claims: Sequence[Claim]) -> Lane | None:
    """Return the claims' common lane, or None if there are several lanes or no claims."""
    if not claims or claims[0].lane is not claims[-1].lane:
        return None
    lane, lanes = claims[0].lane, list(map(_lane_of, claims))
    return lane if lanes.count(lane) == len(lanes) else None
