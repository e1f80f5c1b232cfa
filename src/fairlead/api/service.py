"""The state of a server process: one client, caches, streams, and the sessions of browsers."""

import asyncio
import contextlib
import time
from collections.abc import Callable

from fairlead.api.allowance import Allowance
from fairlead.api.following import Follower
from fairlead.api.key_cache import KeyCache
from fairlead.app import App
from fairlead.client.client import Client
from fairlead.config import Settings
from fairlead.dashboard.sessions import Sessions
from fairlead.errors import StoreError
from fairlead.insight.job_explanation import StartEstimate
from fairlead.insight.system_status import StatusFeed
from fairlead.insight.type_cache import TypeCache
from fairlead.records.store import Store

CHORES_EVERY = 30.0
FORGET = 1_000


class Service:
    """The API's side of an app. It opens itself at the first request, since a mounted application is not told to."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.settings: Settings = app.settings
        self.allowance = Allowance(app.settings.api_rate)
        self.sessions = Sessions()
        self.why_not_ready: Callable[[], str | None] = lambda: None
        self.proxies = app.settings.trusted_proxies
        self.client: Client
        self.store: Store
        self.keys: KeyCache
        self.types: TypeCache
        self.estimate: StartEstimate
        self.follower: Follower
        self.feed: StatusFeed
        self._opening = asyncio.Lock()
        self._is_open = False
        self._next_chores = 0.0
        self._chores: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Connect, and register the app's types as its workers do."""
        async with self._opening:
            if self._is_open:
                return
            self.client = await self.app.client()
            self.store = self.client.store
            registry = self.app.registry
            if registry:
                await self.store.types.register([registry[name].job_type() for name in registry])
            self.keys = KeyCache(self.store)
            self.types = TypeCache(self.store)
            self.estimate = StartEstimate(self.store)
            self.follower = Follower(self.store, self.settings.api_followers)
            self.feed = StatusFeed(self.store)
            self._next_chores = time.monotonic() + CHORES_EVERY
            self._is_open = True

    async def ready(self) -> None:
        """Be open, and start what is to be done now and then."""
        if not self._is_open:
            await self.open()
        if time.monotonic() > self._next_chores and self._chores is None:
            self._next_chores = time.monotonic() + CHORES_EVERY
            self._chores = asyncio.create_task(self._do_chores(), name="fairlead-api-chores")

    def stop_following(self) -> None:
        """Let streams and waits end, so that the server can."""
        if self._is_open:
            self.follower.close()
            self.feed.close()

    async def close(self) -> None:
        """End what goes on, and write down what is remembered; the app stays open."""
        if not self._is_open:
            return
        self._is_open = False
        self.follower.close()
        self.feed.close()
        if self._chores is not None:
            await asyncio.wait([self._chores])
        await self._do_chores()
        await self.keys.close()

    async def _do_chores(self) -> None:
        try:
            with contextlib.suppress(StoreError):
                await self.keys.write_uses()
                await self.store.responses.prune(FORGET)
        finally:
            self._chores = None
