"""Draws the results of a simulation: for each pool the used slots, delivered against entitled, and waits."""

from collections.abc import Callable

from fairlead.core.durations import humanize
from fairlead.sim.findings import Findings, PoolFinding, TenantFinding
from fairlead.sim.svg import FAINT, GRID, INK, Canvas, Scale, spread

WIDTH, ROW, HEAD = 1260.0, 330.0, 50.0
PANEL, GAP, LEFT, TOP, FLOOR = 330.0, 80.0, 60.0, 50.0, 240.0  # of a panel, within its row
COLOURS = ("#2f6f9f", "#e07a3f", "#4d9a6a", "#b0539a", "#c9a227", "#5b5ea6", "#d1495b", "#5aa9a3")
OTHERS = "#cbd2d9"
TIERS = {"free": "#c9a227", "standard": "#2f6f9f", "pro": "#4d9a6a", "enterprise": "#b0539a"}
TOLERANCE = 0.05
LEAST_WAIT = 0.001
MOST_DOTS = 500


def draw(findings: Findings) -> str:
    """Draw the results as SVG."""
    canvas = Canvas(WIDTH, HEAD + ROW * len(findings.pools))
    canvas.text(LEFT - 40, 30, findings.scenario.name, 17, bold=True)
    summary = f"Jain {findings.jain:.4f}, worst share error {findings.worst_share_error:.1%}"
    canvas.text(WIDTH - 30, 30, summary, 13, anchor="end")
    for number, pool in enumerate(findings.pools):
        top = HEAD + number * ROW
        _use(canvas, pool, LEFT, top)
        _shares(canvas, pool, LEFT + PANEL + GAP, top)
        _waits(canvas, pool, LEFT + 2 * (PANEL + GAP), top)
    return canvas.document()


class Panel:
    """A frame with two scales, their ticks and a title."""

    def __init__(self, canvas: Canvas, left: float, top: float, title: str) -> None:
        self.canvas = canvas
        self.left, self.right = left, left + PANEL
        self.top, self.floor = top + TOP, top + TOP + FLOOR
        canvas.text(left, top + 30, title, 12.5, bold=True)

    def scales(self, across: tuple[float, float], up: tuple[float, float], logarithmic: tuple[bool, bool]) -> None:
        """Compute both scales."""
        self.x = Scale(*across, self.left, self.right, logarithmic[0])
        self.y = Scale(*up, self.floor, self.top, logarithmic[1])

    def grid(self, across: Callable[[float], str], up: Callable[[float], str]) -> None:
        """Draw the ticks of both scales with their labels."""
        for tick in self.y.ticks():
            self.canvas.line([(self.left, self.y(tick)), (self.right, self.y(tick))], GRID)
            self.canvas.text(self.left - 6, self.y(tick) + 4, up(tick), 10, FAINT, "end")
        for tick in self.x.ticks():
            self.canvas.line([(self.x(tick), self.floor), (self.x(tick), self.floor + 4)], FAINT)
            self.canvas.text(self.x(tick), self.floor + 16, across(tick), 10, FAINT, "middle")
        self.canvas.line([(self.left, self.floor), (self.right, self.floor)], FAINT)

    def empty(self, reason: str) -> None:
        """Write that there is no data."""
        self.canvas.text((self.left + self.right) / 2, (self.top + self.floor) / 2, reason, 11, FAINT, "middle")


def _use(canvas: Canvas, pool: PoolFinding, left: float, top: float) -> None:
    """Draw the used slots of each tenant over time, stacked."""
    ledger = pool.ledger
    panel = Panel(canvas, left, top, f"{pool.pool}: slots in use ({pool.busy:.0%} of {ledger.slots:,})")
    panel.scales((ledger.begin, ledger.ends[-1]), (0.0, float(ledger.slots)), (False, False))
    largest = sorted(range(len(pool.tenants)), key=lambda number: -ledger.delivered[number])[: len(COLOURS)]
    below = [0.0] * len(ledger.ends)
    for place, number in enumerate(largest):
        got = [step.get(number, 0.0) for step in ledger.history]
        below = _band(panel, pool, below, got, COLOURS[place])
    if len(largest) < len(pool.tenants):
        rest = [sum(step.values()) for step in ledger.history]
        known = [sum(step.get(number, 0.0) for number in largest) for step in ledger.history]
        _band(panel, pool, below, [a - b for a, b in zip(rest, known, strict=True)], OTHERS)
    panel.grid(humanize, lambda value: f"{value:,.0f}" if pool.ledger.slots > 5 else f"{value:g}")
    _legend(canvas, pool, largest, left, panel.floor + 30)


def _band(panel: Panel, pool: PoolFinding, below: list[float], got: list[float], colour: str) -> list[float]:
    """Draw one tenant's slots on top of the others'; returns the new upper edge."""
    begins = [pool.ledger.begin, *pool.ledger.ends]
    above, lower, upper = [], [], []
    for number, base in enumerate(below):
        start, end = begins[number], begins[number + 1]
        edge = base + got[number] / (end - start)
        above.append(edge)
        upper += [(panel.x(start), panel.y(edge)), (panel.x(end), panel.y(edge))]
        lower += [(panel.x(start), panel.y(base)), (panel.x(end), panel.y(base))]
    panel.canvas.area([*upper, *reversed(lower)], colour, 0.9)
    return above


def _legend(canvas: Canvas, pool: PoolFinding, numbers: list[int], left: float, y: float) -> None:
    for place, number in enumerate(numbers[:4]):
        x = left + place * PANEL / 4
        canvas.dot(x + 4, y - 4, COLOURS[place], 4, 1)
        canvas.text(x + 12, y, _short(pool.tenants[number].name, 11), 10, INK)


def _shares(canvas: Canvas, pool: PoolFinding, left: float, top: float) -> None:
    """Draw each tenant as a dot, delivered over entitled, with a band of 5 % around the diagonal."""
    title = f"delivered against entitled slot-seconds, {len(pool.judged):,} tenants"
    panel = Panel(canvas, left, top, title)
    if not pool.judged:
        return panel.empty("no tenant had enough work to be judged")
    values = [value for tenant in pool.judged for value in (tenant.entitled, tenant.delivered) if value > 0]
    low, high = spread(values)
    panel.scales((low, high), (low, high), (True, True))
    panel.grid(_number, _number)
    edges = [(low, 1 + TOLERANCE), (high, 1 + TOLERANCE), (high, 1 - TOLERANCE), (low, 1 - TOLERANCE)]
    canvas.area([(panel.x(x), panel.y(x * factor)) for x, factor in edges], FAINT, 0.35)
    canvas.line([(panel.x(low), panel.y(low)), (panel.x(high), panel.y(high))], FAINT)
    for tenant in _thinned(pool.judged):
        canvas.dot(panel.x(tenant.entitled), panel.y(max(low, tenant.delivered)), TIERS[tenant.tier])
    for place, (tier, colour) in enumerate(_tiers(pool)):
        canvas.dot(left + 4 + place * 80, panel.floor + 26, colour, 4, 1)
        canvas.text(left + 12 + place * 80, panel.floor + 30, tier, 10)


def _waits(canvas: Canvas, pool: PoolFinding, left: float, top: float) -> None:
    """Draw the p99 wait of each tenant, in order, and the p99 wait if it were alone."""
    panel = Panel(canvas, left, top, "p99 wait by tenant; grey: if it were alone")
    found = sorted((tenant.waits.p99, tenant.waits.alone_p99, tenant.tier) for tenant in pool.tenants if tenant.waits)
    if not found:
        return panel.empty("every tenant has a backlog without end")
    found = found[:: 1 + len(found) // MOST_DOTS]
    longest = max(max(p99, alone) for p99, alone, _ in found)
    low, high = spread([LEAST_WAIT, max(longest, pool.plan.wait_target or 0.0, LEAST_WAIT * 10)])
    panel.scales((0.0, 100.0), (low, high), (False, True))
    panel.grid(lambda value: f"{value:.0f} %", humanize)
    for number, (p99, alone, tier) in enumerate(found):
        x = panel.x(100.0 * (number + 0.5) / len(found))
        canvas.dot(x, panel.y(alone), FAINT, 2)
        canvas.dot(x, panel.y(p99), TIERS[tier])
    if pool.plan.wait_target is not None:
        y = panel.y(pool.plan.wait_target)
        canvas.line([(panel.left, y), (panel.right, y)], "#d1495b", 1.2, dashed=True)
        canvas.text(panel.right, y - 5, f"target {humanize(pool.plan.wait_target)}", 10, "#d1495b", "end")


def _thinned(tenants: list[TenantFinding]) -> list[TenantFinding]:
    """Select the tenants with the largest errors, and a sample of the others."""
    return tenants[:100] + tenants[100 :: 1 + len(tenants) // MOST_DOTS]


def _tiers(pool: PoolFinding) -> list[tuple[str, str]]:
    present = {tenant.tier for tenant in pool.tenants}
    return [(tier, colour) for tier, colour in TIERS.items() if tier in present]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


def _short(name: str, most: int) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"
