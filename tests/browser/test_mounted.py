"""The dashboard of an API that is mounted below another path."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import uvicorn
from playwright.sync_api import Browser, expect
from starlette.applications import Starlette
from starlette.routing import Mount

from fairlead.api import create_app
from fairlead.api.serving import address_of, listen_on
from fairlead.core.web.api_keys import Grant
from fairlead.operate.api_keys import create_key
from fairlead.runtime.operator import Operator
from tests.api.conftest import MEMORY, mail_app


class Quiet(uvicorn.Server):
    """A server of a thread, where signals cannot be caught."""

    def install_signal_handlers(self) -> None:
        """Leave signals alone."""


@pytest.fixture
def mounted() -> Iterator[tuple[str, str]]:
    """The address of the mounted API, and a key for it."""
    ready, stops, found = threading.Event(), list[Callable[[], object]](), list[tuple[str, str]]()

    async def serve() -> None:
        async with mail_app(MEMORY) as app:
            api: Any = create_app(app)
            await api.state.service.open()
            outer = Starlette(routes=[Mount("/jobs-api", api)])
            listener = listen_on("127.0.0.1", 0)
            server = Quiet(uvicorn.Config(outer, lifespan="off", log_config=None, log_level="error"))
            stops.append(lambda: setattr(server, "should_exit", True))
            made = await create_key(await app.store(), Operator("tests"), "tests", [Grant.ADMIN])
            found.append((f"{address_of(listener)}/jobs-api", made.text))
            ready.set()
            await server.serve(sockets=[listener])
            await api.state.service.close()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), name="mounted")
    thread.start()
    assert ready.wait(60)
    yield found[0]
    for stop in stops:
        stop()
    thread.join()


def test_it_works_below_another_path(browser: Browser, mounted: tuple[str, str]) -> None:
    address, key = mounted
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{address}/dashboard/jobs#key={key}")
    expect(page.locator("h1")).to_have_text("Jobs")
    page.get_by_role("link", name="Types", exact=True).click()
    expect(page.locator("main")).to_contain_text("mail")
    assert page.url == f"{address}/dashboard/types"
    page.reload()
    expect(page.locator("main")).to_contain_text("mail")
    context.close()
