"""A handler's arguments: checked against its type hints, kept as JSON, checked again before they are used."""

import inspect
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, NotRequired, Required, get_type_hints

from pydantic import (
    ConfigDict,
    PydanticSchemaGenerationError,
    PydanticUserError,
    TypeAdapter,
    ValidationError,
)
from pydantic_core import PydanticSerializationError, to_json
from typing_extensions import TypedDict

from fairlead.core.jobs.payload import check_payload
from fairlead.errors import ConfigError, InvalidArguments, UnsafePayload
from fairlead.handlers.context import Context

_REFUSED = {
    inspect.Parameter.VAR_POSITIONAL: "*{}",
    inspect.Parameter.VAR_KEYWORD: "**{}",
    inspect.Parameter.POSITIONAL_ONLY: "{}, /",
}


class Arguments:
    """The arguments that a function takes beside its context."""

    def __init__(self, type_name: str, function: Callable[..., Any]) -> None:
        self._type_name = type_name
        parameters = list(inspect.signature(function).parameters.values())
        hints = _hints(type_name, function)
        self.takes_context = bool(parameters) and _is_context(parameters[0], hints)
        self._parameters = parameters[1:] if self.takes_context else parameters
        self.names = tuple(parameter.name for parameter in self._parameters)
        self._adapter = _adapter(type_name, self._parameters, hints)
        self._validate, self._validate_json = (
            self._adapter.validator.validate_python,
            self._adapter.validator.validate_json,
        )
        self._to_json = self._adapter.serializer.to_json

    def schema(self) -> dict[str, Any]:
        """The JSON schema of the payload."""
        try:
            return self._adapter.json_schema()
        except PydanticUserError as error:
            raise ConfigError(f"the arguments of {self._type_name!r} have no JSON schema: {error}") from None

    def bind(self, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of a call by name."""
        named = dict(zip(self.names, args, strict=False))
        if len(args) > len(self.names) or named.keys() & keywords.keys():
            raise InvalidArguments(f"{self._type_name!r} takes the arguments ({', '.join(self.names)}), each once")
        return {**named, **keywords}

    def dump(self, arguments: Mapping[str, Any], limit: int) -> str:
        """The arguments as the JSON text that is stored."""
        try:
            valid = self._validate(arguments)
            text = check_payload(self._to_json(valid), limit)
            if "null" in text:  # NaN and Infinity have become null by now: look for them in what was given
                given = to_json(self._adapter.dump_python(valid), inf_nan_mode="constants", fallback=str)
                check_payload(given, len(given))
        except ValidationError as error:
            raise self._invalid(error) from None
        except (PydanticSerializationError, UnicodeEncodeError) as error:
            raise UnsafePayload(f"the arguments of {self._type_name!r} cannot become JSON: {error}") from None
        return text

    def load(self, payload: str) -> dict[str, Any]:
        """The arguments as the function takes them."""
        try:
            arguments: dict[str, Any] = self._validate_json(payload)
            return arguments
        except ValidationError as error:
            raise self._invalid(error) from None

    def namespace(self, payload: str) -> SimpleNamespace:
        """The arguments as attributes, with the function's defaults for those that are not given."""
        empty = inspect.Parameter.empty
        defaults = {item.name: item.default for item in self._parameters if item.default is not empty}
        return SimpleNamespace(**defaults | self.load(payload))

    def _invalid(self, error: ValidationError) -> InvalidArguments:
        problems = "; ".join(
            f"{'.'.join(map(str, problem['loc'])) or 'arguments'}: {problem['msg'].removeprefix('Value error, ')}"
            for problem in error.errors(include_url=False, include_input=False)[:5]
        )
        return InvalidArguments(f"the arguments do not fit {self._type_name!r}: {problems}")


def _hints(type_name: str, function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except NameError as error:
        raise ConfigError(
            f"the type hints of {type_name!r} cannot be resolved ({error}); "
            "define the types in the handler's module, not under TYPE_CHECKING"
        ) from None
    except TypeError:
        raise ConfigError(
            f"the handler of {type_name!r} is {function!r}, which is no function or method: write one that calls it"
        ) from None


def _is_context(parameter: inspect.Parameter, hints: dict[str, Any]) -> bool:
    return hints.get(parameter.name, Context if parameter.name == "ctx" else None) is Context


def _adapter(type_name: str, parameters: list[inspect.Parameter], hints: dict[str, Any]) -> TypeAdapter[dict[str, Any]]:
    fields: dict[str, Any] = {}
    for parameter in parameters:
        if parameter.kind in _REFUSED:
            shown = _REFUSED[parameter.kind].format(parameter.name)
            raise ConfigError(f"the handler of {type_name!r} has {shown}: a payload needs arguments with names")
        hint = hints.get(parameter.name, Any)
        required = parameter.default is inspect.Parameter.empty
        fields[parameter.name] = Required[hint] if required else NotRequired[hint]
    make_shape: Any = TypedDict  # the type checker knows only TypedDicts that stand in the source
    shape = make_shape(type_name, fields)
    shape.__pydantic_config__ = ConfigDict(extra="forbid")
    try:
        return TypeAdapter(shape)
    except PydanticSchemaGenerationError as error:
        raise ConfigError(f"the arguments of {type_name!r} cannot be validated: {error}") from None
