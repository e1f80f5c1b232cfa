"""The loop that runs a service: pauses, back-off, stop. Services with a leader run on the leader only."""

import asyncio
import contextlib
import logging
import random
from typing import Protocol

from fairlead.errors import FairleadError, StoreError
from fairlead.records.store import Store
from fairlead.runtime.outage import Outage
from fairlead.scheduler.leader import Leader
from fairlead.telemetry.events import ServiceFailed, Telemetry

AFTER_FAILURE = 5.0

_log = logging.getLogger("fairlead")


class Service(Protocol):
    """One background duty."""

    name: str

    async def run_once(self) -> float:
        """Do the due work; returns the seconds until the next run."""


class ServiceHost:
    """Runs services until cancelled; without a leader, in every process."""

    def __init__(self, store: Store, services: list[Service], leader: Leader | None, telemetry: Telemetry) -> None:
        self._store = store
        self._services = services
        self._leader = leader
        self._telemetry = telemetry
        self._wakes = {service.name: asyncio.Event() for service in services}

    def wake(self, name: str) -> None:
        """Run a service now."""
        self._wakes[name].set()

    def look_for_lead(self) -> None:
        """Ask for the lead at once; services without a leader run at once."""
        if self._leader is not None:
            if self._leader.term:
                return
            self._leader.hint()
        for event in self._wakes.values():
            event.set()

    async def run(self) -> None:
        """Run all services until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                for service in self._services:
                    group.create_task(self._run(service), name=f"fairlead-{service.name}")
        finally:
            if self._leader is not None:
                await self._leader.resign()

    async def _run(self, service: Service) -> None:
        trouble = Outage(self._telemetry, service.name)
        while True:
            try:
                pause = await self._once(service)
                trouble.over()
            except StoreError as error:
                await trouble.pause(error)
                continue
            except Exception as error:
                self._report(service.name, error)
                pause = AFTER_FAILURE * random.uniform(0.9, 1.1)
            await self._sleep(service.name, pause)

    def _report(self, name: str, error: Exception) -> None:
        """Report a service's error; the service is run again, and others go on."""
        if isinstance(error, FairleadError):
            self._telemetry.emit(ServiceFailed(name, str(error)))
            return
        self._telemetry.emit(ServiceFailed(name, f"{type(error).__name__}: {error}"))
        _log.error("the service %s failed; this is a defect in Fairlead: please report it", name, exc_info=error)

    async def _once(self, service: Service) -> float:
        """Run the service if this process leads; returns the pause, for followers with a random part."""
        if self._leader is None or await self._leader.leads():
            return await service.run_once()
        return self._leader.pause() * random.uniform(1.0, 1.05)

    async def _sleep(self, name: str, seconds: float) -> None:
        event = self._wakes[name]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await event.wait()
        event.clear()
