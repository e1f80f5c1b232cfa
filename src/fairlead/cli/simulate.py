"""`fairlead simulate`: a scenario in virtual time, with the decisions that real workers take."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from fairlead.cli.options import Json
from fairlead.cli.output import cell, show, show_document, table
from fairlead.core.durations import humanize

if TYPE_CHECKING:
    from fairlead.sim.findings import Findings, PoolFinding, TenantFinding

ScenarioFile = Annotated[Path, typer.Argument(metavar="SCENARIO.toml", help="What to simulate; see docs/simulator.md.")]
Picture = Annotated[
    Path | None, typer.Option("--picture", metavar="FILE.svg", help="Also draw shares and waits into an SVG file.")
]
Tenants = Annotated[int, typer.Option(min=0, max=200_000, help="How many tenants of each pool to list.")]
Seed = Annotated[int | None, typer.Option(help="Another seed than the scenario's.")]


app = typer.Typer()


@app.command()
def simulate(
    scenario: ScenarioFile, picture: Picture = None, tenants: Tenants = 20, seed: Seed = None, as_json: Json = False
) -> None:
    """Simulate tenants, pools and workers in virtual time: entitled against delivered, and how long jobs wait."""
    from fairlead.sim.findings import simulate
    from fairlead.sim.picture import draw
    from fairlead.sim.scenario import read_scenario

    plan = read_scenario(scenario)
    findings = simulate(plan if seed is None else plan.model_copy(update={"seed": seed}))
    if picture is not None:
        picture.write_text(draw(findings), encoding="utf-8")
    if as_json:
        show_document(findings.document(tenants))
    else:
        _print(findings, tenants)


def _print(findings: "Findings", most: int) -> None:
    from fairlead.sim.findings import listed

    show(Text(f"{findings.scenario.name}, seed {findings.scenario.seed}", "bold"))
    _print_pools(findings)
    for pool in findings.pools:
        if most:
            show(Text(f"\n{pool.pool}: tenants, the largest share errors first", "bold"))
            _print_tenants(listed(pool, most))
    show()
    show(Text.assemble(("jain: ", "bold"), f"{findings.jain:.5f}"))
    show(Text.assemble(("worst_share_error: ", "bold"), f"{findings.worst_share_error:.2%}"))
    if findings.cost_per_day is not None:
        show(Text.assemble(("cost_per_day: ", "bold"), f"{findings.cost_per_day:,.0f}"))


def _print_pools(findings: "Findings") -> None:
    names = ("pool", "slots", "simulated", "for", "jobs", "busy", "p50_wait", "p99_wait", "longest", "target", "late")
    listing = table(**dict.fromkeys((*names, "jain", "worst_error"), True))
    for pool in findings.pools:
        listing.add_row(*(cell(value) for value in _pool_cells(pool)))
    show(listing)


def _pool_cells(pool: "PoolFinding") -> list[str]:
    plan = pool.plan
    return [
        pool.pool,
        f"{plan.slots:,}",
        f"{plan.simulated_slots:,}",
        humanize(pool.seconds),
        f"{pool.jobs:,}",
        f"{pool.busy:.1%}",
        *([humanize(wait) for wait in pool.waits] if pool.waits else [""] * 3),
        "" if plan.wait_target is None else humanize(plan.wait_target),
        "" if pool.late is None else f"{pool.late:.3%}",
        f"{pool.jain:.5f}",
        f"{pool.worst_share_error:.2%}",
    ]


def _print_tenants(tenants: "list[TenantFinding]") -> None:
    names = ("tenant", "tier", "weight", "jobs", "entitled", "delivered", "error", "p50_wait", "alone", "p99_wait")
    listing = table(**dict.fromkeys(names, True))
    listing.add_column("alone", no_wrap=True)
    for tenant in tenants:
        waits = tenant.waits
        times = (waits.p50, waits.alone_p50, waits.p99, waits.alone_p99) if waits else ()
        error = f"{tenant.ratio - 1:+.2%}" if tenant.judged else "few jobs"
        listing.add_row(
            cell(tenant.name),
            tenant.tier,
            f"{tenant.weight:g}",
            f"{tenant.jobs:,}",
            f"{tenant.entitled:,.1f}",
            f"{tenant.delivered:,.1f}",
            error,
            *(humanize(time) for time in times),
        )
    show(listing)
