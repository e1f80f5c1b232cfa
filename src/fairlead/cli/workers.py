"""`fairlead workers`: list workers, and let one end."""

from typing import Annotated

import typer

from fairlead.cli.loading import on_store
from fairlead.cli.options import Actor, Database, Json, Reason, group, operator
from fairlead.cli.output import cell, listing, plain, show, show_document
from fairlead.core.durations import humanize
from fairlead.core.jobs.workers import WorkerRecord, reserved
from fairlead.operate.workers import Direction, direct
from fairlead.records.store import Store

app = group("List workers, and let one end.")

WorkerId = Annotated[str, typer.Argument(metavar="ID", help="The whole id of the worker; --json shows it.")]
Now = Annotated[bool, typer.Option("--now", help="Give back what runs, instead of finishing it.")]


@app.command("list")
def list_workers(database: Database = None, as_json: Json = False) -> None:
    """List the workers with their slots and figures."""
    found = on_store(database, _read)
    if as_json:
        from fairlead.documents.workers import WorkerDocument, WorkerList

        show_document(WorkerList(workers=[WorkerDocument.of(record) for record in found]))
        return
    listing(
        found,
        {
            "id": lambda item: item.info.id[:8],
            "host": lambda item: item.info.host,
            "pid": lambda item: item.info.pid,
            "pools": _pools,
            "slots": lambda item: item.info.slots,
            "running": lambda item: item.report.get("running", 0),
            "done": lambda item: item.report.get("succeeded", 0),
            "failed": lambda item: item.report.get("retrying", 0) + item.report.get("dead", 0),
            "refused": lambda item: item.report.get("refused", 0),
            "lost threads": lambda item: item.report.get("lost_threads", 0),
            "lease": lambda item: humanize(item.lease_left) if item.live else None,
            "state": lambda item: cell(_state(item), "green" if item.live else "bold red"),
            "version": lambda item: item.info.version,
        },
        none="no workers",
        cut=("host", "pools"),
    )


@app.command()
def drain(
    worker_id: WorkerId, now: Now = False, actor: Actor = None, reason: Reason = None, database: Database = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Let a worker claim nothing more, finish what it runs, and end; it follows within seconds."""
    direction, who = Direction.STOP if now else Direction.DRAIN, operator(actor, reason)
    on_store(database, lambda store: direct(store, worker_id, direction, who))
    if as_json:
        show_document({"id": worker_id, "state": direction.value})
    else:
        show(f"worker {plain(worker_id)} is {direction.value}", wrap=False)


async def _read(store: Store) -> list[WorkerRecord]:
    return await store.workers.all()


def _state(record: WorkerRecord) -> str:
    if not record.live:
        return "lost"
    return "live" if record.state == "active" else record.state


def _pools(record: WorkerRecord) -> str:
    """The pools it serves; a worker with reserved slots serves certain tenants only."""
    tenants = reserved(record)
    return ", ".join(record.info.pools) + (f" for {', '.join(tenants)}" if tenants else "")
