"""How far a run has come, as its handler says: a fraction, or so many of so many, and a line of text.

What a handler says never fails its job for being a little off: a count beyond the total is the total, and text that
is too long is cut. Only what is no number is refused.
"""

import math
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from fairlead.errors import ConfigError

LONGEST_MESSAGE = 200


class ProgressReport(NamedTuple):
    """What a handler says: `done` of `total`, or a fraction where there is no total."""

    done: float
    total: float | None = None
    message: str = ""


class RunReport(NamedTuple):
    """A report and the run that it is about; it counts while that run owns its job."""

    id: str
    fence: int
    owner: str
    lease: str
    done: float
    total: float | None
    message: str


@dataclass(frozen=True, slots=True)
class Progress:
    """The last report of a job's last run, and when it was written."""

    done: float
    total: float | None
    message: str
    at: datetime

    @property
    def fraction(self) -> float:
        """From 0 to 1."""
        return fraction(self.done, self.total)


def report(done: float, total: float | None = None, message: str = "") -> ProgressReport:
    """A checked report."""
    if not (_is_number(done) and (total is None or _is_number(total))):
        raise ConfigError(
            f"progress takes a fraction from 0 to 1, or how many are done and the total, not {done!r:.50} and "
            f"{total!r:.50}"
        )
    most = 1.0 if total is None else max(0.0, float(total))
    return ProgressReport(min(max(0.0, float(done)), most), None if total is None else most, _line(str(message)))


def fraction(done: float, total: float | None) -> float:
    """The part that is done; of nothing, all is done."""
    if total is None:
        return done
    return done / total if total > 0 else 1.0


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and abs(value) < 1e300 and math.isfinite(value)


def _line(text: str) -> str:
    """The text on one line that any database takes."""
    if text.isprintable() and len(text) <= LONGEST_MESSAGE:
        return text
    words = "".join(letter if letter.isprintable() else " " for letter in text[: LONGEST_MESSAGE + 1])
    line = " ".join(words.encode("utf-8", "backslashreplace").decode().split())
    return line if len(line) <= LONGEST_MESSAGE else line[: LONGEST_MESSAGE - 1] + "…"
