"""The application that the tests in a browser look at."""

import time
from pathlib import Path

import fairlead

app = fairlead.App(name="browser")
ONCE = fairlead.Retry(attempts=1)


class Refused(Exception):
    """The other side will never take it."""


@app.handler("deliver", retry=ONCE)
def deliver(to: str, gate: str | None = None) -> str:
    """Wait until the gate, a file, is there; nobody cannot be delivered to."""
    while gate is not None and not Path(gate).exists():
        time.sleep(0.02)
    if to == "nobody":
        raise Refused("there is no such address")
    return f"delivered to {to}"


@app.handler("call", classify={Refused: "permanent"})  # which counts for no breaker
def call(line: str, gate: str) -> None:
    """Fail until the line, a file, is there; then wait for the gate."""
    if not Path(line).exists():
        raise Refused("the line is dead")
    while not Path(gate).exists():
        time.sleep(0.02)


@app.handler("echo")
async def echo(ctx: fairlead.Context, text: str) -> dict[str, str]:
    """Give back what was given, as key and as value, and say it on the way."""
    await ctx.progress(0.5, message=text)
    return {text: text}


@app.handler("climb", retry=ONCE)
def climb(ctx: fairlead.Context, gates: list[str]) -> str:
    """Report one step after the other; behind each is a gate, a file."""
    for step, gate in enumerate(gates, start=1):
        ctx.blocking.progress(step, len(gates) + 1, f"step {step}")
        while not Path(gate).exists():
            time.sleep(0.02)
    return "at the top"


@app.handler("echo_error", retry=ONCE)
async def echo_error(text: str) -> None:
    """Fail with what was given."""
    raise Refused(text)


@app.handler("side", pool="side")
async def side() -> None:
    """Work for a worker that only serves this pool."""


@app.recurring("0 3 * * *")
@app.handler("tidy")
async def tidy() -> None:
    """What a schedule makes."""
