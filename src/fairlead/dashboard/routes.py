"""/dashboard: the page, and the session of a browser.

A browser is known by a cookie that holds the key it signed in with: scripts cannot read it, other sites cannot make the
browser send it, and it ends with the key. What changes something needs a header beside the cookie, which a form of
another site cannot send (the gate of the API checks that).
"""

from typing import Protocol

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import JSONResponse, RedirectResponse

from fairlead.core.web.api_keys import IMPLIED, ApiKey
from fairlead.dashboard.files import POLICY, file_for

COOKIE = "fairlead_key"
HEADER = "x-fairlead-dashboard"
LASTING = "public, max-age=31536000, immutable"


class Keys(Protocol):
    """Who finds keys by their text."""

    async def find(self, text: str) -> ApiKey | None:
        """The live key with this text, or None."""


class SignIn(BaseModel):
    """A key to exchange."""

    model_config = ConfigDict(extra="forbid")

    key: str = Field(max_length=200)


def dashboard_router(keys: "KeysOf") -> APIRouter:
    """The page and its sessions."""
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    async def root(request: Request) -> Response:
        return RedirectResponse(f"{request.scope.get('root_path', '')}/dashboard/")

    @router.get("/dashboard/session")
    async def session(request: Request) -> Response:
        key = await keys().find(request.cookies.get(COOKIE, ""))
        return _refusal("sign in with an API key") if key is None else JSONResponse(_document(key))

    @router.post("/dashboard/session")
    async def sign_in(wanted: SignIn, request: Request) -> Response:
        if HEADER not in request.headers:
            return _refusal(f"the header {HEADER} is missing")
        key = await keys().find(wanted.key)
        if key is None:
            return _refusal("this key is unknown, mistyped, expired or revoked")
        response = JSONResponse(_document(key))
        response.set_cookie(
            COOKIE, wanted.key, httponly=True, samesite="strict", secure=_is_encrypted(request), path="/"
        )
        return response

    @router.delete("/dashboard/session")
    async def sign_out() -> Response:
        response = Response(status_code=204)
        response.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
        return response

    @router.get("/dashboard")
    @router.get("/dashboard/{path:path}")
    async def page(request: Request, path: str = "") -> Response:
        file = file_for(path)
        headers = {"Content-Security-Policy": POLICY, "X-Frame-Options": "DENY", "Vary": "Accept-Encoding"}
        headers["Cache-Control"] = LASTING if file.is_lasting else "no-cache"
        if file.packed is None or not _takes_gzip(request):
            return Response(file.body, media_type=file.media_type, headers=headers)
        return Response(file.packed, media_type=file.media_type, headers={**headers, "Content-Encoding": "gzip"})

    return router


class KeysOf(Protocol):
    """The keys of a service, which is opened later than its routes are made."""

    def __call__(self) -> Keys:
        """Its keys."""


def _document(key: ApiKey) -> dict[str, object]:
    scopes = sorted({grant.value for own in key.grants for grant in IMPLIED[own]})
    return {"name": key.name, "tenant": key.tenant, "scopes": scopes}


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
