"""Policies that are kept as data, and may have been written by a newer version that runs beside this one."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

from fairlead.errors import ConfigError

Policy = TypeVar("Policy")


def restored(kind: type[Policy], data: Mapping[str, Any]) -> Policy:
    """The policy, as far as this version knows it: without fields that it does not know, and where one has a value that
    it cannot take, the usual policy. An older worker goes on then, rather than fail at every job."""
    known = {item.name for item in fields(kind)}  # type: ignore[arg-type]
    try:
        return kind(**{name: value for name, value in data.items() if name in known})
    except (ConfigError, TypeError, ValueError):
        return kind()
