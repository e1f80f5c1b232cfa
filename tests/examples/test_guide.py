"""Every block of the pages with code runs, in order, in one program a page, on each kind of database."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent

# The first block makes the app; the others run beside a worker. Blocks that submit with `delay` run in a thread.
PROGRAM = """
import ast, asyncio, inspect, os, re, sys, types

blocks = re.findall(r"```python\\n(.*?)```", open(sys.argv[1], encoding="utf-8").read(), re.DOTALL)
module = types.ModuleType("guide")
sys.modules["guide"] = module
on_postgres = os.environ["FAIRLEAD_DATABASE_URL"].startswith("postgresql")


async def run(block):
    if block.startswith("# PostgreSQL") and not on_postgres:
        return
    code = compile(block, "guide.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    if ".delay(" in block:
        await asyncio.to_thread(eval, code, vars(module))
    elif inspect.isawaitable(awaited := eval(code, vars(module))):
        await awaited


async def main():
    await run(blocks[0])
    await module.app.migrate()
    async with module.app, module.app.worker(pools=("short", "medium")):
        for block in blocks[1:]:
            await run(block)
    print(len(blocks), "blocks")


asyncio.run(main())
"""


@pytest.mark.parametrize(("page", "blocks"), [("guide.md", 15), ("recurring.md", 5), ("long-jobs.md", 6)])
def test_the_page_runs(tmp_path: Path, database: str, page: str, blocks: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(ROOT / "docs" / page)],
        cwd=tmp_path,
        env={**os.environ, "FAIRLEAD_DATABASE_URL": database},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    assert int(re.findall(r"(\d+) blocks", done.stdout)[-1]) >= blocks
