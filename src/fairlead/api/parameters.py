"""Parameters that endpoints share: path parts, queries of lists, and versions (ETag, If-Match)."""

import re
from collections.abc import Container
from typing import Annotated

from fastapi import Depends, Header, Path, Query, Response

from fairlead.core.protection.controls import ABSENT
from fairlead.documents.base import ENDPOINT_PATTERN, NAME, Id, Instant, Key, Name, PriorityWord

MOST_PAGE = 500
SETTING = rf"(\*|{NAME}([+=~:][A-Za-z0-9_.:@*~-]{{1,199}})*)"

JobId = Annotated[str, Path(description="The id of a job.", max_length=100)]
NamePath = Annotated[str, Path(pattern=f"^{NAME}$")]
EndpointPath = Annotated[str, Path(pattern=ENDPOINT_PATTERN, description="The name of an endpoint.")]
DeliveryId = Annotated[str, Path(description="The id of a delivery's job.", max_length=100)]
KeyId = Annotated[str, Path(pattern="^[0-9A-Za-z]{1,20}$")]
WorkerId = Annotated[str, Path(max_length=100)]
KindPath = Annotated[str, Path(pattern="^[a-z-]{1,40}$", description="A kind of setting, as `GET /v1/settings` lists.")]
SettingPath = Annotated[
    str,
    Path(
        pattern=f"^{SETTING}$",
        max_length=420,
        description="A name, with its scope where the kind has some: `acme`, `tenant:acme`, `tenant:*`, "
        "`tenant+pool:acme+short`, `limit:stripe=7`.",
    ),
]

Limit = Annotated[int, Query(ge=1, le=MOST_PAGE, description="How many a page has at most.")]
Cursor = Annotated[Id | None, Query(description="Go on where a page ended.")]
NumberCursor = Annotated[int | None, Query(ge=1, le=2**62, description="Go on where a page ended.")]
NameCursor = Annotated[Name | None, Query(description="Go on where a page ended.")]
Moment = Annotated[Instant | None, Query()]
NameFilter = Annotated[Name | None, Query()]
KeyFilter = Annotated[Key | None, Query()]
PriorityFilter = Annotated[PriorityWord | None, Query()]
OfTenant = Annotated[Name | None, Query(description="Only this tenant's.")]


def seconds_of(moment: Instant | None) -> float | None:
    """An instant that a filter names as the store counts it."""
    return None if moment is None else moment.timestamp()


ANY_THERE = range(1, 2**63)

_TAG = re.compile(r'\s*"(\d{1,18})"\s*')


async def expected_versions(
    if_match: Annotated[str | None, Header(max_length=1_000, description="Change it only if it has this ETag.")] = None,
    if_none_match: Annotated[
        str | None, Header(max_length=1_000, description="`*` makes it only where nothing was set.")
    ] = None,
) -> Container[int] | None:
    """The versions that something may have to be changed; None is any."""
    if if_none_match is not None and if_none_match.strip() == "*":
        return (ABSENT,)
    if if_match is None:
        return None
    if if_match.strip() == "*":
        return ANY_THERE
    found = [_TAG.fullmatch(item) for item in if_match.split(",")]
    return frozenset(int(tag[1]) for tag in found if tag)


ExpectedVersions = Annotated[Container[int] | None, Depends(expected_versions)]


def tag(response: Response, version: int) -> None:
    """Say which version the answer shows."""
    response.headers["ETag"] = f'"{version}"'
