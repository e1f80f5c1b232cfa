"""Recurring schedules in a program: `app.schedules`."""

from collections.abc import Mapping
from typing import Any, Protocol, Unpack

from fairlead.client.client import Client
from fairlead.client.handler import Handler
from fairlead.client.job import Job
from fairlead.config import Settings
from fairlead.core.schedule.schedules import ScheduleRecord, ScheduleSpec
from fairlead.handlers.recurring import Terms, bare_schedule, handler_schedule, on_terms
from fairlead.handlers.registered import registered_marks
from fairlead.handlers.spec import Registry
from fairlead.recurring import changes as schedules
from fairlead.runtime.control_changes import Expected
from fairlead.runtime.operator import Operator, whoami

MOST_UPCOMING = 1000


class Owner(Protocol):
    """What schedules need of the application they belong to."""

    settings: Settings
    registry: Registry

    async def client(self) -> Client: ...


class Schedules:
    """Adds, changes and shows recurring schedules; `actor` and `reason` go into the audit."""

    def __init__(self, app: Owner) -> None:
        self._app = app

    async def add(
        self,
        name: str,
        expression: str,
        handler: Handler[..., Any] | str,
        payload: Mapping[str, Any] | None = None,
        *,
        actor: str | None = None,
        reason: str | None = None,
        **terms: Unpack[Terms],
    ) -> ScheduleRecord:
        """Make a schedule for a handler, or for a registered type by its name; it fires from now on."""
        client = await self._app.client()
        spec = await self._spec(client, name, expression, handler, payload, terms)
        await schedules.add(client.store, spec, _operator(actor, reason))
        return await self.get(name)

    async def change(
        self,
        name: str,
        *,
        expression: str | None = None,
        payload: Mapping[str, Any] | None = None,
        actor: str | None = None,
        reason: str | None = None,
        expected: Expected = None,
        of_tenant: str | None = None,
        **terms: Unpack[Terms],
    ) -> ScheduleRecord:
        """Change what is given and keep the rest, with the history of fires.

        Only if it is of an `expected` version; one that is not `of_tenant` is not found.
        """
        client = await self._app.client()
        given = None if payload is None else await self._payload(client, name, payload, of_tenant)

        def changed(spec: ScheduleSpec) -> ScheduleSpec:
            if given is None:
                return on_terms(spec, terms, expression)
            version, text, limits = given
            return on_terms(spec.of_version(version, limits), terms, expression, text)

        await schedules.change(client.store, name, changed, _operator(actor, reason), expected, of_tenant)
        return await self.get(name)

    async def pause(self, name: str, *, actor: str | None = None, reason: str | None = None) -> None:
        """Let it fire no more until it is resumed."""
        await schedules.pause((await self._app.client()).store, name, _operator(actor, reason))

    async def resume(self, name: str, *, actor: str | None = None, reason: str | None = None) -> None:
        """Let it fire again; what fell into the pause is not caught up."""
        await schedules.resume((await self._app.client()).store, name, _operator(actor, reason))

    async def run_now(self, name: str, *, actor: str | None = None, reason: str | None = None) -> Job:
        """Make a job of it now, whatever its timetable and its policies say."""
        client = await self._app.client()
        new = await schedules.run_now(client.store, name, _operator(actor, reason))
        return Job(client.itself, new.lane, new.id)

    async def remove(self, name: str, *, actor: str | None = None, reason: str | None = None) -> None:
        """Remove it with the record of its fires; its jobs stay."""
        await schedules.remove((await self._app.client()).store, name, _operator(actor, reason))

    async def list(self, limit: int = 100, after: str | None = None, tenant: str | None = None) -> list[ScheduleRecord]:
        """Schedules by name, of one tenant or of all, each with its next fire and its last; `after` continues."""
        return await schedules.list_schedules((await self._app.client()).store, limit, after, tenant=tenant)

    async def get(self, name: str, upcoming: int = 5, past: int = 20) -> ScheduleRecord:
        """A schedule with its next fires and its last ones; ScheduleNotFound if there is none."""
        return await schedules.get((await self._app.client()).store, name, min(upcoming, MOST_UPCOMING), past)

    async def _spec(
        self,
        client: Client,
        name: str,
        expression: str,
        handler: Handler[..., Any] | str,
        payload: Mapping[str, Any] | None,
        terms: Terms,
    ) -> ScheduleSpec:
        settings = self._app.settings
        tenant, limit = settings.default_tenant, settings.payload_limit
        type_name = handler if isinstance(handler, str) else handler.spec.name
        if type_name in self._app.registry:
            return handler_schedule(name, expression, self._app.registry[type_name], payload, terms, tenant, limit)
        found, text = await schedules.type_and_payload(client.store, type_name, payload, limit)
        bare = bare_schedule(name, expression, found.name, found.version, found.pool, tenant)
        marked = bare.of_version(found.version, registered_marks(found, payload or {}))
        return on_terms(marked, terms, payload=text)

    async def _payload(
        self, client: Client, name: str, payload: Mapping[str, Any], of_tenant: str | None
    ) -> tuple[int, str, str]:
        """The version of the type that the arguments fit, the arguments as they are stored, and their limits."""
        type_name = (await schedules.read(client.store, name, of_tenant)).spec.lane.type
        limit = self._app.settings.payload_limit
        if type_name in self._app.registry:
            handler = self._app.registry[type_name]
            text = handler.arguments.dump(payload, limit)
            return handler.version, text, handler.marks.of(text)
        found, text = await schedules.type_and_payload(client.store, type_name, payload, limit)
        return found.version, text, registered_marks(found, payload)


def _operator(actor: str | None, reason: str | None) -> Operator:
    return Operator(actor or whoami(), reason)
