"""An API on a store, keys for it, and jobs in every state."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from fairlead import App, Retry
from fairlead.api import create_app
from fairlead.core.jobs.model import Lane, Priority
from fairlead.core.jobs.states import State
from fairlead.operate.api_keys import create_key
from fairlead.records.store import Store
from fairlead.runtime.operator import Operator
from tests.contract.making import claim, failed, new_lease

MEMORY = "sqlite:///:memory:"
LANE = Lane("short", "acme", "mail", Priority.DEFAULT, 1)


def mail_app(url: str, **settings: Any) -> App:
    """An app with one type of job."""
    app = App(url, **settings)

    @app.handler("mail", retry=Retry(attempts=3, first="1h"))
    async def mail(to: str, copies: int = 1) -> str:
        if to == "nobody":
            raise ValueError("there is no such address")
        return f"sent to {to}" if len(to) < 1000 else f"sent to {to} with a receipt that is longer than the address"

    return app


class Api:
    """The API in this process, and what tests do with it."""

    def __init__(self, app: App, asgi: Any, http: httpx2.AsyncClient) -> None:
        self.app = app
        self.asgi = asgi
        self.http = http
        self.admin = ""

    @property
    def store(self) -> Store:
        """The store behind it."""
        store: Store = self.asgi.state.service.store
        return store

    async def key(self, *grants: str, tenant: str | None = None, **more: Any) -> str:
        """The text of a new key."""
        return (await create_key(self.store, Operator("tests"), "tests", grants, tenant, **more)).text

    async def call(self, method: str, path: str, key: str | None = None, **more: Any) -> httpx2.Response:
        """A request, with the admin's key unless another is given."""
        headers = {"Authorization": f"Bearer {self.admin if key is None else key}", **more.pop("headers", {})}
        return await self.http.request(method, path, headers=headers, **more)

    async def submit(self, payload: dict[str, Any] | None = None, **fields: Any) -> str:
        """Submit a job over HTTP; returns its id."""
        body = {"type": "mail", "payload": payload or {"to": "ann"}, "tenant": "acme", **fields}
        answer = await self.call("POST", "/v1/jobs", json=body)
        assert answer.status_code == 202, answer.text
        return str(answer.json()["id"])

    async def dead(self, **fields: Any) -> str:
        """Submit a job and let it die."""
        tenant = fields.get("tenant", "acme")
        job_id = await self.submit(**fields)
        for claimed in await claim(self.store, new_lease(), 100, LANE._replace(tenant=tenant)):
            await self.store.jobs.settle([failed(claimed, permanent=True)])
        record = await self.store.reader.read(job_id)
        assert record is not None
        assert record.state is State.DEAD
        return job_id


@asynccontextmanager
async def open_api(url: str, **settings: Any) -> AsyncIterator[Api]:
    """The API on the database of this URL."""
    async with mail_app(url, **settings) as app:
        asgi = create_app(app)
        await asgi.state.service.open()
        transport = httpx2.ASGITransport(app=asgi)
        async with httpx2.AsyncClient(transport=transport, base_url="http://api") as http:
            made = Api(app, asgi, http)
            made.admin = await made.key("admin")
            try:
                yield made
            finally:
                await asgi.state.service.close()


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    """The API on a store in memory."""
    async with open_api(MEMORY) as made:
        yield made


@pytest.fixture
async def any_api(store_url: str) -> AsyncIterator[Api]:
    """The API on each kind of store."""
    async with open_api(store_url) as made:
        yield made
