"""`fairlead pause` and `fairlead resume`: stop a type, tenant, pool or schedule from starting, and let it go on."""

from typing import Annotated

import typer

from fairlead.cli.loading import on_store
from fairlead.cli.options import Actor, Database, Json, operator
from fairlead.cli.output import plain, show, show_document
from fairlead.operate.settings import remove_setting, set_setting
from fairlead.records.store import Store
from fairlead.recurring import changes as schedules
from fairlead.runtime.operator import Operator

SCHEDULE = "schedule"

app = typer.Typer()

Scope = Annotated[str, typer.Argument(metavar="SCOPE", help="type, tenant, pool or schedule.")]
Target = Annotated[str, typer.Argument(metavar="NAME", help="Its name.")]
Why = Annotated[str | None, typer.Option("--reason", metavar="WHY", help="Why, for the audit.")]


@app.command()
def pause(
    scope: Scope, name: Target, reason: Why = None, actor: Actor = None, database: Database = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Let no job of a type, tenant or pool start, or a schedule not fire; what runs goes on."""
    _switch(scope, name, operator(actor, reason), database, as_json, paused=True)


@app.command()
def resume(
    scope: Scope, name: Target, reason: Why = None, actor: Actor = None, database: Database = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Let the jobs of a paused type, tenant or pool start again, or a paused schedule fire."""
    _switch(scope, name, operator(actor, reason), database, as_json, paused=False)


def _switch(scope: str, name: str, who: Operator, database: str | None, as_json: bool, paused: bool) -> None:
    async def act(store: Store) -> None:
        if scope == SCHEDULE:
            await (schedules.pause if paused else schedules.resume)(store, name, who)
        elif paused:
            await set_setting(store, "pause", f"{scope}:{name}", {}, who)
        else:
            await remove_setting(store, "pause", f"{scope}:{name}", who)

    on_store(database, act)
    if as_json:
        show_document({"scope": scope, "name": name, "paused": paused})
    else:
        show(f"{plain(scope)} {plain(name)} is {'paused' if paused else 'no longer paused'}")
