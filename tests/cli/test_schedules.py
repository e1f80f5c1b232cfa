"""`fairlead schedules`."""

import asyncio
import json
import re
from typing import Any

import pytest

from fairlead.core.schedule.fires import created
from fairlead.recurring import changes as control
from fairlead.runtime.operator import Operator
from tests.cli.conftest import HOSTILE, Run, Shop


def document(run: Run, shop: Shop, *arguments: str) -> Any:
    result = run("schedules", *arguments, "--json", "--database", shop.url)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def add(run: Run, shop: Shop, name: str = "hello", *more: str) -> Any:
    given = ("--when", "0 9 * * 1-5", "--type", "greet", "--payload", '{"name": "ada"}')
    return document(run, shop, "set", name, *given, *more)


def test_a_schedule_is_added_listed_and_shown(run: Run, any_shop: Shop) -> None:
    made = add(run, any_shop, "hello", "--tz", "Europe/Berlin", "--overlap", "skip", "--start-within", "1h")
    assert (made["type"], made["pool"], made["payload"]) == ("greet", "medium", {"name": "ada"})
    assert (made["tz"], made["overlap"], made["catch_up"]) == ("Europe/Berlin", "skip", "last")
    assert (made["state"], made["app"], made["start_within"], len(made["next_fires"])) == ("active", None, 3600.0, 5)
    (listed,) = document(run, any_shop, "list")["schedules"]
    assert document(run, any_shop, "list", "--tenant", "default")["schedules"] == [listed]
    assert document(run, any_shop, "list", "--tenant", "another")["schedules"] == []
    assert listed == {**made, "next_fires": made["next_fires"][:1]}
    text = run("schedules", "list", "--database", any_shop.url).stdout
    assert "0 9 * * 1-5" in text
    shown = run("schedules", "show", "hello", "--database", any_shop.url).stdout
    assert "09:00:00 CE" in shown
    assert "next fires" in shown


def test_what_operators_do_is_done_and_audited(run: Run, any_shop: Shop) -> None:
    add(run, any_shop)
    changed = document(run, any_shop, "set", "hello", "--when", "@hourly", "--payload", '{"name": "bob"}')
    assert (changed["expression"], changed["payload"]) == ("@hourly", {"name": "bob"})
    on = ("--database", any_shop.url)
    assert run("pause", "schedule", "hello", "--as", "ann", "--reason", "a test", *on).exit_code == 0
    paused = document(run, any_shop, "show", "hello")
    assert (paused["state"], paused["next_fires"]) == ("paused", [])
    job = document(run, any_shop, "run-now", "hello")["job_id"]
    assert run("resume", "schedule", "hello", *on).exit_code == 0
    assert document(run, any_shop, "show", "hello")["state"] == "active"
    (fire,) = document(run, any_shop, "show", "hello")["fires"]
    assert (fire["job_id"], fire["manual"], fire["job_state"]) == (job, True, "ready")
    assert "fired by hand" in run("schedules", "show", "hello", "--database", any_shop.url).stdout
    assert document(run, any_shop, "remove", "hello") == {"name": "hello", "removed": True}
    entries = json.loads(run("audit", "--json", "--database", any_shop.url).stdout)["entries"]
    verbs = ["add", "change", "pause", "run now", "resume", "remove"]
    assert [entry["action"] for entry in reversed(entries)] == [f"schedule {verb}" for verb in verbs]
    assert (entries[3]["actor"], entries[3]["details"]["reason"]) == ("ann", "a test")
    assert run("audit", "--verify", "--database", any_shop.url).exit_code == 0


def test_commands_say_what_they_did(run: Run, shop: Shop) -> None:
    def say(*arguments: str) -> str:
        return run("schedules", *arguments, "--database", shop.url).stdout

    assert say("list") == "no schedules\n"
    given = ("--when", "@daily", "--type", "greet", "--payload", '{"name": "ada"}')
    assert say("set", "hello", *given).startswith("hello is set; next fire 2")
    assert say("set", "hello", "--tenant", "acme").startswith("hello is set; next fire 2")
    assert say("run-now", "hello").startswith("made job ")
    assert say("remove", "hello") == "hello is removed\n"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("show", "nothing"), 3, "no schedule 'nothing'"),
        (("set", "nothing", "--when", "@daily"), 3, "no schedule 'nothing'"),
        (("set", "x", "--when", "@daily", "--type", "nothing"), 3, "no job type"),
        (("set", "x", "--when", "99 * * * *", "--type", "greet", "--payload", '{"name": "a"}'), 1, "Bad minute"),
        (("set", "x", "--when", "@daily", "--type", "greet"), 1, "name"),
        (
            ("set", "x", "--when", "@daily", "--type", "greet", "--payload", '{"name": "a"}', "--tz", "Nowhere"),
            1,
            "time zone",
        ),
        (("set", "x y", "--when", "@daily", "--type", "greet", "--payload", '{"name": "a"}'), 1, "schedule"),
        (("set", "x", "--when", "@daily", "--type", "greet", "--payload", "{}", "--overlap", "perhaps"), 2, "perhaps"),
        (("set", "hello"), 2, "say what to set"),
    ],
)
def test_what_cannot_be_done_is_said(run: Run, shop: Shop, arguments: tuple[str, ...], code: int, words: str) -> None:
    add(run, shop)
    result = run("schedules", *arguments, "--database", shop.url)
    assert result.exit_code == code
    assert words in result.stderr
    assert len(document(run, shop, "list")["schedules"]) == 1


def test_the_type_of_a_schedule_is_not_changed(run: Run, shop: Shop) -> None:
    add(run, shop)
    result = run("schedules", "set", "hello", "--type", "fail", "--database", shop.url)
    assert (result.exit_code, "remove it first" in result.stderr) == (2, True)


def test_what_stands_in_the_database_cannot_steer_the_terminal(run: Run, shop: Shop) -> None:
    """A tenant's payload is shown as text, whatever it holds."""

    async def store_it() -> None:
        async with shop.app:
            made = await shop.app.schedules.add("hello", "@daily", shop.greet, {"name": HOSTILE})
            assert made.name == "hello"

    asyncio.run(store_it())
    for arguments in (("list",), ("show", "hello")):
        text = run("schedules", *arguments, "--database", shop.url).stdout
        assert not {character for character in text if not character.isprintable()} - {"\n"}


def test_missed_fires_are_shown(run: Run, shop: Shop) -> None:
    async def miss() -> None:
        async with shop.app:
            store = await shop.app.store()
            await shop.app.schedules.add("hello", "every 10s", shop.greet, {"name": "ada"})
            (schedule,) = await store.schedules.read(["hello"])
            old = created(schedule.spec, None, schedule.handled_until - 100)
            write = old._replace(seen=schedule.version)
            note = Operator("ann").note("test", "hello")
            assert await store.schedules.write(write, note)
            await control.pause(store, "hello", Operator("ann"))

    asyncio.run(miss())
    shown = run("schedules", "show", "hello", "--database", shop.url).stdout
    assert re.search(r"missed \(1[01] up to then\)", shown)


def test_its_jobs_can_have_a_policy_and_a_callback(run: Run, shop: Shop) -> None:
    policy = '{"backoff": "fixed", "first": "10s", "attempts": 3, "jitter": "none"}'
    options = add(run, shop, "nightly", "--retry", policy, "--callback", "orders")["options"]
    assert (options["retry"]["first"], options["callback"]) == (10.0, "orders")
