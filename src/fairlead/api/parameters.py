"""The parameters that endpoints share: path parts, and what lists take in the query."""

from typing import Annotated

from fastapi import Path, Query

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
