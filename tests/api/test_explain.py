"""Why a job waits, over HTTP and on every store: limits with their holders, shares, budgets, overloads."""

from typing import Any

from fairlead.core.fairness.ledger import Delivery, LedgerEntry
from fairlead.core.protection.backpressure import Action, Overload
from fairlead.core.protection.token_bucket import rate_limit
from fairlead.runtime.operator import Operator
from tests.api.conftest import LANE, Api
from tests.contract.making import claim, new_lease
from tests.support.settings import set_limit, set_overload

TESTS = Operator("tests")


async def explained(api: Api, job_id: str, key: str | None = None) -> dict[str, Any]:
    document: dict[str, Any] = (await api.call("GET", f"/v1/jobs/{job_id}/explain", key)).json()
    return {**document, "reasons": {reason["code"]: reason for reason in document["reasons"]}}


async def test_a_full_limit_names_who_holds_it(any_api: Api) -> None:
    api = any_api
    mine, theirs = await api.submit(), await api.submit(tenant="rival")
    for tenant in ("acme", "rival"):
        await claim(api.store, new_lease(), 1, LANE._replace(tenant=tenant))
    waiting = await api.submit()
    await set_limit(api.store, "type", "mail", TESTS, concurrent=2)
    told = (await explained(api, waiting))["reasons"]["LIMIT_FULL"]
    assert told["words"].startswith("the limit type:mail is full: 2 of 2 run")
    assert {holder["id"] for holder in told["data"]["holders"]} == {mine, theirs}
    shown = (await api.call("GET", "/v1/settings/limit/type:mail/holders")).json()
    assert {(holder["id"], holder["tenant"]) for holder in shown["holders"]} == {(mine, "acme"), (theirs, "rival")}
    bound = await explained(api, waiting, await api.key("read", tenant="acme"))
    assert [holder["id"] for holder in bound["reasons"]["LIMIT_FULL"]["data"]["holders"]] == [mine]
    assert theirs not in str(bound)
    assert bound["reasons"]["LIMIT_FULL"]["words"] == "the limit type:mail is full: 2 of 2 run"


async def test_a_rate_tells_when_there_is_room(any_api: Api) -> None:
    await set_limit(any_api.store, "tenant", "*", TESTS, rate="1/h", burst=1)
    job_id = await any_api.submit()
    assert "LIMIT_RATE" not in (await explained(any_api, job_id))["reasons"]
    await any_api.store.limits.take_tokens("tenant:acme", rate_limit("1/h", 1), 1, 1)
    told = (await explained(any_api, job_id))["reasons"]["LIMIT_RATE"]
    assert 3_500 < told["data"]["next_token_in"] <= 3_600
    assert told["data"]["tokens"] < 1
    await any_api.call("PUT", "/v1/settings/limit/tenant:acme", json={"value": {"concurrent": 0}})
    assert (await explained(any_api, job_id))["reasons"]["LIMIT_FULL"]["data"]["concurrent"] == 0


async def test_the_share_of_a_tenant_and_its_place_are_told(any_api: Api) -> None:
    api = any_api
    job_id = await api.submit()
    await api.submit(tenant="rival")
    await api.store.shares.record_usage([Delivery("short", "acme", 4.0)], [])
    (found,), minute = await api.store.shares.unsettled_ledger(600.0)
    await api.store.shares.settle_ledger([LedgerEntry(minute, "short", "acme", found.settled, found.delivered, 5.0, 1)])
    told = (await explained(api, job_id))["reasons"]["SHARE"]
    assert told["words"].startswith("tenant acme got 4 of the 5 slot-seconds it was due in pool short within 15m")
    assert (told["data"]["place"], told["data"]["waiting"], told["data"]["tier"]) == (1, 2, "standard")
    bound = (await explained(api, job_id, await api.key("read", tenant="acme")))["reasons"]["SHARE"]
    assert (bound["data"]["entitled"], bound["data"]["place"], bound["data"]["waiting"]) == (5.0, None, None)


async def test_a_job_that_an_overload_put_off_says_so(api: Api) -> None:
    await set_overload(api.store, Overload(0, Action.DEFER, delay=90.0), TESTS)
    job_id = await api.submit(priority="low", timeout=5.0)
    told = await explained(api, job_id)
    assert told["state"] == "scheduled"
    assert told["reasons"]["DEFERRED"]["data"] == {"seconds": 90.0}
