"""How many requests a key may send, and how often an address may send what is no key."""

import contextlib
import re

import pytest

from fairlead.api import allowance
from fairlead.api.allowance import FAILURES
from fairlead.api.problems import Problem
from fairlead.api.request_rates import Meter, Reading
from fairlead.core.protection.token_bucket import RateLimit
from fairlead.core.web.api_keys import make_text
from fairlead.operate.api_keys import create_key
from fairlead.runtime.operator import Operator
from tests.api.conftest import MEMORY, Api, open_api
from tests.support.settings import set_depth, set_rate

POLICY = re.compile(r'"(\w+)";q=(\d+)(?:;w=(\d+))?')
FIELD = re.compile(r'"(\w+)";r=(\d+);t=(\d+)')


async def slow_key(api: Api, rate: float) -> str:
    return (await create_key(api.store, Operator("tests"), "slow", ["read"], rate=rate)).text


def exhaust(api: Api, address: str) -> None:
    """Nothing is left of what this address may fail."""
    with contextlib.suppress(Problem):
        while True:
            api.asgi.state.service.allowance.count_failure(address)


def spend_all(api: Api) -> None:
    """Whatever came back meanwhile: nothing is left of what the address of the tests may fail."""
    exhaust(api, "127.0.0.1")


async def test_every_answer_to_a_key_says_what_is_left(api: Api) -> None:
    left = []
    for path in ("/v1/jobs", "/v1/nowhere", "/v1/jobs?limit=0"):
        answer = await api.call("GET", path)
        assert answer.headers["ratelimit-policy"] == '"key";q=10000;w=2'
        name, remaining, _ = FIELD.fullmatch(answer.headers["ratelimit"]).groups()  # type: ignore[union-attr]
        assert name == "key"
        left.append(int(remaining))
    assert all(9_990 < number < 10_000 for number in left)
    for path in ("/healthz", "/dashboard/session"):
        assert "ratelimit" not in (await api.http.get(path)).headers


async def test_a_key_that_sends_too_much_is_told_when_to_come_again(any_api: Api) -> None:
    key = await slow_key(any_api, 0.001)
    assert (await any_api.call("GET", "/v1/jobs", key)).headers["ratelimit"] == '"key";r=0;t=1000'
    refused = await any_api.call("GET", "/v1/jobs", key)
    assert (refused.status_code, refused.json()["code"]) == (429, "KEY_RATE_LIMIT_EXCEEDED")
    assert refused.headers["content-type"] == "application/problem+json"
    assert 990 <= int(refused.headers["retry-after"]) <= 1_000
    assert refused.headers["ratelimit-policy"] == '"key";q=1;w=1000'
    assert refused.headers["ratelimit"].startswith('"key";r=0;t=')
    assert (await any_api.call("GET", "/v1/jobs", await slow_key(any_api, 0.001))).status_code == 200


async def test_the_rate_of_all_keys_is_a_setting() -> None:
    async with open_api(MEMORY, api_rate=1.0) as api:
        answers = [await api.call("GET", "/v1/types") for _ in range(4)]
    assert answers[0].headers["ratelimit-policy"] == '"key";q=2;w=2'
    assert [answer.status_code for answer in answers][:2] == [200, 200]
    assert answers[-1].status_code == 429


async def test_a_key_is_made_with_a_rate_over_http(any_api: Api) -> None:
    body = {"name": "slow", "scopes": ["read"], "rate": 2.5}
    made = (await any_api.call("POST", "/v1/keys", json=body)).json()
    assert made["rate"] == 2.5
    assert (await any_api.call("GET", f"/v1/keys/{made['id']}")).json()["rate"] == 2.5
    assert (await any_api.call("GET", "/v1/types", made["key"])).headers["ratelimit-policy"] == '"key";q=5;w=2'
    assert (await any_api.call("POST", "/v1/keys", json={**body, "rate": 0})).status_code == 422


@pytest.mark.parametrize("bound", ["depth", "submission"])
async def test_a_refused_submission_names_the_bound(api: Api, bound: str) -> None:
    if bound == "depth":
        await set_depth(api.store, "tenant", "acme", 0, Operator("tests"))
    else:
        await set_rate(api.store, "tenant", "acme", "1/h", Operator("tests"))
        await api.submit()
    refused = await api.call("POST", "/v1/jobs", json={"type": "mail", "payload": {"to": "ann"}, "tenant": "acme"})
    assert refused.status_code == 429
    policies = {found[0]: found[1:] for found in POLICY.findall(refused.headers["ratelimit-policy"])}
    fields = {found[0]: found[1:] for found in FIELD.findall(refused.headers["ratelimit"])}
    assert policies.keys() == fields.keys() == {bound, "key"}
    assert policies[bound] == (("0", "") if bound == "depth" else ("1", "3600"))
    assert fields[bound] == ("0", refused.headers["retry-after"])


async def test_an_address_that_sends_many_keys_that_are_none_is_refused_soon(api: Api) -> None:
    await api.call("GET", "/v1/jobs")
    codes: list[tuple[int, str]] = []
    while not codes or codes[-1][0] == 401:
        answer = await api.call("GET", "/v1/jobs", "flk_wrong")
        codes.append((answer.status_code, answer.json()["code"]))
    assert codes[0] == (401, "KEY_NEEDED")
    assert codes[-1] == (429, "TOO_MANY_FAILURES")
    assert len(codes) > FAILURES.burst
    spend_all(api)
    assert (await api.call("GET", "/v1/jobs")).status_code == 200, "a key that was used here before is heard"
    assert (await api.http.get("/v1/jobs")).status_code == 401, "sending none is no failure"
    spend_all(api)
    unseen = await api.call("GET", "/v1/jobs", await api.key("read"))
    assert (unseen.status_code, "retry-after" in unseen.headers) == (429, True)
    spend_all(api)
    sign_in = await api.http.post("/dashboard/session", json={"key": "x"}, headers={"x-fairlead-dashboard": "1"})
    assert sign_in.status_code == 429


async def test_signing_in_with_keys_that_are_none_is_bounded_too(api: Api) -> None:
    async def sign_in(key: str) -> int:
        answer = await api.http.post("/dashboard/session", json={"key": key}, headers={"x-fairlead-dashboard": "1"})
        return answer.status_code

    codes = [await sign_in("flk_wrong")]
    while codes[-1] == 401:
        codes.append(await sign_in("flk_wrong"))
    assert codes[-1] == 429
    assert len(codes) > FAILURES.burst


async def test_made_up_keys_are_not_looked_up_for_an_address_that_failed_too_often(api: Api) -> None:
    letters = iter(range(10**9))
    asked = 0

    def choose(alphabet: str) -> str:
        return alphabet[(next(letters) * 7919) % len(alphabet)]

    read_keys = api.store.api_keys.read

    async def counted(ids: list[str]) -> object:
        nonlocal asked
        asked += len(ids)
        return await read_keys(ids)

    api.store.api_keys.read = counted  # type: ignore[method-assign, assignment]
    assert (await api.call("GET", "/v1/jobs", make_text(choose))).status_code == 401
    assert asked == 1
    for _ in range(3):
        spend_all(api)
        assert (await api.call("GET", "/v1/jobs", make_text(choose))).status_code == 429
    assert asked == 1


PROXY = "127.0.0.1"  # what the tests' requests come from


@pytest.fixture
def _slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an address may fail does not come back within a test."""
    monkeypatch.setattr(allowance, "FAILURES", RateLimit(rate=0.001, burst=5.0))


async def failing(api: Api, *forwarded: str) -> int:
    """The status of a request with a key that is none."""
    fields = [("x-forwarded-for", value) for value in forwarded]
    headers = [("authorization", "Bearer flk_wrong"), *fields]
    return (await api.http.get("/v1/jobs", headers=headers)).status_code


@pytest.mark.usefixtures("_slowly")
async def test_behind_a_trusted_proxy_each_client_has_a_bound_of_its_own() -> None:
    async with open_api(MEMORY, api_trusted_proxies=["127.0.0.0/8", "10.1.0.0/16"]) as api:
        exhaust(api, "203.0.113.5")
        assert await failing(api, "203.0.113.5") == 429
        assert await failing(api, "203.0.113.6") == 401
        assert await failing(api) == 401
        for lie in ("203.0.113.6, 203.0.113.5", "203.0.113.6,203.0.113.5, 10.1.2.3", "x, 203.0.113.5:99"):
            assert await failing(api, lie) == 429, "what the client wrote to the left counts for nothing"
        assert await failing(api, "203.0.113.6", "203.0.113.5") == 429
        exhaust(api, "2001:db8::/64")
        assert await failing(api, "2001:db8::1:2:3:4") == 429
        headers = {"x-fairlead-dashboard": "1", "x-forwarded-for": "203.0.113.5"}
        assert (await api.http.post("/dashboard/session", json={"key": "x"}, headers=headers)).status_code == 429
        headers["x-forwarded-for"] = "203.0.113.6"
        assert (await api.http.post("/dashboard/session", json={"key": "x"}, headers=headers)).status_code == 401


@pytest.mark.usefixtures("_slowly")
@pytest.mark.parametrize("trusted", [[], ["10.1.0.0/16"]])
async def test_a_header_of_one_who_is_not_trusted_changes_nothing(trusted: list[str]) -> None:
    async with open_api(MEMORY, api_trusted_proxies=trusted) as api:
        exhaust(api, PROXY)
        for number in range(5):
            assert await failing(api, f"203.0.113.{number}") == 429
        key = await api.key("read")
        assert (await api.call("GET", "/v1/jobs", key, headers={"x-forwarded-for": "10.1.0.1"})).status_code == 429


@pytest.mark.parametrize(
    ("trusted", "said", "secure"),
    [
        (["127.0.0.0/8"], "https", True),
        (["127.0.0.0/8"], "http", False),
        (["127.0.0.0/8"], "gopher", False),
        (["10.0.0.0/8"], "https", False),
        ([], "https", False),
    ],
)
async def test_the_cookie_is_for_https_only_where_a_trusted_proxy_says_that_it_speaks_it(
    trusted: list[str], said: str, secure: bool
) -> None:
    async with open_api(MEMORY, api_trusted_proxies=trusted) as api:
        headers = {"x-fairlead-dashboard": "1", "x-forwarded-proto": said}
        answer = await api.http.post("/dashboard/session", json={"key": api.admin}, headers=headers)
        assert answer.status_code == 200
        assert ("Secure" in answer.headers["set-cookie"]) is secure


def test_buckets_are_counted_by_name() -> None:
    now = 0.0
    meter, way = Meter(lambda: now, most=2), RateLimit(2.0, 3.0)
    assert [meter.take("a", way).left for _ in range(3)] == [2, 1, 0]
    assert meter.take("a", way) == Reading(0, 1.5, 0.5)
    assert meter.take("b", way).left == 2
    assert (meter.again_in("a", way), meter.again_in("b", way), meter.again_in("c", way)) == (0.5, 0.0, 0.0)
    now = 0.5
    assert meter.take("a", way) == Reading(0, 1.5, 0.0)
    now = 100.0
    assert meter.take("a", way).left == 2


def test_of_too_many_names_the_one_that_was_used_least_lately_is_forgotten() -> None:
    meter, way = Meter(lambda: 0.0, most=2), RateLimit(1.0, 1.0)
    for name in ("a", "b", "a", "c"):
        meter.take(name, way)
    assert meter.again_in("a", way) > 0
    assert meter.again_in("b", way) == 0
