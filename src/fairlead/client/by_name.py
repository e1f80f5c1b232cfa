"""Submitting jobs by the name of their type, without the handler's code; checked by the registered schema."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from fairlead.client.client import Client
from fairlead.client.job import Job, jobs_in_hand
from fairlead.config import Settings
from fairlead.errors import InvalidArguments
from fairlead.handlers.options import OPTIONS, Options
from fairlead.handlers.registered import Registered, prepare


class NamedCall(NamedTuple):
    """A job to be submitted by the name of its type."""

    type_name: str
    payload: Mapping[str, Any]
    options: Options


def named_call(type_name: str, arguments: Mapping[str, Any] | None, keywords: Mapping[str, Any]) -> NamedCall:
    """Tell options from the handler's arguments; what is no option is an argument."""
    options = {name: value for name, value in keywords.items() if name in OPTIONS}
    others = {name: value for name, value in keywords.items() if name not in OPTIONS}
    twice = sorted(others.keys() & (arguments or {}).keys())
    if twice:
        raise InvalidArguments(f"the argument {twice[0]!r} of {type_name!r} is given twice")
    return NamedCall(type_name, {**(arguments or {}), **others}, Options().but(**options))


async def submit_by_name(client: Client, call: NamedCall) -> Job:
    """Submit a job of a registered type; its arguments are checked by the type's schema."""
    registered = await client.types.get(call.type_name)
    _require_one_meaning(registered, call)
    return await submit_registered(client, call.type_name, call.payload, call.options, client.settings)


async def submit_registered(
    client: Client,
    type_name: str,
    payload: Mapping[str, Any],
    options: Options,
    settings: Settings,
    attempts: int | None = None,
) -> Job:
    """The same, where it is known what the options are; `attempts` is the number of its retry policy."""
    registered = await client.types.get(type_name)
    job = prepare(registered, payload, options, settings, attempts)
    await client.require_callback(options)
    (submitted,) = jobs_in_hand(client.itself, [job], await client.submit([job]))
    return submitted


def _require_one_meaning(registered: Registered, call: NamedCall) -> None:
    """Refuse an option whose name is also that of an argument which was not given otherwise."""
    taken = registered.type.schema.get("properties") or {}
    usual = Options()
    for name in sorted(taken.keys() & set(OPTIONS) - call.payload.keys()):
        if getattr(call.options, name) != getattr(usual, name):
            raise InvalidArguments(
                f"{name!r} is an option and also an argument of {call.type_name!r}: give the arguments as a mapping, "
                f"as in app.enqueue({call.type_name!r}, {{{name!r}: ...}}, tenant=...)"
            )
