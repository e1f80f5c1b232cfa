"""How a worker's process is set up before it works."""

import subprocess
import sys
from pathlib import Path

import pytest

SETTLED_IN = """
import sys
import threading
from fairlead.cli import child

child._switch_soon()
found = []
def look():
    found.append(open("/proc/thread-self/status").readline())
    try:
        found.append(open(f"/proc/{threading.get_native_id()}/timerslack_ns").read().strip())
    except OSError:
        found.append("unknown")
thread = threading.Thread(target=look)
thread.start()
thread.join()
print(sys.getswitchinterval(), found[1])
"""


@pytest.mark.skipif(not Path("/proc/self/timerslack_ns").exists(), reason="only Linux tells how late it wakes a thread")
def test_threads_get_the_interpreter_soon_and_are_woken_precisely() -> None:
    """Also those that are made later, as the one that writes to SQLite."""
    answer = subprocess.run([sys.executable, "-c", SETTLED_IN], capture_output=True, text=True, timeout=60, check=True)
    interval, slack = answer.stdout.split()
    assert float(interval) == pytest.approx(0.00005)
    assert slack in ("1000", "unknown")


def test_a_system_that_does_not_let_us_say_how_late_is_no_trouble() -> None:
    script = (
        "from pathlib import Path; from fairlead.cli import child; "
        "child.SLACK = Path('/nowhere/at/all'); child._switch_soon()"
    )
    subprocess.run([sys.executable, "-c", script], timeout=60, check=True)
