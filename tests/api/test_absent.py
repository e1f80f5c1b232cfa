"""What nobody knows cannot be removed, reset, resumed, closed or released: each route answers with 404."""

from typing import Any

import pytest

from tests.api.conftest import Api

WHY = {"reason": "a test"}
ABSENT: list[tuple[str, str, dict[str, Any] | None]] = [
    ("DELETE", "/v1/tenants/nobody", None),
    ("DELETE", "/v1/pools/nobody", None),
    ("DELETE", "/v1/pools/short", None),
    ("DELETE", "/v1/retry-budgets/nobody", None),
    ("DELETE", "/v1/limits/tenant/nobody", None),
    ("DELETE", "/v1/backpressure/depths/tenant/nobody", None),
    ("DELETE", "/v1/backpressure/rates/tenant/nobody", None),
    ("DELETE", "/v1/backpressure/overload", None),
    ("POST", "/v1/pauses/resume", {"scope": "tenant", "name": "nobody", **WHY}),
    ("POST", "/v1/breakers/open", {"name": "nobody", **WHY}),
    ("POST", "/v1/breakers/close", {"name": "nobody", **WHY}),
    ("POST", "/v1/quarantines/release", {"type": "nobody", **WHY}),
    ("DELETE", "/v1/schedules/nobody", None),
    ("DELETE", "/v1/callbacks/nobody", None),
    ("DELETE", "/v1/keys/0123456789", None),
]


@pytest.mark.parametrize(("method", "path", "body"), ABSENT)
async def test_what_is_not_there_is_not_found(api: Api, method: str, path: str, body: dict[str, Any] | None) -> None:
    answer = await api.call(method, path, json=body)
    assert answer.status_code == 404, answer.text
    problem = answer.json()
    assert problem["code"] == "NOT_SET" or problem["code"].endswith("_NOT_FOUND")
    assert ";" in problem["detail"], "it says what to do"
