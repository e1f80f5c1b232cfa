"""Versions in requests and answers: an ETag says which one was read, If-Match that a change was decided on it."""

import re
from collections.abc import Container
from typing import Annotated

from fastapi import Depends, Header, Response

from fairlead.core.protection.controls import ABSENT

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
