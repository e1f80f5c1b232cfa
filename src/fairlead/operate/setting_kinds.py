"""The kinds of run-time settings: how each is named, which fields it has, and what is shown beside it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from fairlead.core.durations import seconds
from fairlead.core.fairness.tenancy import ANYONE, TENANT, TIERS, Tenant, Tenants
from fairlead.core.jobs.model import Priority
from fairlead.core.jobs.pools import BUILT_IN, POOL, Pool
from fairlead.core.names import check_name
from fairlead.core.protection.backpressure import (
    DEPTH,
    OVERLOAD,
    POLICY,
    SUBMISSION,
    Action,
    Overload,
    checked_depth,
    overload,
    rule_name,
)
from fairlead.core.protection.breaker import BREAKER, Breaker, opened_by_hand
from fairlead.core.protection.controls import Controls, Value
from fairlead.core.protection.gates import PAUSE, pause_name
from fairlead.core.protection.limits import LIMIT, Bound, bound, limit_name
from fairlead.core.protection.quarantine import KIND as QUARANTINE
from fairlead.core.protection.quarantine import Quarantine, entry
from fairlead.core.protection.retry_budget import BEYOND, RetryBudget
from fairlead.core.protection.retry_budget import KIND as BUDGET
from fairlead.core.protection.run_counts import QUARANTINE as QUARANTINE_RUNS
from fairlead.core.protection.run_counts import TYPE, subject
from fairlead.core.protection.token_bucket import parse_rate, rate_limit
from fairlead.errors import ConfigError, NotSet, UnknownType
from fairlead.insight.breakers import breaker, full_name
from fairlead.operate import setting_views as views
from fairlead.operate.setting_fields import Field, Given, checked, meant, number, one_of, whole, yes
from fairlead.operate.setting_views import Views
from fairlead.records.store import Store
from fairlead.runtime.operator import Operator

NONE = ("none", "null", "")


class Wish(NamedTuple):
    """A setting that somebody wants: its name and checked fields, who asks, all controls, and the store's clock."""

    name: str
    fields: dict[str, Any]
    operator: Operator
    controls: Controls
    now: float


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of setting.

    `checked_name` returns the control's name or raises ConfigError, `value` the control's value of a wish. `views`
    returns what is in force by name, with the one asked for included. `known` refuses names of nothing that exists;
    `removed` runs after a removal.
    """

    name: str
    about: str
    example: str
    fields: tuple[Field, ...]
    checked_name: Callable[[str], str]
    value: Callable[[Wish], Value]
    views: Callable[[Store, Controls, str | None], Awaitable[Views]]
    scope: str = ""  # what a name without a scope of its own names, in the audit
    acts: tuple[str, str] = ("", "")  # the audit's words for setting and removing
    known: Callable[[Store, str], Awaitable[None]] | None = None
    removed: Callable[[Store, str], Awaitable[None]] | None = None

    @property
    def set_act(self) -> str:
        """The audit's word for setting."""
        return self.acts[0] or f"set {self.name}"

    @property
    def remove_act(self) -> str:
        """The audit's word for removing."""
        return self.acts[1] or f"remove {self.name}"

    def target(self, name: str) -> str:
        """What the audit calls the thing that is set: `tenant acme`."""
        return f"{self.scope} {name}" if self.scope else name.replace(":", " ", 1)

    def read(self, given: Given) -> dict[str, Any]:
        """The given fields, checked; None, and the text none, say that there is no such bound."""
        readers = {field.name: field.read for field in self.fields}
        for name in given:
            if name not in readers:
                raise ConfigError(f"{self.name} has no field {name!r}{meant(name, readers)}; {self._fields()}")
        return {
            name: None if value is None or value in NONE else checked(readers[name], name, value)
            for name, value in given.items()
        }

    def _fields(self) -> str:
        return f"its fields are {', '.join(field.name for field in self.fields)}" if self.fields else "it has none"


def scoped(check: Callable[[str, str], str], example: str) -> Callable[[str], str]:
    """Checks names of two parts, such as tenant:acme."""

    def checked(name: str) -> str:
        scope, colon, what = name.partition(":")
        if not colon:
            raise ConfigError(f"{name!r:.200} lacks its scope; write it like {example}")
        return check(scope, what)

    return checked


def named(kind: str, *more: str) -> Callable[[str], str]:
    """Checks names of one part."""
    return lambda name: name if name in more else check_name(kind, name)


def given(fields: Given) -> dict[str, Any]:
    """The fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


# The values of controls.


def _limit(wish: Wish) -> Value:
    unlimited = bool(wish.fields.pop("unlimited", False))
    value = {} if unlimited else given(wish.fields)
    if not unlimited and bound(value.get("concurrent"), value.get("rate"), value.get("burst")) == Bound():
        raise ConfigError("say what the limit is: concurrent=20, rate=100/s, or unlimited=yes")
    return value


def _depth(wish: Wish) -> Value:
    _check_tier(wish.name)
    return {"waiting": checked_depth(_needed(wish, "waiting"))}


def _submission(wish: Wish) -> Value:
    _check_tier(wish.name)
    return rate_limit(_needed(wish, "rate"), wish.fields.get("burst"))._asdict()


def _overload(wish: Wish) -> Value:
    usual = Overload(checked_depth(_needed(wish, "waiting"))).to_value()
    value = usual | given(wish.fields)
    return overload(value["waiting"], value["action"], value["below"], value["delay"]).to_value()


def _breaker(wish: Wish) -> Value:
    who = wish.operator
    return opened_by_hand(Breaker(), who.actor, who.reason or f"opened by {who.actor}", wish.now).value()


def _budget(wish: Wish) -> Value:
    unlimited = {"ratio": None} if "ratio" in wish.fields and wish.fields["ratio"] is None else {}
    return RetryBudget(**given(wish.fields) | unlimited).stored()


def _quarantine(wish: Wish) -> Value:
    attempts, who = wish.fields.get("attempts") or 0, wish.operator
    Quarantine(attempts=attempts)
    return entry(who.reason or f"put there by {who.actor}", who.actor, attempts)


def _pool(wish: Wish) -> Value:
    value = {name: value for name, value in wish.fields.items() if name != "estimate" or value is not None}
    (BUILT_IN.get(wish.name) or Pool(wish.name)).changed(value)
    return value


def _pause(wish: Wish) -> Value:
    return {"reason": wish.operator.reason or ""}


def _tenant(wish: Wish) -> Value:
    if wish.name == ANYONE and given(wish.fields).keys() - {"tier"}:
        raise ConfigError("tenants that nobody has set up have a tier, and no weight or minimum of their own")
    tier = Tenants(wish.controls).get(wish.name).tier
    return Tenant(wish.name, **{"tier": tier, **given(wish.fields)}).to_value()


def _check_tier(name: str) -> None:
    scope, _, tier = name.partition(":")
    if scope == "tier":
        one_of(*TIERS)(tier)


def _needed(wish: Wish, field: str) -> Any:
    if wish.fields.get(field) is None:
        raise ConfigError(f"say {field}; without it there is nothing to set")
    return wish.fields[field]


def _pause_name(scope: str, name: str) -> str:
    return pause_name(scope, check_name(scope, name))


# Names that must be of something that exists.


async def _known_pause(store: Store, name: str) -> None:
    scope, _, what = name.partition(":")
    if scope == "type":
        await _known_type(store, what)
    elif scope == "pool":
        await _known_pool(store, what)


async def _known_type(store: Store, name: str) -> None:
    known = [item.name for item in await store.types.all()]
    if name not in known:
        raise UnknownType(
            f"no type {name!r:.200} is registered{meant(name, known)}; a worker registers its types when it starts"
        )


async def _known_pool(store: Store, name: str) -> None:
    controls, types, workers = await store.controls.read(), await store.types.all(), await store.workers.all()
    known = {*BUILT_IN, *(item.pool for item in types), *(pool for item in workers for pool in item.info.pools)}
    known |= {item.name for item in controls.controls if item.kind == POOL}
    if name not in known:
        raise NotSet(f"there is no pool {name!r:.200}{meant(name, known)}; no type is in it, and no worker serves it")


async def _known_breaker(store: Store, name: str) -> None:
    await breaker(store, name)


async def _forget_breaker(store: Store, name: str) -> None:
    await store.run_counts.forget([name])


async def _forget_quarantine(store: Store, name: str) -> None:
    await store.run_counts.forget([subject(QUARANTINE_RUNS, name), subject(TYPE, name)])


_PER_SECOND = Field("rate", parse_rate, "how many in a time: 100/s, 600/m, 5/h")
_BURST = Field("burst", number, "how many at once after a quiet time")

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(
            LIMIT, "How many jobs of something run at once or start in a time, over all workers.", "tenant:acme",
            (
                Field("concurrent", whole, "how many may run at once; 0 stops all"), _PER_SECOND, _BURST,
                Field("unlimited", yes, "lift the limit that a handler declares"),
            ),
            scoped(limit_name, "type:mail, tenant:acme, pool:short, tenant+pool:acme+short, dependency:stripe"),
            _limit, views.limits,
        ),
        Kind(
            DEPTH, "How many jobs of a tenant may wait; more are refused.", "tenant:acme",
            (Field("waiting", whole, "how many jobs may wait"),),
            scoped(rule_name, "tenant:acme, tier:free or tenant:*"), _depth, views.depths,
        ),
        Kind(
            SUBMISSION, "How fast a tenant may submit; what goes beyond is refused.", "tenant:acme",
            (_PER_SECOND, _BURST),
            scoped(rule_name, "tenant:acme, tier:free or tenant:*"), _submission, views.submissions,
        ),
        Kind(
            OVERLOAD, "What becomes of low priorities while too many jobs are ready.", POLICY,
            (
                Field("waiting", whole, "how many ready jobs are an overload"),
                Field("action", one_of(*Action), "reject, defer or shed"),
                Field("below", one_of(*(item.word for item in Priority)), "jobs of a lower priority than this"),
                Field("delay", seconds, "by how much deferred jobs are put off"),
            ),
            one_of(POLICY), _overload, views.overloads, scope="overload",
        ),
        Kind(
            BREAKER,
            "A circuit breaker that is not closed, for all tenants or for one (type:send~acme); set it to open it by "
            "hand, remove it to close it.",
            "dependency:stripe", (Field("phase", one_of("open"), "open: nothing starts until it is removed"),),
            full_name, _breaker, views.breakers, acts=("open breaker", "close breaker"), known=_known_breaker,
            removed=_forget_breaker,
        ),
        Kind(
            BUDGET, "How many retries a tenant may have; what goes beyond is dead, or delayed.", "acme",
            (
                Field("ratio", number, "retries for each first attempt; none is no limit"),
                Field("floor", whole, "retries that are allowed in any case"),
                Field("window", seconds, "the time in which they are counted"),
                Field("beyond", one_of(*BEYOND), "dead or delay"),
            ),
            named("tenant"), _budget, views.budgets, scope="tenant", acts=("set retry budget", "reset retry budget"),
        ),
        Kind(
            QUARANTINE, "Types whose jobs have few attempts, or do not start, until somebody has a look.", "mail",
            (Field("attempts", whole, "how many attempts its jobs have; with 0 nothing starts"),),
            named("type"), _quarantine, views.quarantines, scope="type", acts=("quarantine", "release"),
            known=_known_type, removed=_forget_quarantine,
        ),
        Kind(
            POOL, "How long jobs of a pool should run and wait, and how many slots they may take.", "short",
            (
                Field("longest", seconds, "what its jobs should run at most"),
                Field("concurrency", whole, "the slots of one worker that its jobs may take"),
                Field("estimate", seconds, "what a job is charged first if its type never ran"),
                Field("wait", seconds, "the longest that its jobs should wait; else there is an alert"),
                Field("depth", whole, "how many should be ready at most; else there is an alert"),
                Field("attempts", whole, "how often jobs without a retry policy are tried"),
                Field("timeout", seconds, "when runs without a timeout are stopped"),
                Field("lease", seconds, "how long jobs of a dead worker wait at most"),
            ),
            named("pool"), _pool, views.pools, scope="pool",
        ),
        Kind(
            PAUSE, "Types, tenants and pools of which nothing starts.", "type:mail", (),
            scoped(_pause_name, "type:mail, tenant:acme or pool:short"),
            _pause, views.pauses, acts=("pause", "resume"), known=_known_pause,
        ),
        Kind(
            TENANT, "The tier and weight by which a tenant shares the workers; * is who was not set up.", "acme",
            (
                Field("tier", one_of(*TIERS), ", ".join(TIERS)),
                Field("weight", number, "a weight of its own instead of its tier's"),
                Field("minimum", number, "a part of each pool that it is guaranteed, such as 0.05"),
            ),
            named("tenant", ANYONE), _tenant, views.tenants, scope="tenant",
        ),
    )
}  # fmt: skip
