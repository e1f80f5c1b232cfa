"""The bridge: who may call it, and what does not need it."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from fairlead.client.blocking import Bridge, Guard
from fairlead.errors import ConfigError, StoreUnavailable


@pytest.fixture
def bridge() -> Iterator[Bridge]:
    made = Bridge()
    yield made
    made.close()


async def test_an_event_loop_is_not_blocked(bridge: Bridge) -> None:
    with pytest.raises(ConfigError, match="use the async form"):
        bridge.run(_running_loop())


def test_a_call_cannot_be_interrupted_by_one_that_would_wait_for_it() -> None:
    guard = Guard()
    bridge = Bridge(guard)
    with guard.held(), pytest.raises(ConfigError, match="signal handler"):
        bridge.run(_running_loop())
    assert bridge.run(_running_loop()).is_running()
    bridge.close()


def test_a_call_that_fails_is_over() -> None:
    guard = Guard()
    with pytest.raises(KeyboardInterrupt), guard.held():
        raise KeyboardInterrupt
    guard.require_free()


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


NO_SHUTDOWN = """
import asyncio, sys, fairlead

app = fairlead.App(sys.argv[1])

@app.handler("mail")
async def mail(number: int) -> None: ...

async def main():
    print((await mail.enqueue(3)).id)

if sys.argv[2] == "delay":
    print(mail.delay(1).id)
elif sys.argv[2] == "sync":
    print(app.sync(mail.delay(2).read()).id)
else:
    asyncio.run(main())
"""


@pytest.mark.parametrize("way", ["delay", "sync", "enqueue"])
def test_a_program_that_ends_without_a_shutdown_is_silent(shared_url: str, way: str) -> None:
    given = [sys.executable, "-c", NO_SHUTDOWN, shared_url, way]
    ended = subprocess.run(given, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert len(ended.stdout.split()) == 1


async def _running_loop() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()
