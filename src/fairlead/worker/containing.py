"""What a handler raises ends its own run, never the worker.

A coroutine that calls sys.exit, a panic of a library that is written in Rust: neither is an Exception, so it would pass
through everything that stands between a handler and the event loop, and end the process with all the jobs in it, or
leave a job running that nobody runs. StopIteration, as from a bare next(), cannot even be handed over by a thread.
"""

import asyncio
from collections.abc import Callable
from typing import Any

# What others do to a run, or to the program, from outside.
FROM_OUTSIDE = (asyncio.CancelledError, KeyboardInterrupt, GeneratorExit)


class Escaped(Exception):
    """Carries what a handler raised past those who let only exceptions pass."""

    def __init__(self, what: BaseException) -> None:
        super().__init__(repr(what))
        self.what = what


def contained(call: Callable[[], Any]) -> Any:
    """Call a handler in this thread; what it raises can be handed over to another."""
    try:
        return call()
    except StopIteration as error:
        raise Escaped(error) from error
    except (Exception, asyncio.CancelledError):
        raise
    except BaseException as error:
        raise Escaped(error) from error
