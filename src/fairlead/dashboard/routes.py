"""/dashboard: the page, and the session of a browser.

A browser is known by a cookie with a random token: scripts cannot read it, other sites cannot make the browser send it,
and it ends with the key that it was exchanged for. A request that changes something needs a header beside the cookie,
which a form of another site cannot send, and comes from this origin.
"""

from typing import Protocol

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import JSONResponse, RedirectResponse

from fairlead.core.web.api_keys import ApiKey
from fairlead.dashboard.files import POLICY, file_for
from fairlead.dashboard.sessions import COOKIE, HEADER, LIFE, SECURE_COOKIE, Sessions, is_ours, token_in
from fairlead.documents.api_keys import MeDocument

LASTING = "public, max-age=31536000, immutable"
BASE = b'<base href="/dashboard/" />'


class Keys(Protocol):
    """Finds keys by their text."""

    async def find(self, text: str) -> ApiKey | None:
        """The live key with this text, or None."""


class Host(Protocol):
    """The server process that the page belongs to."""

    sessions: Sessions

    @property
    def keys(self) -> Keys:
        """Its keys, which it has when it is open."""


class SignIn(BaseModel):
    """A key to exchange."""

    model_config = ConfigDict(extra="forbid")

    key: str = Field(max_length=200)


def dashboard_router(host: Host) -> APIRouter:
    """The page and its sessions."""
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    async def root(request: Request) -> Response:
        return RedirectResponse(f"{_root(request)}/dashboard/")

    @router.get("/dashboard/session")
    async def session(request: Request) -> Response:
        key = await host.keys.find(host.sessions.key_of(token_in(_headers(request))))
        return _refusal("sign in with an API key") if key is None else _me(key)

    @router.post("/dashboard/session")
    async def sign_in(wanted: SignIn, request: Request) -> Response:
        if not is_ours(_headers(request)):
            return _refusal(f"the header {HEADER} is missing, or the request comes from another site")
        key = await host.keys.find(wanted.key)
        if key is None:
            return _refusal("this key is unknown, mistyped, expired or revoked")
        response = _me(key)
        _set_cookie(request, response, host.sessions.begin(wanted.key))
        return response

    @router.delete("/dashboard/session")
    async def sign_out(request: Request) -> Response:
        if not is_ours(_headers(request)):
            return _refusal(f"the header {HEADER} is missing, or the request comes from another site")
        host.sessions.end(token_in(_headers(request)))
        response = Response(status_code=204)
        for name, path in ((SECURE_COOKIE, "/"), (COOKIE, _root(request) or "/")):
            response.delete_cookie(name, path=path, secure=name is SECURE_COOKIE, httponly=True, samesite="strict")
        return response

    @router.get("/dashboard")
    async def without_slash(request: Request) -> Response:
        return RedirectResponse(f"{_root(request)}/dashboard/")

    @router.get("/dashboard/{path:path}")
    async def page(request: Request, path: str = "") -> Response:
        file = file_for(path)
        headers = {"Content-Security-Policy": POLICY, "X-Frame-Options": "DENY", "Vary": "Accept-Encoding"}
        headers["Cache-Control"] = LASTING if file.is_lasting else "no-cache"
        if BASE in file.body:
            base = BASE.replace(b"/dashboard/", f"{_root(request)}/dashboard/".encode())
            return Response(file.body.replace(BASE, base), media_type=file.media_type, headers=headers)
        if file.packed is None or not _takes_gzip(request):
            return Response(file.body, media_type=file.media_type, headers=headers)
        return Response(file.packed, media_type=file.media_type, headers={**headers, "Content-Encoding": "gzip"})

    return router


def _set_cookie(request: Request, response: Response, token: str) -> None:
    """Over HTTPS the cookie is bound to the host; a plain one is sent to the paths of this application alone."""
    encrypted = _is_encrypted(request)
    response.set_cookie(
        SECURE_COOKIE if encrypted else COOKIE,
        token,
        max_age=int(LIFE),
        httponly=True,
        samesite="strict",
        secure=encrypted,
        path="/" if encrypted else _root(request) or "/",
    )


def _me(key: ApiKey) -> JSONResponse:
    return JSONResponse(MeDocument.of(key).as_json())


def _headers(request: Request) -> dict[bytes, bytes]:
    return dict(request.scope["headers"])


def _root(request: Request) -> str:
    """The path that the application is mounted under; only characters that need no escape in HTML."""
    root = str(request.scope.get("root_path", ""))
    return "".join(letter for letter in root if letter.isalnum() or letter in "/-_.~")


def _is_encrypted(request: Request) -> bool:
    """Whether the browser speaks HTTPS: with us, or with a proxy in front, which its Origin tells."""
    return request.url.scheme == "https" or request.headers.get("origin", "").startswith("https://")


def _takes_gzip(request: Request) -> bool:
    """Whether the browser says that it unpacks gzip; `q=0` says that it does not."""
    offers = [offer.replace(" ", "").lower() for offer in request.headers.get("accept-encoding", "").split(",")]
    return any(offer.partition(";")[0] == "gzip" and not offer.endswith((";q=0", ";q=0.0")) for offer in offers)


def _refusal(detail: str) -> Response:
    body = {"type": "about:blank", "title": "Unauthorized", "status": 401, "code": "KEY_NEEDED", "detail": detail}
    return JSONResponse(body, 401, media_type="application/problem+json")
