"""Job ids: unique, in order, and telling their shard and time."""

import os
import threading
import time
import uuid
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.jobs.ids import SHARDS, is_id, make_ids, shard_of

NOW = 1_790_000_000.123


def test_a_hundred_thousand_ids_are_unique_and_in_order() -> None:
    ids = [job_id for size in (1, 999, 4096, 4097, 90807) for job_id in make_ids(size, NOW)]
    assert len(ids) == 100_000
    assert ids == sorted(set(ids))


def test_ids_of_threads_are_unique() -> None:
    ids: list[str] = []
    threads = [threading.Thread(target=lambda: ids.extend(make_ids(5000, NOW))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(ids)) == 20_000


def test_ids_stay_in_order_when_the_clock_goes_back() -> None:
    before = make_ids(10, time.time() + 3600)
    after = make_ids(10, time.time())
    assert before + after == sorted(before + after)


@given(shard=st.integers(0, SHARDS - 1), count=st.integers(1, 20))
def test_an_id_is_a_version_7_uuid_that_knows_its_shard(shard: int, count: int) -> None:
    for job_id in make_ids(count, NOW, shard):
        parsed = uuid.UUID(job_id)
        assert (parsed.version, parsed.variant) == (7, uuid.RFC_4122)
        assert str(parsed) == job_id
        assert is_id(job_id)
        assert shard_of(job_id) == shard


def test_an_id_tells_when_it_was_made() -> None:
    future = time.time() + 10_000_000
    (job_id,) = make_ids(1, future)
    assert int(job_id[:8] + job_id[9:13], 16) == int(future * 1000)


def test_the_random_part_differs() -> None:
    tails = {job_id[24:] for job_id in make_ids(1000, NOW)}
    assert len(tails) == 1000


def test_a_given_source_of_random_makes_the_random_part() -> None:
    first, second = (make_ids(1, NOW, SHARDS - 1, Random(7))[0] for _ in range(2))
    assert first[19:] == second[19:]
    assert first[19:22] == "bff"


def test_a_forked_process_makes_other_ids() -> None:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, make_ids(1, NOW)[0][24:].encode())
        os._exit(0)
    os.waitpid(child, 0)
    theirs = os.read(reader, 100).decode()
    os.close(reader)
    os.close(writer)
    assert theirs
    assert theirs != make_ids(1, NOW)[0][24:]


def test_no_ids_are_no_ids() -> None:
    assert make_ids(0, NOW) == []


NOT_CANONICAL = [
    "",
    "x",
    "01a1de76-0c45-7000-800f-0d653b9ff38",
    "{01a1de76-0c45-7000-800f-0d653b9ff38e}",
    "01A1DE76-0C45-7000-800F-0D653B9FF38E",
    "01a1de760c457000800f0d653b9ff38e",
]


@pytest.mark.parametrize("text", NOT_CANONICAL)
def test_only_the_canonical_form_is_an_id(text: str) -> None:
    assert not is_id(text)
