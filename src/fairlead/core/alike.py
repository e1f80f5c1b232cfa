"""Claims are mostly of one lane; to know that spares looking at the lane of each."""

from collections.abc import Sequence
from operator import itemgetter

from fairlead.core.jobs.model import Claim, Lane

_lane_of = itemgetter(Claim._fields.index("lane"))


def only_lane(claims: Sequence[Claim]) -> Lane | None:
    """The lane that all these claims are of; None if there are several, or no claims."""
    if not claims or claims[0].lane is not claims[-1].lane:
        return None
    lane, lanes = claims[0].lane, list(map(_lane_of, claims))
    return lane if lanes.count(lane) == len(lanes) else None
