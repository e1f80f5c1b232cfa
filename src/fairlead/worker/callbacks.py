"""The deliveries of callbacks: the one job type that is Fairlead's own, in the registry of every worker.

It is not registered in the store like the types of an application, so nobody can submit such a job, or change what one
says before it is signed.
"""

import contextlib
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

from fairlead.config import Settings
from fairlead.core.jobs.failure import FailureClass
from fairlead.core.jobs.retry import Retry
from fairlead.core.protection.breaker import Breaker
from fairlead.core.protection.quarantine import Quarantine
from fairlead.core.web.callbacks import POOL, TYPE, VERSION, Delivered, Endpoint, Reply, audit_target, reply_of_status
from fairlead.core.web.signatures import signed_headers
from fairlead.errors import CallbackFailed, DeadLetter, Discard, EgressRefused, StoreError
from fairlead.handlers.context import Context
from fairlead.handlers.spec import HandlerSpec, Registry, declare
from fairlead.records.store import Store
from fairlead.runtime.operator import Operator

if TYPE_CHECKING:
    from fairlead.worker.egress import Answer, Sender

# Standard Webhooks asks for tries over some days, with longer and longer waits between them.
RETRY = Retry.after("5s", "1m", "5m", "30m", "2h", "5h", "10h", "14h", "20h", jitter="proportional", percent=20)
SPARE = 15.0  # beyond the time that a receiver has, for the store


def with_deliveries(registry: Registry, store: Store, settings: Settings) -> Registry:
    """The registry with deliveries in it, where what they need is installed: `pip install 'fairlead[callbacks]'`."""
    if find_spec("httpcore2") is None:
        return registry
    return registry.joined(delivery_spec(Deliverer(store, partial(_make_sender, settings)), settings))


def _make_sender(settings: Settings) -> "Sender":
    from fairlead.worker.egress import Sender  # imported with the first delivery; most workers have none

    return Sender(settings.egress, settings.callback_timeout)


def delivery_spec(deliverer: "Deliverer", settings: Settings) -> HandlerSpec:
    """The declaration of deliveries. One receiver that is away does not hold up others: no breaker, no quarantine."""
    return declare(
        TYPE,
        deliverer.deliver,
        pool=POOL,
        version=VERSION,
        timeout=settings.callback_timeout + SPARE,
        retry=RETRY,
        policies={FailureClass.TIMEOUT: RETRY},
        retention=None,
        upgrade=None,
        fixed_pool=True,
        breaker=Breaker.off(),
        quarantine=Quarantine.off(),
    )


DELIVERER = "callback delivery"  # as the audit names who disabled an endpoint


class Deliverer:
    """Sends what is to be told, and writes down what became of it."""

    def __init__(self, store: Store, make_sender: "Callable[[], Sender]") -> None:
        self._store = store
        self._make_sender = make_sender

    @cached_property
    def _sender(self) -> "Sender":
        return self._make_sender()

    async def deliver(
        self,
        context: Context,
        endpoint: str,
        owner: str,
        event: str,
        message: str,
        body: str,
        about: str | None = None,
    ) -> int:
        """Tell an endpoint of an event; returns the status of its answer."""
        known = await self._endpoint(owner, endpoint)
        tried = Delivered(context.job_id, about, message, event, context.attempt, None, 0.0, None)
        started = time.monotonic()
        try:
            answer = await self._post(known, message, body.encode())
        except (EgressRefused, CallbackFailed) as error:
            await self._log(known, tried._replace(took=time.monotonic() - started, error=str(error)))
            if isinstance(error, EgressRefused):
                raise DeadLetter(str(error)) from None
            raise
        await self._log(known, tried._replace(status=answer.status, took=answer.took, error=_refusal(answer)))
        await self._follow(known, answer)
        return answer.status

    async def _endpoint(self, owner: str, name: str) -> Endpoint:
        found = await self._store.callbacks.read([(owner, name)])
        if not found:
            raise Discard(f"the callback endpoint {name} was removed")
        if not found[0].enabled:
            raise Discard(f"the callback endpoint {name} is disabled: {found[0].why_disabled or 'by an operator'}")
        return found[0]

    async def _post(self, endpoint: Endpoint, message: str, body: bytes) -> "Answer":
        now = time.time()
        headers = signed_headers(endpoint.valid_secrets(now), message, int(now), body)
        return await self._sender.post(endpoint.url, headers, body)

    async def _log(self, endpoint: Endpoint, tried: Delivered) -> None:
        """The log is for people; where it cannot be written, the delivery counts all the same."""
        with contextlib.suppress(StoreError):
            await self._store.callbacks.log_delivery(endpoint, tried)

    async def _follow(self, endpoint: Endpoint, answer: "Answer") -> None:
        refusal = _refusal(answer)
        match reply_of_status(answer.status):
            case Reply.GONE:
                await _disable_gone(self._store, endpoint)
                raise DeadLetter(f"{refusal}; the callback endpoint {endpoint.name} is disabled now")
            case Reply.NEVER:
                raise DeadLetter(f"{refusal}; the same callback would get the same answer")
            case Reply.LATER:
                raise CallbackFailed(refusal or "", answer.retry_after)


def _refusal(answer: "Answer") -> str | None:
    return None if reply_of_status(answer.status) is Reply.TAKEN else f"the receiver answered {answer.status}"


async def _disable_gone(store: Store, endpoint: Endpoint) -> None:
    """Disable an endpoint that answered that it is gone, unless somebody has changed it since."""
    changed = replace(endpoint, enabled=False, why_disabled="it answered 410 Gone", version=endpoint.version + 1)
    note = Operator(DELIVERER, changed.why_disabled).note("disable callback", audit_target(endpoint))
    await store.callbacks.change(changed, endpoint, note)
