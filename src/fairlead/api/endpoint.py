"""What all endpoints have in common: how a body is read, and how a repeated request is answered."""

import json
import re
import uuid
from collections.abc import Callable, Coroutine, Iterable, Mapping
from hashlib import sha256
from typing import Any, get_args, get_origin, get_type_hints

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from fairlead.api.caller import Caller, Needs
from fairlead.api.problems import Problem, problem_of
from fairlead.core.web.stored_responses import RepeatedRequest, Reservation, StoredResponse, judge_repeat
from fairlead.errors import FairleadError

LOCK = 60.0
KEEP = 24 * 3600.0
LONGEST_KEY = 255
NO_PARAMETERS: Mapping[str, bool] = {}
KEPT_HEADERS = ("location", "content-type", "etag", "retry-after")

_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?", re.ASCII)
_KEY = re.compile(rf"[!-~]{{1,{LONGEST_KEY}}}")

Handle = Callable[[Request], Coroutine[Any, Any, Response]]


class JsonRequest(Request):
    """A request whose body is read by a parser that bounds depth and refuses what JSON does not have."""

    async def json(self) -> Any:
        """The body as a value."""
        try:
            return from_json(await self.body(), allow_inf_nan=False, cache_strings="keys")
        except ValueError as error:
            raise Problem(400, "INVALID_JSON", f"the body is not JSON that can be read: {error}") from None


class Endpoint(APIRoute):
    """A route that reads bodies carefully and answers a repeated POST from what was kept."""

    keeps_answers = True

    def get_route_handler(self) -> Handle:
        """What is called for a request."""
        handle = super().get_route_handler()
        body = self.body_field
        needs_body = body is not None and body.field_info.is_required()
        needs = next((item.call for item in self.dependant.dependencies if isinstance(item.call, Needs)), None)
        known = {item.alias: _is_list(item.field_info.annotation) for item in self.dependant.query_params}
        numbers = [item.alias for item in self.dependant.query_params if _is_number(item.field_info.annotation)]

        async def endpoint(request: Request) -> Response:
            request = JsonRequest(request.scope, request.receive)
            _require_known(request, known)
            _require_plain(request, numbers)
            if needs_body or (body is not None and await request.body()):
                _require_json(request.headers)
            key = request.headers.get("idempotency-key")
            if key is None or request.method != "POST" or not self.keeps_answers:
                return await handle(request)
            if needs is not None:
                await needs(request)
            return await _once(request, key, handle)

        return endpoint


class SecretEndpoint(Endpoint):
    """A route whose answers hold what must not be kept anywhere; an Idempotency-Key is ignored."""

    keeps_answers = False


class StreamEndpoint(Endpoint):
    """A route that answers with a stream, which cannot be kept; an Idempotency-Key is ignored."""

    keeps_answers = False


class DirectEndpoint(Endpoint):
    """A route for submissions, which come thousands of times a second.

    Its function takes `wanted`, the body as a model, `request` and `caller`, and nothing else. The body is read and
    checked in one step, and no other machinery stands between the gate and the function.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **settings: Any) -> None:
        super().__init__(path, endpoint, **settings)
        hints = get_type_hints(endpoint, include_extras=True)
        self._model: TypeAdapter[Any] = TypeAdapter(hints["wanted"])
        self._needs: Needs = next(item.call for item in self.dependant.dependencies if isinstance(item.call, Needs))
        self._function = endpoint
        self.app = self._serve

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        key = request.headers.get("idempotency-key")
        try:
            caller = await self._needs(request)  # before a row is stored for the Idempotency-Key
            caller.service.allowance.require_wanted(caller.key)
            response = await (self._handle(request) if key is None else _once(request, key, self._handle))
        except (FairleadError, HTTPException, RequestValidationError) as error:
            response = problem_of(error).response()
        await response(scope, receive, send)

    async def _handle(self, request: Request) -> Response:
        _require_known(request, NO_PARAMETERS)
        caller = await self._needs(request)
        _require_json(request.headers)
        try:
            wanted = self._model.validate_json(await request.body())
        except ValidationError as error:
            raise _refusal(error) from None
        response: Response = await self._function(wanted=wanted, request=request, caller=caller)
        return response


def _refusal(error: ValidationError) -> Problem | RequestValidationError:
    """What is said of a body that is not JSON, or does not fit."""
    found = error.errors(include_url=False, include_input=False, include_context=False)
    if found[0]["type"] == "json_invalid":
        return Problem(400, "INVALID_JSON", f"the body is not JSON that can be read: {found[0]['msg']}")
    return RequestValidationError([{**item, "loc": ("body", *item["loc"])} for item in found])


def _require_known(request: Request, known: Mapping[str, bool]) -> None:
    """A parameter that is misspelt would be ignored, and one that comes twice half ignored: more would be answered or
    changed than was meant. Those that are known say whether they may come twice."""
    if not request.scope["query_string"]:
        return
    given = [name for name, _ in request.query_params.multi_items()]
    if unknown := set(given) - known.keys():
        names = ", ".join(sorted(unknown))[:LONGEST_KEY]
        raise Problem(422, "UNKNOWN_PARAMETER", f"there is no parameter {names!r} here; known are: {sorted(known)}")
    if repeated := [name for name in known if not known[name] and given.count(name) > 1]:
        raise Problem(422, "REPEATED_PARAMETER", f"the parameter {repeated[0]!r} can be given once")


def _require_plain(request: Request, numbers: Iterable[str]) -> None:
    """A number in a query is written as in JSON: what else can be read as one (`1_0`, ` 5`, `+5`) is a slip."""
    if not request.scope["query_string"]:
        return
    for name in numbers:
        if (given := request.query_params.get(name)) is not None and not _NUMBER.fullmatch(given):
            message = "a number is written in digits, like 50"
            raise RequestValidationError([{"type": "number", "loc": ("query", name), "msg": message}])


def _is_number(annotation: Any) -> bool:
    return annotation in (int, float) or any(_is_number(item) for item in get_args(annotation))


def _is_list(annotation: Any) -> bool:
    return get_origin(annotation) is list or any(_is_list(item) for item in get_args(annotation))


def _require_json(headers: Headers) -> None:
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        raise Problem(415, "JSON_NEEDED", "send the body as application/json")


async def _once(request: Request, key: str, handle: Handle) -> Response:
    """Answer the request, unless one with this key was answered before: then with that answer."""
    caller: Caller = request.scope["fairlead.caller"]
    wanted = Reservation(_scope(caller), _checked(key), await _digest(request), str(uuid.uuid4()))
    earlier = await caller.store.responses.reserve(wanted, LOCK, KEEP)
    if earlier is not None:
        return _repeat(earlier, wanted.digest)
    try:
        response = await _answer(request, handle)
    except BaseException:
        await caller.store.responses.drop(wanted)
        raise
    if response.status_code >= 500 or response.status_code == 429:
        await caller.store.responses.drop(wanted)
    else:
        headers = {name: response.headers[name] for name in KEPT_HEADERS if name in response.headers}
        await caller.store.responses.keep(
            wanted, response.status_code, json.dumps(headers), bytes(response.body).decode()
        )
    return response


async def _answer(request: Request, handle: Handle) -> Response:
    """The answer, also where it is a problem: that is kept like any other."""
    try:
        return await handle(request)
    except (FairleadError, HTTPException, RequestValidationError) as error:
        return problem_of(error).response()


def _scope(caller: Caller) -> str:
    return f"{caller.key.id}:{caller.tenant or ''}"


def _checked(key: str) -> str:
    if not _KEY.fullmatch(key):
        detail = f"an Idempotency-Key has 1 to {LONGEST_KEY} characters of ASCII that can be seen"
        raise Problem(400, "INVALID_IDEMPOTENCY_KEY", detail)
    return key


async def _digest(request: Request) -> str:
    asked = f"{request.method} {request.url.path}?{request.url.query}\n".encode()
    return sha256(asked + await request.body()).hexdigest()


def _repeat(earlier: StoredResponse, digest: str) -> Response:
    verdict = judge_repeat(earlier, digest)
    if verdict is RepeatedRequest.MISUSE:
        raise Problem(
            422, "IDEMPOTENCY_KEY_REUSED", "this Idempotency-Key was used for another request; take a new one"
        )
    if verdict is RepeatedRequest.CONFLICT:
        detail = "the first request with this Idempotency-Key is still being worked on; try again soon"
        raise Problem(409, "IDEMPOTENCY_IN_PROGRESS", detail, {"Retry-After": "1"})
    headers = {**json.loads(earlier.headers or "{}"), "Idempotency-Replayed": "true"}
    return Response(earlier.body, earlier.status or 200, headers)
