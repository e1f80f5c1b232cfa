"""Bodies made to hurt: none is an error of ours, and none leaves memory behind."""

import gc
import json
import os
import random
from typing import Any

import psutil
import pytest

from tests.api.conftest import Api

BODIES = int(os.environ.get("FAIRLEAD_HOSTILE_BODIES", "150"))
MOST_GROWTH = 50 * 1024 * 1024
TARGETS = (
    "POST /v1/jobs",
    "POST /v1/jobs/batch",
    "PATCH /v1/jobs/{id}",
    "POST /v1/dead-letters/replay",
    "POST /v1/keys",
    "POST /v1/schedules",
    "PATCH /v1/schedules/daily",
    "PUT /v1/settings/tenant/acme",
    "PATCH /v1/settings/pool/short",
    "PUT /v1/settings/limit/type:mail",
    "PUT /v1/settings/submission/tenant:rival",
    "PUT /v1/settings/overload/policy",
    "PUT /v1/settings/budget/acme",
    "DELETE /v1/jobs/{id}",
)
FIELDS = (
    "value",
    "type",
    "payload",
    "tenant",
    "run_at",
    "run_in",
    "priority",
    "jobs",
    "ids",
    "filter",
    "reason",
    "name",
    "scopes",
    "expression",
    "tz",
    "tier",
    "weight",
    "concurrency",
    "concurrent",
    "rate",
    "burst",
    "waiting",
    "delay",
    "ratio",
    "window",
)
TEXTS = (
    "",
    "a",
    "\x00",
    "\ud800",
    "\udfff\ud800",
    "💥" * 1_000,
    "9" * 5_000,
    "2030-01-01T00:00:00Z",
    "../../etc",
    "' or 1=1 --",
)
NUMBERS = (0, -1, 2**63, -(2**64), 10**400, 1e308, float("inf"), float("nan"), 1e-320, True, None)


def hostile_value(rng: random.Random, depth: int = 0) -> Any:
    """Something that nobody sends by accident."""
    kind = rng.randrange(8 if depth < 6 else 3)
    if kind == 0:
        return rng.choice(TEXTS)
    if kind in (1, 2):
        return rng.choice(NUMBERS)
    if kind in (3, 4):
        return [hostile_value(rng, depth + 1) for _ in range(rng.randrange(6))]
    if kind == 5:
        return "x" * rng.choice((1, 70_000, 200_000))
    return {hostile_name(rng): hostile_value(rng, depth + 1) for _ in range(rng.randrange(8))}


def hostile_name(rng: random.Random) -> str:
    return rng.choice(FIELDS) if rng.random() < 0.8 else rng.choice(TEXTS)


def hostile_body(rng: random.Random) -> bytes:
    """A body: JSON with hostile values, JSON that is no JSON, or noise."""
    kind = rng.randrange(10)
    if kind == 0:
        return rng.randbytes(rng.randrange(2_000))
    if kind == 1:
        opening = rng.choice((b"[", b'{"a":', b'{"payload":{"a":'))
        return opening * rng.choice((65, 300, 100_000))
    if kind == 2:
        return b'{"payload":[' + b"[]," * rng.choice((100, 100_000)) + b"1]}"
    if kind == 3:
        return b'{"type":"mail","payload":{"to":' + b"1" * rng.choice((30, 5_000, 100_000)) + b"}}"
    value = {"type": "mail", "payload": hostile_value(rng)} if rng.random() < 0.5 else hostile_value(rng)
    body = json.dumps(value).encode()
    if kind == 4:
        cut = rng.randrange(len(body) + 1)
        return body[:cut]
    if kind == 5:
        place = rng.randrange(len(body) + 1)
        return body[:place] + rng.randbytes(3) + body[place:]
    return body


async def send(api: Api, job_id: str, rng: random.Random) -> None:
    method, path = rng.choice(TARGETS).replace("{id}", job_id).split(" ")
    kind = rng.choice(
        ("application/json", "application/json", "application/json", "application/json; charset=utf-7", "text/x")
    )
    body = hostile_body(rng)
    answer = await api.call(method, path, content=body, headers={"Content-Type": kind})
    assert answer.status_code < 500, (method, path, body[:200], answer.text)
    if answer.status_code >= 400:
        assert answer.headers["content-type"] == "application/problem+json", (path, body[:200])
        assert answer.json()["code"]


@pytest.mark.timeout(1800)
async def test_no_body_is_an_error_of_ours(api: Api) -> None:
    rng, job_id = random.Random(20261115), await api.submit()
    for _ in range(min(BODIES, 100)):  # what is made once is made now
        await send(api, job_id, rng)
    gc.collect()
    before = psutil.Process().memory_info().rss
    for _ in range(BODIES):
        await send(api, job_id, rng)
    gc.collect()
    assert psutil.Process().memory_info().rss - before < MOST_GROWTH
