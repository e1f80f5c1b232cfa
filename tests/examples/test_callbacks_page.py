"""The receiver on the page about callbacks takes what a worker sends, and nothing else."""

import ast
import inspect
import re
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest

from fairlead.core.web.egress import EgressRules
from fairlead.core.web.signatures import secret_of, signed_headers
from fairlead.operate.callbacks import add_endpoint
from fairlead.runtime.operator import Operator

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "callbacks.md"
SECRET = secret_of(b"s" * 32)


async def run(block: str, names: dict[str, Any]) -> None:
    code = compile(block, "callbacks.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    if inspect.isawaitable(awaited := eval(code, names)):
        await awaited


async def test_the_page_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FAIRLEAD_DATABASE_URL", "sqlite:///:memory:")
    monkeypatch.setenv("ORDERS_SECRET", SECRET)
    declare, submit, receive = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {"__name__": "page"}
    await run(declare, names)
    async with names["app"] as app:
        url = "https://shop.example.org/fairlead"
        await add_endpoint(await app.store(), Operator("tests"), EgressRules(), "orders", url, "acme")
        await run(submit, names)
    await run(receive, names)
    body = b'{"type":"job.succeeded","data":{"id":"7"}}'
    headers = signed_headers([SECRET], "msg_1", int(time.time()), body)
    transport = httpx2.ASGITransport(app=names["shop"])
    async with httpx2.AsyncClient(transport=transport, base_url="http://shop") as http:
        answers = [
            await http.post("/fairlead", content=content, headers=headers) for content in (body, body, body + b" ")
        ]
    assert [answer.status_code for answer in answers] == [204, 204, 400]
    assert capsys.readouterr().out == "job.succeeded 7\n"
