"""The bridge: who may call it, and what does not need it."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from fairlead.client.blocking import Bridge
from fairlead.errors import ConfigError, StoreUnavailable


@pytest.fixture
def bridge() -> Iterator[Bridge]:
    made = Bridge()
    yield made
    made.close()


def test_its_loop_is_in_reach_once_it_runs(bridge: Bridge) -> None:
    assert bridge.loop_in_reach() is None
    running = bridge.run(_running_loop())
    assert bridge.loop_in_reach() is running


async def test_it_is_not_in_reach_of_who_must_not_block(bridge: Bridge) -> None:
    await asyncio.to_thread(lambda: bridge.run(_running_loop()))
    assert bridge.loop_in_reach() is None


def test_an_action_here_cannot_be_interrupted_by_one_that_would_wait_for_it(bridge: Bridge) -> None:
    bridge.run(_running_loop())

    def signal_handler(word: str) -> str:
        assert bridge.loop_in_reach() is None
        with pytest.raises(ConfigError, match="signal handler"):
            bridge.run(_running_loop())
        return word

    assert bridge.run_here(signal_handler, "done") == "done"
    assert bridge.run(_running_loop()) is bridge.loop_in_reach()


def test_an_action_here_that_fails_is_over(bridge: Bridge) -> None:
    def interrupted(_: None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bridge.run_here(interrupted, None)
    assert bridge.run(_running_loop()) is bridge.loop_in_reach()


def test_closing_ends_the_wait_of_everybody(bridge: Bridge) -> None:
    began = threading.Semaphore(0)

    async def endless() -> None:
        began.release()
        await asyncio.Event().wait()

    with ThreadPoolExecutor(4) as threads:
        calls = [threads.submit(lambda: bridge.run(endless())) for _ in range(4)]
        for _ in calls:
            assert began.acquire(timeout=10)
        bridge.close()
        for call in calls:
            with pytest.raises(StoreUnavailable, match="shut down"):
                call.result(10)


FORK = """
import os, signal, sys, fairlead

app = fairlead.App(sys.argv[1])

@app.handler("mail")
async def mail(number: int) -> None: ...

jobs = [mail.delay(1)]
child = os.fork()
if child == 0:
    signal.alarm(20)
    mail.delay(2)
    mail.delay(3)
    app.shutdown()
    os._exit(0)
status = os.waitpid(child, 0)[1]
mail.delay(4)
app.shutdown()
sys.exit(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.postgres
def test_a_forked_child_goes_on_with_connections_of_its_own(postgres_url: str) -> None:
    subprocess.run([sys.executable, "-c", FORK, postgres_url], check=True, timeout=60)
    with psycopg.connect(postgres_url) as connection:
        stored = connection.execute("select payload from job order by payload").fetchall()
    assert stored == [(f'{{"number":{number}}}',) for number in (1, 2, 3, 4)]


async def _running_loop() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()
