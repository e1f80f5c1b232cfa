"""What handlers return, as it is kept."""

from typing import Any

from pydantic_core import PydanticSerializationError, to_json

from fairlead.core.jobs.payload import check_payload
from fairlead.errors import PayloadError


def dump_result(result: Any, limit: int, what: str = "result") -> str:
    """The result as JSON text."""
    try:
        text = to_json(result, inf_nan_mode="constants")
    except (PydanticSerializationError, UnicodeEncodeError) as error:
        raise UnusableResult(f"the handler returned what cannot become JSON ({error}); return plain data") from None
    return check_payload(text, limit, what)


class UnusableResult(PayloadError):
    """A handler's result cannot be kept."""

    code = "UNUSABLE_RESULT"
