"""The gate: nothing without a key, nothing that is too much."""

import asyncio
import random
import re
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from fastapi.routing import APIRoute
from starlette.applications import Starlette
from starlette.routing import Mount

from fairlead.api import create_app, gate
from fairlead.api.endpoint import Endpoint
from fairlead.api.server import needs_of, require_needs
from fairlead.core.web.api_keys import make_text
from fairlead.errors import ConfigError, FairleadError, StoreUnavailable
from tests.api.conftest import MEMORY, Api, mail_app, open_api


def requests_of(api: Api) -> list[tuple[str, str]]:
    """Every method of every route, with something in the place of each parameter."""
    routes = [route for route in api.asgi.routes if isinstance(route, APIRoute)]
    assert len(routes) > 25
    return [(method, re.sub(r"{.*?}", "x", route.path)) for route in routes for method in route.methods or ()]


async def test_no_route_answers_without_a_key(api: Api) -> None:
    anonymous = set()
    for method, path in requests_of(api):
        if path.startswith("/dashboard"):
            continue  # the same files for everybody; tests/dashboard looks at its sessions
        answer = await api.http.request(method, path)
        if answer.status_code in (200, 307):
            anonymous.add(path)
            continue
        assert answer.status_code == 401, (method, path)
        assert answer.headers["www-authenticate"] == "Bearer"
        assert answer.json()["code"] == "KEY_NEEDED"
    assert anonymous == {"/healthz", "/readyz", "/"}


@pytest.mark.parametrize(
    "path",
    ["/dashboardx", "/nope", "/v1/healthz", "/xhealthz", "/healthz/", "/readyz/x", "/v1/openapi.json", "/%2Fhealthz"],
)
async def test_a_path_that_only_looks_harmless_needs_a_key(api: Api, path: str) -> None:
    assert (await api.http.get(path)).status_code == 401


@pytest.mark.parametrize("scheme", ["Bearer {}x", "Bearer", "Bearer  ", "Basic {}", "{}", "bearer flk_{}"])
async def test_what_is_not_a_key_is_refused(api: Api, scheme: str) -> None:
    answer = await api.http.get("/v1/types", headers={"Authorization": scheme.format(api.admin)})
    assert answer.status_code == 401


async def test_a_made_up_key_is_refused_like_no_key(api: Api) -> None:
    made_up = make_text(random.Random(1).choice)
    bare = (await api.http.get("/v1/types")).content
    assert (await api.call("GET", "/v1/types", made_up)).content == bare
    other = make_text(random.Random(2).choice)
    forged = api.admin[:15] + other[15:]  # another's id with a secret of one's own
    assert (await api.call("GET", "/v1/types", forged)).content == bare


async def test_a_key_that_has_ended_is_refused(api: Api) -> None:
    short = await api.key("read", expires_in=0.000001)
    assert (await api.call("GET", "/v1/types", short)).status_code == 401
    key = await api.key("read")
    assert (await api.call("GET", "/v1/types", key)).status_code == 200
    assert (await api.call("POST", f"/v1/keys/{key[4:14]}/revoke")).status_code == 200
    assert (await api.call("GET", "/v1/types", key)).status_code == 401


async def test_a_route_that_names_no_need_is_not_served(api: Api) -> None:
    @api.asgi.get("/forgotten")
    async def forgotten() -> None: ...

    with pytest.raises(ConfigError, match="/forgotten"):
        require_needs(api.asgi)


async def test_every_route_is_an_endpoint_of_ours(api: Api) -> None:
    routes = [route for route in api.asgi.routes if isinstance(route, APIRoute) and route.include_in_schema]
    assert [route.path for route in routes if not isinstance(route, Endpoint) or needs_of(route) is None] == []


async def test_answers_are_not_cached_and_not_sniffed(api: Api) -> None:
    for answer in (await api.call("GET", "/v1/types"), await api.http.get("/v1/types"), await api.call("GET", "/x")):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"


def body_of(size: int) -> bytes:
    return b'{"type":"mail","payload":{"to":"' + b"a" * size + b'"}}'


async def test_a_body_that_says_it_is_too_large_is_not_read(api: Api) -> None:
    was_read = False

    async def endless() -> AsyncIterator[bytes]:
        nonlocal was_read
        was_read = True
        yield b" " * 1_000

    headers = {"Content-Length": str(2**40), "Content-Type": "application/json"}
    answer = await api.call("POST", "/v1/jobs", headers=headers, content=endless())
    assert (answer.status_code, answer.json()["code"]) == (413, "BODY_TOO_LARGE")
    assert not was_read


async def test_a_body_that_does_not_say_its_size_is_read_up_to_the_limit() -> None:
    async with open_api(MEMORY, api_body_limit=10_000) as api:
        sent = 0

        async def endless() -> AsyncIterator[bytes]:
            nonlocal sent
            for _ in range(1_000):
                sent += 1_000
                yield b" " * 1_000

        answer = await api.call("POST", "/v1/jobs", headers={"Content-Type": "application/json"}, content=endless())
        assert (answer.status_code, answer.json()["code"]) == (413, "BODY_TOO_LARGE")
        answer = await api.call("PATCH", "/v1/jobs/x", headers={"Content-Type": "application/json"}, content=endless())
        assert answer.status_code == 413
        fitting = await api.call(
            "POST", "/v1/jobs", headers={"Content-Type": "application/json"}, content=body_of(9_900)
        )
        assert fitting.status_code == 202


async def test_a_payload_that_is_too_large_is_refused(api: Api) -> None:
    answer = await api.call("POST", "/v1/jobs", json={"type": "mail", "payload": {"to": "a" * 70_000}})
    assert (answer.status_code, answer.json()["code"]) == (413, "PAYLOAD_TOO_LARGE")


async def test_a_body_that_does_not_arrive_is_given_up(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "BODY_PATIENCE", 0.01)
    sent: list[Any] = []

    async def never() -> Any:
        await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"authorization", f"Bearer {api.admin}".encode()), (b"content-type", b"application/json")]
    scope = {
        "type": "http", "method": "POST", "path": "/v1/jobs", "raw_path": b"/v1/jobs", "query_string": b"",
        "headers": headers, "http_version": "1.1", "scheme": "http", "server": ("api", 80), "root_path": "",
    }  # fmt: skip
    await api.asgi(scope, never, send)
    assert sent[0]["status"] == 408


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"X-Long": "a" * 20_000}, 431, "HEADERS_TOO_LARGE"),
        ({"Content-Encoding": "gzip"}, 415, "ENCODING_REFUSED"),
        ({"Content-Type": "text/plain"}, 415, "JSON_NEEDED"),
    ],
)
async def test_other_limits(api: Api, headers: dict[str, str], status: int, code: str) -> None:
    answer = await api.call("POST", "/v1/jobs", headers={"Content-Type": "application/json", **headers}, content=b"{}")
    assert (answer.status_code, answer.json()["code"]) == (status, code)


async def test_an_address_that_is_too_long(api: Api) -> None:
    answer = await api.call("GET", f"/v1/jobs?cursor={'a' * 9_000}")
    assert (answer.status_code, answer.json()["code"]) == (414, "ADDRESS_TOO_LONG")


async def test_a_store_that_is_away_is_503_with_advice(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(*_: object, **__: object) -> Any:
        raise StoreUnavailable("the database at 10.1.2.3 cannot be reached")

    monkeypatch.setattr(api.store.api_keys, "read", away)
    assert (await api.http.get("/healthz")).status_code == 200
    assert (await api.http.get("/readyz")).status_code == 503  # it was not asked before
    api.asgi.state.service.keys.forget(api.admin[4:14])
    answer = await api.call("GET", "/v1/types")
    assert (answer.status_code, answer.json()["code"]) == (503, "STORE_UNAVAILABLE")
    assert answer.headers["retry-after"] == "1"
    assert "10.1.2.3" not in answer.text, "where the store is and who we are to it is nobody's concern"


async def test_it_can_be_mounted_in_another_application(api: Api) -> None:
    outer = Starlette(routes=[Mount("/jobs-api", api.asgi)])
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=outer), base_url="http://api") as http:
        assert (await http.get("/jobs-api/healthz")).status_code == 200
        assert (await http.get("/jobs-api/v1/types")).status_code == 401
        assert (await http.get("/healthz")).status_code == 404
        http.headers["Authorization"] = f"Bearer {api.admin}"
        made = await http.post("/jobs-api/v1/jobs", json={"type": "mail", "payload": {"to": "ann"}})
        assert made.headers["location"] == f"/jobs-api/v1/jobs/{made.json()['id']}"
        assert (await http.get(made.headers["location"])).status_code == 200


async def test_it_opens_itself_at_the_first_request() -> None:
    async with mail_app(MEMORY) as app:
        asgi = create_app(app)
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=asgi), base_url="http://api") as http:
            assert (await http.get("/readyz")).status_code == 200
        assert [job_type.name for job_type in await (await app.store()).types.all()] == ["mail"]
        await asgi.state.service.close()


async def test_an_error_of_ours_says_nothing_about_us(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: object) -> Any:
        raise RuntimeError("the password is hunter2")

    monkeypatch.setattr(api.asgi.state.service.client, "submit", broken)
    monkeypatch.setattr(api.store.workers, "all", broken)
    transport = httpx2.ASGITransport(app=api.asgi, raise_app_exceptions=False)
    headers = {"Authorization": f"Bearer {api.admin}"}
    async with httpx2.AsyncClient(transport=transport, base_url="http://api", headers=headers) as http:
        body = {"type": "mail", "payload": {"to": "ann"}}
        for answer in (await http.post("/v1/jobs", json=body), await http.get("/v1/workers")):
            assert (answer.status_code, answer.json()["code"]) == (500, "INTERNAL_ERROR")
            assert answer.headers["content-type"] == "application/problem+json"
            assert "hunter2" not in answer.text


async def test_what_says_when_to_come_again_is_429(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(FairleadError):
        code = "FULL"
        retry_after = 2.2

    async def full(*_: object) -> Any:
        raise Full("as many jobs wait as may")

    monkeypatch.setattr(api.asgi.state.service.client, "submit", full)
    answer = await api.call("POST", "/v1/jobs", json={"type": "mail", "payload": {"to": "ann"}})
    assert (answer.status_code, answer.json()["code"], answer.headers["retry-after"]) == (429, "FULL", "3")


async def test_a_parameter_that_comes_twice_is_refused_unless_it_may(api: Api) -> None:
    twice = await api.call("GET", "/v1/jobs?tenant=acme&tenant=rival")
    assert (twice.status_code, twice.json()["code"]) == (422, "REPEATED_PARAMETER")
    assert (await api.call("GET", "/v1/jobs?states=ready&states=dead")).status_code == 200
    assert (await api.call("GET", "/v1/jobs?tenants=acme")).json()["code"] == "UNKNOWN_PARAMETER"


async def test_a_process_that_stops_is_not_ready(api: Api) -> None:
    assert (await api.http.get("/readyz")).status_code == 200
    api.asgi.state.service.why_not_ready = lambda: "stopping"
    stopping = await api.http.get("/readyz")
    assert (stopping.status_code, stopping.json()) == (503, {"status": "stopping"})
    assert (await api.http.get("/healthz")).status_code == 200


@pytest.mark.parametrize("query", ["foo", "foo=", "=", "=x", "limit=5&Limit=5", "%00=1"])
async def test_a_parameter_that_is_not_known_is_refused_also_without_a_value(api: Api, query: str) -> None:
    answer = await api.call("GET", f"/v1/jobs?{query}")
    assert (answer.status_code, answer.json()["code"]) == (422, "UNKNOWN_PARAMETER")


@pytest.mark.parametrize(
    "text", ["1_0", "+5", "%205", "5%20", "05", "5.", "0x5", "true", "null", "", "%D9%A5", "inf", "nan"]
)
@pytest.mark.parametrize(
    "place", ["/v1/jobs?limit=", "/v1/audit?cursor=", "/v1/status/waits?seconds=", "/v1/shares?window="]
)
async def test_a_number_in_a_query_is_written_as_one(api: Api, place: str, text: str) -> None:
    answer = await api.call("GET", f"{place}{text}")
    assert (answer.status_code, answer.json()["code"]) == (422, "INVALID_REQUEST")
    assert answer.json()["errors"][0]["location"] == f"query.{place.partition('?')[2].rstrip('=')}"


@pytest.mark.parametrize("text", ["60", "60.5", "6e1", "6E+1", "600e-1"])
async def test_a_number_may_be_written_as_json_has_it(api: Api, text: str) -> None:
    assert (await api.call("GET", "/v1/status/waits", params={"seconds": text})).status_code == 200
