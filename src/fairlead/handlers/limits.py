"""The limits of a handler, and what a submission says of them: marks that become part of the job's lane."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic_core import from_json

from fairlead.core.jobs.job_records import JobType
from fairlead.core.names import check_name
from fairlead.core.protection.limits import MOST_LIMITS, Limit, declared_marks, field_of, marks
from fairlead.errors import ConfigError, InvalidArguments
from fairlead.handlers.arguments import Arguments

Limits = Limit | Sequence[Limit] | None


class Marks:
    """The marks of one type's jobs: the same for all of them, unless a limit has a key."""

    def __init__(self, type_name: str, arguments: Arguments, limits: tuple[Limit, ...], needs: tuple[str, ...]) -> None:
        self._type_name = type_name
        self._arguments = arguments
        self._limits = limits
        self._needs = needs
        self.is_keyed = any(limit.key is not None for limit in limits)
        self.shared = marks([(limit.name, None) for limit in limits if limit.key is None], needs)

    def of(self, payload: str) -> str:
        """The marks of a job with this payload."""
        if not self.is_keyed:
            return self.shared
        return marks([(limit.name, self._value(limit, payload)) for limit in self._limits], self._needs)

    def _value(self, limit: Limit, payload: str) -> object | None:
        if limit.key is None:
            return None
        if isinstance(limit.key, str):
            return field_of(from_json(payload), limit.key)
        try:
            return limit.key(self._arguments.namespace(payload))
        except Exception as error:
            raise InvalidArguments(
                f"the key of the limit {limit.name!r} of {self._type_name!r} cannot be computed from these arguments: "
                f"{type(error).__name__}: {error}"
            ) from error


def checked(type_name: str, limits: Limits, needs: Iterable[str]) -> tuple[tuple[Limit, ...], tuple[str, ...]]:
    """The limits and dependencies of a declaration."""
    several = () if limits is None else (limits,) if isinstance(limits, Limit) else tuple(limits)
    names = [limit.name for limit in several]
    if len(set(names)) < len(names) or len(names) > MOST_LIMITS:
        raise ConfigError(f"the limits of {type_name!r} must be at most {MOST_LIMITS}, each with a name of its own")
    if isinstance(needs, str):
        raise ConfigError(f"needs={needs!r} of {type_name!r} is not a list; write it like needs=[{needs!r}]")
    return several, tuple(dict.fromkeys(check_name("dependency", name) for name in needs))


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
