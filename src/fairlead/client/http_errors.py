"""From an answer of the HTTP API to the error that the in-process client would raise."""

from pydantic_core import from_json

from fairlead import errors


def error_of(status: int, body: bytes, retry_after: str | None = None) -> errors.FairleadError:
    """The error that an answer means: the one that the in-process client would raise, where there is one."""
    try:
        problem = from_json(body)
        code, detail = str(problem["code"]), str(problem["detail"])
    except (ValueError, KeyError, TypeError):
        code, detail = "UNKNOWN", f"the server answered {status} with {body[:200]!r}"
    wait = float(retry_after) if retry_after and retry_after.isdigit() else None
    return problem_error(status, code, detail, wait)


def problem_error(status: int, code: str, detail: str, retry_after: float | None = None) -> errors.FairleadError:
    """The error with this code; `retry_after` is worth waiting before another try."""
    known = _CLASSES.get(code)
    if known is None:
        refused = (errors.AccessDenied if status in (401, 403) else errors.RequestRefused)(detail)
        refused.code, refused.status = code, status
        return refused
    error = known.__new__(known, detail)  # its own constructor would derive more than the message
    if retry_after is not None:
        vars(error)["retry_after"] = retry_after
    return error


_CLASSES: dict[str, type[errors.FairleadError]] = {
    kind.code: kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, errors.FairleadError) and not issubclass(kind, errors.Verdict)
}
