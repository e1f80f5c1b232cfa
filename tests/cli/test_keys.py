"""`fairlead keys`: made once, listed without secrets, ended."""

import json

from fairlead.core.web.api_keys import key_id_of
from tests.cli.conftest import HOSTILE, Run, Shop


def test_a_key_is_printed_alone_so_that_scripts_can_keep_it(run: Run, any_shop: Shop) -> None:
    database = ("--database", any_shop.url)
    made = run("keys", "create", "shop front", "--scope", "enqueue", "--tenant", "acme", *database)
    text = made.stdout.strip()
    key_id = key_id_of(text)
    assert key_id
    assert text not in made.stderr
    (found,) = json.loads(run("keys", "list", "--json", *database).stdout)["keys"]
    assert (found["id"], found["name"], found["scopes"], found["tenant"]) == (key_id, "shop front", ["enqueue"], "acme")
    assert found["live"]
    listing = run("keys", "list", *database).stdout
    assert key_id in listing
    assert text[15:] not in listing + json.dumps(found) + run("audit", *database).stdout


def test_a_key_is_revoked(run: Run, shop: Shop) -> None:
    database = ("--database", shop.url)
    made = json.loads(run("keys", "create", "k", "--scope", "read", "--scope", "operate", "--json", *database).stdout)
    assert made["key"].startswith("flk_")
    ended = json.loads(run("keys", "revoke", made["id"], "--reason", "leaked", "--json", *database).stdout)
    assert ended["live"] is False
    assert "revoked" in run("keys", "list", *database).stdout
    assert run("keys", "revoke", "nobody", *database).exit_code == 3
    assert "leaked" in run("audit", *database).stdout


def test_what_cannot_be_a_key_is_refused(run: Run, shop: Shop) -> None:
    database = ("--database", shop.url)
    assert run("keys", "create", "k", *database).exit_code == 2
    assert run("keys", "create", "k", "--scope", "root", *database).exit_code == 2
    assert run("keys", "create", HOSTILE, "--scope", "read", *database).exit_code == 1
    assert run("keys", "create", "k", "--scope", "read", "--tenant", "a b", *database).exit_code == 1
    assert run("keys", "list", *database).stdout == "no keys\n"
    assert "revoke" in run("keys").stdout


def test_a_key_can_have_an_end(run: Run, shop: Shop) -> None:
    arguments = ("keys", "create", "k", "--scope", "read", "--expires-in", "30d", "--json", "--database", shop.url)
    assert json.loads(run(*arguments).stdout)["expires_at"]
