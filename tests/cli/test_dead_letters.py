"""Dead jobs on the command line, and `fairlead audit`."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import apsw
import pytest

from fairlead import App, Retry
from fairlead.core.jobs.ids import make_ids
from tests.cli.conftest import HOSTILE, Run, Shop

(UNKNOWN_ID,) = make_ids(1, 0.0)


class Bank:
    """An app whose handler can be mended, with a worker on a thread of its own."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.app = App(url, poll="50ms")
        self.broken = True

        @self.app.handler("charge", retry=Retry(attempts=1))
        async def charge(order: int) -> int:
            if self.broken:
                raise ConnectionError(f"order {order} refused")
            return order

        self.charge = charge

    @contextmanager
    def working(self) -> Iterator[None]:
        """A worker beside the commands, which have event loops of their own."""
        over, ready = threading.Event(), threading.Event()

        async def work() -> None:
            async with self.app, self.app.worker():
                ready.set()
                await asyncio.to_thread(over.wait)

        thread = threading.Thread(target=lambda: asyncio.run(work()))
        thread.start()
        ready.wait(20)
        try:
            yield
        finally:
            over.set()
            thread.join()

    def kill(self, count: int) -> list[str]:
        """Jobs that died."""

        async def work() -> list[str]:
            async with self.app, self.app.worker():
                jobs = await self.charge.enqueue_many([{"order": number} for number in range(count)])
                client = await self.app.client()
                return [(await client.wait(job.id, 20)).id for job in jobs]

        return asyncio.run(work())


@pytest.fixture(params=["sqlite_url", pytest.param("postgres_url", marks=pytest.mark.postgres)])
def bank(request: pytest.FixtureRequest) -> Bank:
    return Bank(str(request.getfixturevalue(request.param)))


def dead(run: Run, url: str, *arguments: str, code: int = 0, **more: Any) -> Any:
    """The JSON document of a command."""
    result = run("jobs", *arguments, "--json", "--database", url, **more)
    assert result.exit_code == code, result.output
    return json.loads(result.stdout) if result.stdout else json.loads(result.stderr)["error"]


def test_nothing_is_dead(run: Run, shop: Shop) -> None:
    assert run("jobs", "list", "--state", "dead", "--database", shop.url).stdout == "no jobs\n"
    assert run("jobs", "groups", "--database", shop.url).stdout == "no dead letters\n"
    assert run("audit", "--database", shop.url).stdout == "no entries\n"
    assert dead(run, shop.url, "replay", "--all", "--reason", "x", "--yes") == {"done": [], "refused": []}


def test_list_and_groups(run: Run, bank: Bank) -> None:
    ids = bank.kill(3)
    page = dead(run, bank.url, "list", "--state", "dead", "--limit", "2")
    assert [job["id"] for job in page["jobs"]] == ids[:0:-1]
    assert [
        job["id"] for job in dead(run, bank.url, "list", "--state", "dead", "--cursor", page["cursor"])["jobs"]
    ] == ids[:1]
    (group,) = dead(run, bank.url, "groups")["groups"]
    assert sum(group["trend"]) == 3
    assert (group["count"], group["sample"], group["error_type"]) == (3, ids[2], "ConnectionError")
    text = run("jobs", "groups", "--database", bank.url).stdout
    assert group["fingerprint"] in text
    assert "ConnectionError: order 2 refused" in text
    assert ids[0] in run("jobs", "list", "--state", "dead", "--database", bank.url).stdout


def test_filters(run: Run, bank: Bank) -> None:
    ids = bank.kill(1)
    (group,) = dead(run, bank.url, "groups")["groups"]
    fitting: list[tuple[str, ...]] = [
        ("--fingerprint", group["fingerprint"]), ("--type", "charge"), ("--tenant", "default"), ("--pool", "short"),
        ("--error", "ConnectionError"), ("--since", "1h"), ("--until", "2090-01-01T00:00:00Z"),
    ]  # fmt: skip
    for arguments in fitting:
        assert [job["id"] for job in dead(run, bank.url, "list", "--state", "dead", *arguments)["jobs"]] == ids, (
            arguments
        )
    for arguments in (
        ("--fingerprint", "x"),
        ("--error", "Other"),
        ("--until", "1h"),
        ("--since", "2090-01-01T00:00Z"),
    ):
        assert dead(run, bank.url, "list", "--state", "dead", *arguments)["jobs"] == [], arguments
        assert dead(run, bank.url, "groups", *arguments)["groups"] == [], arguments
    assert dead(run, bank.url, "list", "--state", "dead", "--since", "yesterday", code=2)["code"] == "USAGE"


def test_replay_one_and_see_who_did_it(run: Run, bank: Bank) -> None:
    (job_id,) = bank.kill(1)
    assert dead(run, bank.url, "replay", job_id, "--as", "ann") == {"done": [job_id], "refused": []}
    shown = dead(run, bank.url, "show", job_id)
    assert (shown["state"], shown["replays"], shown["timeline"][-1]["by"]) == ("ready", 1, "ann")
    text = run("jobs", "show", job_id, "--database", bank.url).stdout
    for expected in ("replays", "attempt 1 failed", "by ann", "replay"):
        assert expected in text
    again = run("jobs", "replay", job_id, "--database", bank.url)
    assert again.exit_code == 1
    assert "is ready" in again.stderr


def test_what_is_not_there(run: Run, shop: Shop) -> None:
    for command in (
        ("show", UNKNOWN_ID),
        ("replay", UNKNOWN_ID),
        ("cancel", "x"),
        ("change", UNKNOWN_ID, "--payload", "{}"),
    ):
        result = run("jobs", *command, "--database", shop.url)
        assert result.exit_code == 3, command
        assert "[JOB_NOT_FOUND]" in result.stderr


def test_many_need_a_reason_and_an_answer(run: Run, bank: Bank) -> None:
    ids = bank.kill(2)
    for arguments in (
        ("replay",), ("cancel",), ("replay", *ids), ("replay", "--all"), ("replay", ids[0], "--all"),
        ("replay", ids[0], "--staged"), ("cancel", "--type", "charge"), ("purge", "--reason", "x"),
        ("purge", "--older-than", "1d"), ("purge", ids[0], "--reason", "x"), ("purge", ids[0], "--yes"),
        ("purge", ids[0], "--older-than", "1d", "--reason", "x", "--yes"), ("replay", "--all", "--reason", "x"),
    ):  # fmt: skip
        assert dead(run, bank.url, *arguments, code=2)["code"] == "USAGE", arguments
    no = run("jobs", "replay", "--all", "--reason", "x", "--database", bank.url, input="n\n")
    assert no.exit_code == 1
    assert "replay 2 dead jobs?" in no.stderr
    assert len(dead(run, bank.url, "list", "--state", "dead")["jobs"]) == 2
    yes = run("jobs", "replay", "--all", "--reason", "x", "--database", bank.url, input="y\n")
    assert yes.exit_code == 0
    assert "2 jobs replayed" in yes.stdout


def test_edit_checks_the_payload(run: Run, bank: Bank) -> None:
    (job_id,) = bank.kill(1)
    wrong = run("jobs", "change", job_id, "--payload", '{"order": "x"}', "--database", bank.url)
    assert wrong.exit_code == 1
    assert "[INVALID_ARGUMENTS]" in wrong.stderr
    changed = dead(run, bank.url, "change", job_id, "--payload", "-", input='{"order": 7}')
    assert (changed["state"], changed["payload"]) == ("dead", {"order": 7})
    replayed = dead(run, bank.url, "replay", job_id, "--payload", '{"order": 8}', "--reason", "typo")
    assert replayed["done"] == [job_id]
    shown = dead(run, bank.url, "show", job_id)
    assert (shown["state"], shown["payload"]) == ("ready", {"order": 8})


def test_staged_replay_stops_by_itself_and_goes_on_once_mended(run: Run, bank: Bank) -> None:
    bank.kill(15)
    arguments = ("replay", "--type", "charge", "--staged", "--reason", "try", "--yes", "--patience", "20s")
    with bank.working():
        stopped = dead(run, bank.url, *arguments, code=1)
        assert (stopped["revived"], stopped["stopped"]) == (1, "1 of 1 jobs of stage 1 failed again")
        text = run("jobs", *arguments, "--database", bank.url)
        assert text.exit_code == 1
        assert "[REPLAY_STOPPED]" in text.stderr
        bank.broken = False
        mended = dead(run, bank.url, *arguments)
        assert (mended["revived"], mended["stopped"], mended["refused"]) == (15, None, [])
        assert [stage["succeeded"] for stage in mended["stages"]] == [1, 10, 4]
    assert dead(run, bank.url, "list", "--state", "dead")["jobs"] == []


def test_cancel_and_purge(run: Run, bank: Bank) -> None:
    ids = bank.kill(3)
    assert dead(run, bank.url, "cancel", ids[0])["cancelled"] == [ids[0]]
    assert dead(run, bank.url, "cancel", "--state", "dead", "--limit", "1", "--reason", "old", "--yes")["done"] == [
        ids[2]
    ]
    assert dead(run, bank.url, "purge", "--older-than", "1h", "--reason", "old", "--yes")["removed"] == 0
    asked = run("jobs", "purge", "--older-than", "0s", "--reason", "old", "--database", bank.url, input="y\n")
    assert "purge 1 dead jobs?" in asked.stderr
    assert "1 dead jobs purged" in asked.stdout
    listed = json.loads(run("audit", "--json", "--database", bank.url).stdout)["entries"]
    assert [(entry["action"], entry["details"]["count"]) for entry in listed] == [
        ("purge", 1), ("cancel", 1), ("cancel", 1),
    ]  # fmt: skip


def test_purge_by_id(run: Run, bank: Bank) -> None:
    ids = bank.kill(3)
    why = ("--reason", "it holds a name")
    dry = dead(run, bank.url, "purge", ids[0], ids[1], "--dry-run")
    assert (dry["removed"], dry["would_remove"], dry["refused"]) == (0, 2, [])
    assert dead(run, bank.url, "purge", "--older-than", "0s", "--dry-run")["would_remove"] == 3
    assert len(dead(run, bank.url, "list", "--state", "dead")["jobs"]) == 3
    assert dead(run, bank.url, "purge", ids[0], *why, "--yes")["removed"] == 1
    asked = run("jobs", "purge", *ids[:2], *why, "--database", bank.url, input="y\n")
    assert "purge 1 dead jobs?" in asked.stderr
    assert "1 dead jobs purged" in asked.stdout
    assert f"there is no job {ids[0]}" in asked.stderr
    assert asked.exit_code == 3
    assert [job["id"] for job in dead(run, bank.url, "list", "--state", "dead")["jobs"]] == ids[2:]


def test_audit_is_listed_and_verified(run: Run, shop: Shop) -> None:
    (dead,) = shop.work((shop.fail, {"text": "no"}))
    run("jobs", "replay", dead, "--reason", HOSTILE, "--database", shop.url)
    text = run("audit", "--database", shop.url).stdout
    assert "[bold red]x[/]" in text
    assert not any(character in text for character in "\x1b\x07\u202e\x9b")
    assert "none of them changed" in run("audit", "--verify", "--database", shop.url).stdout
    database = apsw.Connection(shop.url.removeprefix("sqlite:///"))
    database.execute("update audit set actor = 'nobody'")
    database.close()
    found = run("audit", "--verify", "--database", shop.url)
    assert found.exit_code == 1
    assert "entry 1 was edited" in found.stdout
    document = json.loads(run("audit", "--verify", "--json", "--database", shop.url).stdout)
    assert (document["sound"], document["entries"], document["flaws"][0]["entry"]) == (False, 1, 1)
