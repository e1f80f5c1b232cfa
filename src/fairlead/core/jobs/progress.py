"""Progress of a run as reported by its handler: a fraction, or a count of a total, with a line of text.

An inaccurate report does not fail the job: a count above the total is lowered to it, and long text is cut. Only a value
that is not a number is refused.
"""

import math
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from fairlead.errors import ConfigError

LONGEST_MESSAGE = 200


class ProgressReport(NamedTuple):
    """A report of a handler: `done` of `total`, or a fraction if there is no total."""

    done: float
    total: float | None = None
    message: str = ""


class RunReport(NamedTuple):
    """A report with the run it is about; it is stored only while that run owns its job."""

    id: str
    fence: int
    owner: str
    lease: str
    done: float
    total: float | None
    message: str


@dataclass(frozen=True, slots=True)
class Progress:
    """The latest report of a job's latest run, and when it was stored."""

    done: float
    total: float | None
    message: str
    at: datetime

    @property
    def fraction(self) -> float:
        """The completed part, from 0 to 1."""
        return fraction(self.done, self.total)


def report(done: float, total: float | None = None, message: str = "") -> ProgressReport:
    """Return a valid report; ConfigError if a value is not a number."""
    if not (_is_number(done) and (total is None or _is_number(total))):
        raise ConfigError(
            f"progress takes a fraction from 0 to 1, or how many are done and the total, not {done!r:.50} and "
            f"{total!r:.50}"
        )
    most = 1.0 if total is None else max(0.0, float(total))
    return ProgressReport(min(max(0.0, float(done)), most), None if total is None else most, _line(str(message)))


def fraction(done: float, total: float | None) -> float:
    """Return the completed part from 0 to 1; a total of zero is complete."""
    if total is None:
        return done
    return done / total if total > 0 else 1.0


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and abs(value) < 1e300 and math.isfinite(value)


def _line(text: str) -> str:
    """Return the text as one printable, bounded line that any database can store."""
    if text.isprintable() and len(text) <= LONGEST_MESSAGE:
        return text
    words = "".join(letter if letter.isprintable() else " " for letter in text[: LONGEST_MESSAGE + 1])
    line = " ".join(words.encode("utf-8", "backslashreplace").decode().split())
    return line if len(line) <= LONGEST_MESSAGE else line[: LONGEST_MESSAGE - 1] + "…"
