"""A database and the life of its process: forks, and ends that nobody prepared."""

import os
import subprocess
import sys
import time
from pathlib import Path

FORK = """
import asyncio, os, sys
from fairlead.errors import StoreRefused
from fairlead.stores.sqlite.address import Address
from fairlead.stores.sqlite.database import DatabaseFile

database = DatabaseFile(Address(sys.argv[1]))
database.open(create=True)
child = os.fork()
if child == 0:
    for use in (lambda: database.call(lambda connection, now: None), lambda: DatabaseFile(Address(sys.argv[1])).open()):
        try:
            use()
        except StoreRefused as error:
            database.close()
            if "fork" not in str(error):
                os._exit(2)
        else:
            os._exit(3)
    os._exit(0)
status = os.waitpid(child, 0)[1]
database.call(lambda connection, now: None)
database.close()
sys.exit(os.waitstatus_to_exitcode(status))
"""

FORGOTTEN = """
import sys
from fairlead.stores.sqlite.address import Address
from fairlead.stores.sqlite.database import DatabaseFile

DatabaseFile(Address(sys.argv[1])).open(create=True)
"""


def run_script(script: str, path: str) -> None:
    subprocess.run([sys.executable, "-W", "ignore", "-c", script, path], check=True, timeout=20)


def test_a_forked_child_is_refused(tmp_path: Path) -> None:
    run_script(FORK, str(tmp_path / "some.db"))


def test_a_program_that_forgets_to_close_still_ends(tmp_path: Path) -> None:
    path, began = str(tmp_path / "some.db"), time.monotonic()
    run_script(FORGOTTEN, path)
    assert time.monotonic() - began < 15
    assert not os.path.exists(f"{path}-wal")
