"""The application of the fault tests of recurring jobs: one schedule, as dense as a scheduler's work can be told."""

import fairlead

app = fairlead.App()


@app.recurring("every 100ms", catch_up="all")
@app.handler("tick")
async def tick() -> None:
    """Nobody runs it: the tests count the jobs."""
