"""What nobody knows cannot be removed, reset, resumed, closed or released: each route answers with 404."""

from typing import Any

import pytest

from tests.api.conftest import Api

WHY = {"reason": "a test"}
ABSENT: list[tuple[str, str, dict[str, Any] | None]] = [
    ("DELETE", "/v1/settings/tenant/nobody", None),
    ("DELETE", "/v1/settings/pool/nobody", None),
    ("DELETE", "/v1/settings/pool/short", None),
    ("DELETE", "/v1/settings/budget/nobody", None),
    ("DELETE", "/v1/settings/limit/tenant:nobody", None),
    ("DELETE", "/v1/settings/depth/tenant:nobody", None),
    ("DELETE", "/v1/settings/submission/tenant:nobody", None),
    ("DELETE", "/v1/settings/overload/policy", None),
    ("DELETE", "/v1/settings/pause/tenant:nobody", WHY),
    ("PUT", "/v1/settings/breaker/nobody", {"value": {"phase": "open"}, **WHY}),
    ("DELETE", "/v1/settings/breaker/dependency:nobody", WHY),
    ("DELETE", "/v1/settings/quarantine/nobody", WHY),
    ("DELETE", "/v1/schedules/nobody", None),
    ("DELETE", "/v1/callbacks/nobody", None),
    ("POST", "/v1/keys/0123456789/revoke", None),
]


@pytest.mark.parametrize(("method", "path", "body"), ABSENT)
async def test_what_is_not_there_is_not_found(api: Api, method: str, path: str, body: dict[str, Any] | None) -> None:
    answer = await api.call(method, path, json=body)
    assert answer.status_code == 404, answer.text
    problem = answer.json()
    assert problem["code"] == "NOT_SET" or problem["code"].endswith("_NOT_FOUND")
    assert ";" in problem["detail"], "it says what to do"
