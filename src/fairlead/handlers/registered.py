"""Job types without their code: what workers have registered about them, and the jobs that can be made of that."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from pydantic_core import to_json

from fairlead.config import Settings
from fairlead.core.jobs.failure import CHANGEABLE, Policies, policies
from fairlead.core.jobs.job_records import JobType
from fairlead.core.jobs.model import NewJob
from fairlead.core.jobs.payload import check_payload
from fairlead.core.jobs.pools import Pools
from fairlead.core.jobs.retry import Retry
from fairlead.core.protection.controls import Controls
from fairlead.core.protection.limits import declared_marks
from fairlead.core.stored import restored
from fairlead.errors import ConfigError, InvalidArguments, UnknownType, UnsafePayload
from fairlead.handlers.options import Options, new_jobs, template
from fairlead.records.store import Store

if TYPE_CHECKING:
    import jsonschema_rs

MOST_PROBLEMS = 5
LONGEST_PROBLEM = 300
FRESH = 5.0  # seconds for which a type that was read is good
MOST_KNOWN = 1_000


class Registered(NamedTuple):
    """A registered type, its schema ready to check payloads, and the pool that its new jobs go to."""

    type: JobType
    validator: "jsonschema_rs.Draft202012Validator"
    pool: str


class KnownTypes:
    """The registered types that one client has read in the last seconds."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, tuple[float, Registered]] = {}

    async def get(self, name: str) -> Registered:
        """The type, with its schema ready and the pool of its new jobs; UnknownType where there is none."""
        read_at, known = self._known.get(name, (0.0, None))
        if known is None or time.monotonic() > read_at + FRESH:
            job_type = await registered_type(self._store, name)
            known = compiled(job_type, placed(job_type, await pools_of(self._store)))
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[name] = time.monotonic(), known
        return known


def prepare(
    registered: Registered,
    payload: Mapping[str, Any],
    options: Options,
    settings: Settings,
    attempts: int | None = None,
) -> NewJob:
    """The job that a submission asks for, checked by its type's schema."""
    job_type = registered.type
    text = dump_payload(job_type.name, payload, settings.payload_limit)
    check_payload_fits(registered, payload)
    if attempts is not None:
        options = options.but(retry=replace(retry_of(job_type), attempts=attempts))
    exact, marks = bool(job_type.settings.get("exact")), registered_marks(job_type, payload)
    shared = template(job_type.name, job_type.version, registered.pool, settings.default_tenant, options, exact, marks)
    (job,) = new_jobs(shared, [text], time.time())
    return job


async def pools_of(store: Store) -> Pools:
    """The pools as operators and services have set them."""
    controls = Controls()
    controls.follow((await store.controls.read()).controls)
    return Pools(controls)


def placed(job_type: JobType, pools: Pools) -> str:
    """The pool that new jobs of a type go to, by what is known of the pools."""
    fixed = job_type.settings.get("fixed_pool")
    return job_type.pool if fixed else pools.place(job_type.name, job_type.pool)


async def registered_type(store: Store, name: str) -> JobType:
    """What the store knows of a type; UnknownType lists those that it has."""
    types = {job_type.name: job_type for job_type in await store.types.all()}
    if name not in types:
        raise unknown_type(name, types)
    return types[name]


def unknown_type(name: str, types: Iterable[str]) -> UnknownType:
    """What is said to someone who names a type that the store does not have."""
    known = sorted(types)
    near = "".join(f"; did you mean {item!r}?" for item in get_close_matches(name, known, 1)) or ";"
    return UnknownType(
        f"there is no job type {name!r} in this database{near} registered are: {', '.join(known) or 'none'}. "
        "A worker registers its types when it starts"
    )


def retry_of(job_type: JobType) -> Retry:
    """The retry policy that a registered type declares."""
    declared = job_type.settings.get("retry")
    return restored(Retry, declared) if declared else Retry()


def policies_of(job_type: JobType) -> Policies:
    """All retry policies that a registered type declares."""
    declared = job_type.settings.get("policies") or {}
    known = {name: restored(Retry, policy) for name, policy in declared.items() if name in CHANGEABLE}
    return policies(retry_of(job_type), known)


def check_schema(job_type: JobType, payload: Mapping[str, Any]) -> None:
    """Raise InvalidArguments, naming each place, unless the payload fits the type's schema."""
    check_payload_fits(compiled(job_type), payload)


def compiled(job_type: JobType, pool: str | None = None) -> Registered:
    """The type with its schema made ready, its jobs to go to a pool; ConfigError where it has no schema."""
    import jsonschema_rs  # where it is needed, since a worker that only runs jobs does without

    try:
        validator = jsonschema_rs.Draft202012Validator(dict(job_type.schema), retriever=_refuse_reference)
    except ValueError as error:
        reason = str(error).partition("\n")[0]
        raise ConfigError(f"the registered schema of {job_type.name!r} cannot be used: {reason}") from None
    return Registered(job_type, validator, pool or job_type.pool)


def check_payload_fits(registered: Registered, payload: Mapping[str, Any]) -> None:
    """Raise InvalidArguments, naming each place, unless the payload fits."""
    given = payload if isinstance(payload, dict) else dict(payload)
    if registered.validator.is_valid(given):
        return
    problems = [_problem(error) for error in islice(registered.validator.iter_errors(given), MOST_PROBLEMS)]
    raise InvalidArguments(f"the arguments do not fit {registered.type.name!r}: {'; '.join(problems)}")


def dump_payload(type_name: str, payload: Mapping[str, Any], limit: int) -> str:
    """The payload as text that may be kept; an error says what cannot."""
    try:
        text = to_json(payload, inf_nan_mode="constants")
    except ValueError as error:
        raise UnsafePayload(f"the arguments of {type_name!r} cannot become JSON: {error}") from None
    return check_payload(text, limit)


def _problem(error: "jsonschema_rs.ValidationError") -> str:
    place = ".".join(map(str, error.instance_path)) or "arguments"
    message = error.message
    return f"{place}: {message if len(message) <= LONGEST_PROBLEM else message[:LONGEST_PROBLEM] + '…'}"


def _refuse_reference(uri: str) -> NoReturn:
    """A schema is complete in itself; nothing is fetched on behalf of what is stored."""
    raise ValueError(f"{uri} lies outside of the schema")


def registered_marks(job_type: JobType, payload: Mapping[str, Any], otherwise: str | None = None) -> str:
    """The marks of a job of a registered type, without its code; `otherwise` where only the code could tell."""
    declared = job_type.settings.get("limits") or []
    for limit in declared:
        if limit["key"] == "":
            if otherwise is not None:
                return otherwise
            raise ConfigError(
                f"the limit {limit['name']!r} of {job_type.name!r} has a key that only the handler's code can compute; "
                "declare the key as the name of a field (key='account_id') to submit without the code"
            )
    return declared_marks(declared, job_type.settings.get("needs") or [], payload)
