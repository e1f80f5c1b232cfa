"""What a worker process imports: it starts within a moment, so it leaves out what only others need."""

import json
import subprocess
import sys

import pytest

import fairlead

NOT_FOR_WORKERS = {
    "click", "fairlead.api", "fairlead.documents", "fairlead.insight.job_explanation",
    "fairlead.insight.system_status", "fairlead.operate.dead_letters", "fairlead.recurring", "fairlead.scheduler",
    "fairlead.worker.egress", "fastapi", "httpcore2", "httpx2", "jsonschema_rs", "rich", "sqlalchemy", "structlog",
    "typer", "uvicorn",
}  # fmt: skip
NOT_BEFORE_ITS_PROCESSES = {"asyncio", "fairlead.app", "fairlead.records", "pydantic", "psycopg", "rich.console"}


def imported_by(statement: str) -> set[str]:
    script = f"import json, sys; {statement}; print(json.dumps(sorted(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    return set(json.loads(answer.stdout))


@pytest.mark.parametrize("store", ["fairlead.stores.postgres.store", "fairlead.stores.sqlite.store"])
def test_a_worker_process_imports_only_what_a_worker_needs(store: str) -> None:
    assert not NOT_FOR_WORKERS & imported_by(f"import fairlead.cli.child, {store}")


def test_worker_processes_are_started_before_anything_else_is_imported() -> None:
    assert not NOT_BEFORE_ITS_PROCESSES & imported_by("import fairlead.cli.program, fairlead.cli.run")


@pytest.mark.parametrize("name", fairlead.__all__)
def test_every_public_name_can_be_imported(name: str) -> None:
    assert getattr(fairlead, name) is not None
