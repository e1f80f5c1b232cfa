"""Which tracebacks are logged; apart from the log, since the command line names it before it imports anything else."""

from enum import StrEnum


class Tracebacks(StrEnum):
    """Of which failed runs the traceback is logged."""

    LAST = "last"  # of those after which the job is dead
    EACH = "each"
    NONE = "none"
