"""How many works share a transaction."""

import time
from collections.abc import Callable, Sequence

import apsw
import pytest

from fairlead.stores.sqlite import transactions
from fairlead.stores.sqlite.transactions import LOOKS, Transactions, Work


def nothing(connection: apsw.Connection, now: float) -> float:
    return now


def crowd(*, at_once: int) -> Callable[[], Sequence[Work]]:
    """So many more have come whenever somebody looks."""
    return lambda: [nothing] * at_once


@pytest.mark.parametrize("at_once", [1, 7])
def test_works_that_come_without_end_do_not_keep_a_transaction_open(
    monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(transactions, "JOIN_WITHIN", 3600.0)
    connection = apsw.Connection(":memory:")
    opened = Transactions(connection, "BEGIN IMMEDIATE", ":memory:", time.time)
    results = opened.run([nothing], crowd(at_once=at_once))
    connection.close()
    assert len(results) == 1 + at_once * (1 + LOOKS)
    assert len({result.value for result in results}) == 1
