"""The page and its sessions: a key for a cookie, and what a cookie alone cannot do."""

import pytest

from fairlead.dashboard.files import POLICY
from fairlead.dashboard.sessions import COOKIE, SECURE_COOKIE
from tests.api.conftest import Api

OURS = {"X-Fairlead-Dashboard": "1"}


async def sign_in(api: Api, key: str) -> None:
    """Exchange a key for the client's cookie."""
    answer = await api.http.post("/dashboard/session", json={"key": key}, headers=OURS)
    assert answer.status_code == 200, answer.text


async def test_a_key_is_exchanged_for_a_cookie_that_scripts_cannot_read(api: Api) -> None:
    answer = await api.http.post("/dashboard/session", json={"key": api.admin}, headers=OURS)
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"{COOKIE}=")
    assert api.admin not in cookie
    assert api.admin.split("_")[2] not in cookie
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(cookie.split("; "))
    assert answer.json()["scopes"] == ["admin", "enqueue", "operate", "read"]
    assert (await api.http.get("/dashboard/session")).json()["name"] == "tests"
    assert (await api.http.get("/v1/types")).status_code == 200


@pytest.mark.parametrize(("origin", "secure"), [("https://jobs.example.org", True), ("http://127.0.0.1:8377", False)])
async def test_behind_a_proxy_that_speaks_https_the_cookie_never_travels_open(
    api: Api, origin: str, secure: bool
) -> None:
    headers = {**OURS, "Origin": origin, "Host": origin.partition("://")[2]}
    answer = await api.http.post("/dashboard/session", json={"key": api.admin}, headers=headers)
    cookie = answer.headers["set-cookie"]
    assert ("Secure" in cookie.split("; ")) is secure
    assert cookie.startswith(SECURE_COOKIE if secure else COOKIE)
    assert "Path=/" in cookie.split("; ")


async def test_what_changes_something_needs_more_than_the_cookie(api: Api) -> None:
    await sign_in(api, api.admin)
    path, body = "/v1/settings/pause/type:mail", {"reason": "a flood"}
    assert (await api.http.put(path, json=body)).status_code == 401
    for forged in (
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://evil.example"},
    ):
        assert (await api.http.put(path, json=body, headers={**OURS, **forged})).status_code == 401
    own = {"Sec-Fetch-Site": "same-origin", "Origin": "http://api"}
    assert (await api.http.put(path, json=body, headers={**OURS, **own})).status_code == 200


async def test_a_session_may_do_what_its_key_may(api: Api) -> None:
    await sign_in(api, await api.key("read", tenant="acme"))
    assert (await api.http.get("/v1/jobs")).status_code == 200
    assert (await api.http.get("/v1/status")).status_code == 403
    job_id = await api.submit(tenant="acme")
    assert (await api.http.delete(f"/v1/jobs/{job_id}", headers=OURS)).status_code == 403


async def test_signing_out_ends_the_session(api: Api) -> None:
    await sign_in(api, api.admin)
    assert (await api.http.delete("/dashboard/session", headers=OURS)).status_code == 204
    assert (await api.http.get("/dashboard/session")).status_code == 401


async def test_a_revoked_key_ends_its_sessions(api: Api) -> None:
    key = await api.key("read")
    await sign_in(api, key)
    key_id = key.split("_")[1]
    assert (await api.call("POST", f"/v1/keys/{key_id}/revoke")).status_code == 200
    assert (await api.http.get("/v1/types")).status_code == 401


@pytest.mark.parametrize("body", [{"key": "flk_nope"}, {"key": ""}])
async def test_what_is_no_key_is_refused(api: Api, body: dict[str, str]) -> None:
    answer = await api.http.post("/dashboard/session", json=body, headers=OURS)
    assert (answer.status_code, answer.json()["code"]) == (401, "KEY_NEEDED")
    assert "set-cookie" not in answer.headers


async def test_another_site_cannot_sign_a_browser_in(api: Api) -> None:
    assert (await api.http.post("/dashboard/session", json={"key": api.admin})).status_code == 401


@pytest.mark.parametrize("path", ["/dashboard/", "/dashboard/jobs/x", "/dashboard/..%2f..%2fetc%2fpasswd"])
async def test_every_place_of_the_page_is_served_under_a_strict_policy(api: Api, path: str) -> None:
    answer = await api.http.get(path)
    assert answer.status_code == 200
    assert answer.headers["content-security-policy"] == POLICY
    assert "unsafe" not in POLICY
    assert answer.headers["content-type"].startswith("text/html")
    assert "Fairlead" in answer.text


async def test_the_root_leads_to_the_page(api: Api) -> None:
    answer = await api.http.get("/")
    assert (answer.status_code, answer.headers["location"]) == (307, "/dashboard/")
