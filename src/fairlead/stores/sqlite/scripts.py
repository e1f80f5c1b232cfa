"""Scripts of statements as works: a Database runs each in a transaction."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

import apsw

from fairlead.stores.enqueue import Ask, Settle, Step
from fairlead.stores.sqlite.verbs import Rows, execute, settle
from fairlead.stores.statements import Script
from fairlead.stores.within import drive

Value = TypeVar("Value")


def scripted(make_script: Callable[[], Script[Value]]) -> Callable[[apsw.Connection, float], Value]:
    """A work that runs a script; the script is made anew when the work is repeated."""

    def work(connection: apsw.Connection, now: float) -> Value:
        return drive(make_script(), lambda step: _perform(connection, step, now))

    return work


def _perform(connection: apsw.Connection, step: Step | Ask | Settle, now: float) -> Rows:
    if isinstance(step, Settle):
        return [(job_id,) for job_id in settle(step.settlements, expired_only=False)(connection, now)]
    batch = [step.parameters] if isinstance(step, Ask) else step.rows
    return execute(connection, step.query, [_plain(row) for row in batch], now)


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """The row with instants as this database keeps them: seconds since 1970."""
    return {name: value.timestamp() if isinstance(value, datetime) else value for name, value in row.items()}
