"""/v1/settings: what operators set at run time; every worker follows within a second."""

from datetime import UTC, datetime

from fastapi import APIRouter, Response

from fairlead.api.caller import Caller, Chief, Overseer
from fairlead.api.description import OPERATORS
from fairlead.api.endpoint import Endpoint
from fairlead.api.parameters import ExpectedVersions, KindPath, SettingPath, tag
from fairlead.api.problems import Problem
from fairlead.api.responses import answers
from fairlead.documents.base import Action
from fairlead.documents.settings import (
    HolderDocument,
    HolderList,
    KindDocument,
    KindList,
    SettingBody,
    SettingDocument,
    SettingList,
)
from fairlead.insight.protection import limit_holders
from fairlead.operate.settings import KINDS, Setting, list_settings, read_setting, remove_setting, set_setting

router = APIRouter(prefix="/v1/settings", tags=[OPERATORS], route_class=Endpoint)


@router.get("", operation_id="list_setting_kinds", responses=answers())
async def list_kinds(caller: Overseer) -> KindList:
    """The kinds of settings, the names in each, and their fields."""
    return KindList(kinds=[KindDocument.of(kind) for kind in KINDS.values()])


@router.get("/{kind}", operation_id="list_settings", responses=answers(404))
async def list_all(kind: KindPath, caller: Overseer) -> SettingList:
    """All settings of a kind that are in force, by name: set by operators, declared by code, or in use."""
    _require(kind)
    return SettingList(settings=[SettingDocument.of(item) for item in await list_settings(caller.store, kind)])


@router.get("/{kind}/{name}", operation_id="get_setting", responses=answers(404))
async def get_setting(kind: KindPath, name: SettingPath, caller: Overseer, response: Response) -> SettingDocument:
    """One setting, and its use now."""
    _require(kind)
    return _document(await read_setting(caller.store, kind, name), response)


@router.put("/{kind}/{name}", operation_id="set_setting", responses=answers(404, 412))
async def put_setting(
    kind: KindPath,
    name: SettingPath,
    wanted: SettingBody,
    caller: Chief,
    expected: ExpectedVersions,
    response: Response,
) -> SettingDocument:
    """Set exactly this; fields that are absent have their defaults."""
    return await _set(caller, kind, name, wanted, expected, response, keep=False)


@router.patch("/{kind}/{name}", operation_id="change_setting", responses=answers(404, 412))
async def patch_setting(
    kind: KindPath,
    name: SettingPath,
    wanted: SettingBody,
    caller: Chief,
    expected: ExpectedVersions,
    response: Response,
) -> SettingDocument:
    """Set the given fields, and keep the others as they were set; null takes a field back to its default."""
    return await _set(caller, kind, name, wanted, expected, response, keep=True)


@router.delete("/{kind}/{name}", operation_id="remove_setting", status_code=204, responses=answers(404, 412))
async def delete_setting(
    kind: KindPath, name: SettingPath, caller: Chief, expected: ExpectedVersions, wanted: Action | None = None
) -> None:
    """Remove what was set; what code declares, or the default, is in force again."""
    _require(kind)
    await remove_setting(caller.store, kind, name, caller.operator(wanted), expected)


@router.get("/limit/{name}/holders", operation_id="list_limit_holders", responses=answers(404))
async def list_holders(name: SettingPath, caller: Overseer) -> HolderList:
    """The jobs that run under a limit, those that run longest first."""
    setting = await read_setting(caller.store, "limit", name)
    scope, _, what = setting.name.partition(":")
    found = await limit_holders(caller.store, scope, what)
    return HolderList(
        holders=[HolderDocument.of(item, since=datetime.fromtimestamp(item.since, UTC)) for item in found]
    )


async def _set(
    caller: Caller,
    kind: str,
    name: str,
    wanted: SettingBody,
    expected: ExpectedVersions,
    response: Response,
    keep: bool,
) -> SettingDocument:
    _require(kind)
    operator = caller.operator(wanted)
    return _document(await set_setting(caller.store, kind, name, wanted.value, operator, expected, keep), response)


def _document(setting: Setting, response: Response) -> SettingDocument:
    tag(response, setting.version)
    return SettingDocument.of(setting)


def _require(kind: str) -> None:
    if kind not in KINDS:
        raise Problem(404, "NOT_FOUND", f"there is no kind of settings {kind!r}; there are: {', '.join(KINDS)}")
