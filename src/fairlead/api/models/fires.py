"""The times of an expression over HTTP."""

from datetime import datetime

from fairlead.api.models.common import Outgoing


class Fires(Outgoing):
    """The next times, the first first."""

    fires: list[datetime]
