"""Fair share within seconds: a tenant whose jobs take longer than those of others of their type."""

import pytest

from fairlead.sim.findings import Findings
from tests.sim.making import run, worst_windows

WEIGHTS = {"small": 10, "middle": 100, "large": 1000}
HALF, TWICE = 0.5, 2.0


def contest(takes: dict[str, float], settle: float = 0.05, workers: int = 2, late: str = "", seed: int = 1) -> Findings:
    """Tenants with backlogs of one type, on 40 slots; the first 15 seconds are not measured."""
    tenants = [
        {
            "name": name,
            "weight": weight,
            "pattern": "backlog",
            "duration": {"kind": "lognormal", "mean": takes[name], "sigma": 0.1},
            "begin": 20.0 if name == late else 0.0,
        }
        for name, weight in WEIGHTS.items()
    ]
    pool = {"workers": workers, "settle": settle, "steps": 85, "estimate": 10}
    return run(tenants, {"one": {"mean": 1}}, 40, length=100, warm_up=15, seed=seed, pool=pool)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(
    "takes", [(2.0, 0.2, 0.02), (0.02, 0.2, 2.0), (2.0, 2.0, 2.0), (2.0, 0.02, 0.2)], ids=lambda takes: str(takes)
)
def test_each_tenant_has_half_to_twice_its_due_in_every_ten_seconds(takes: tuple[float, ...], workers: int) -> None:
    lengths = dict(zip(WEIGHTS, takes, strict=True))
    found = worst_windows(contest(lengths, workers=workers), lengths)
    assert set(found) == set(WEIGHTS)
    for name, (least, most) in found.items():
        assert least >= HALF, (name, found)
        assert most <= TWICE, (name, found)


@pytest.mark.parametrize("late", ["middle", "large"])
def test_a_late_tenant_has_its_share_after_two_seconds_although_its_jobs_are_unknown(late: str) -> None:
    """The others' jobs of the type take as long as its own, or a tenth, or ten times as long."""
    for takes in ((0.2, 0.2, 0.2), (2.0, 0.2, 0.02), (0.02, 0.2, 2.0)):
        pool = contest(dict(zip(WEIGHTS, takes, strict=True)), late=late).pools[0]
        number = list(WEIGHTS).index(late)
        got = pool.ledger.history[7:12]  # from two to seven seconds after it came
        due = sum(sum(step.values()) for step in got) * WEIGHTS[late] / sum(WEIGHTS.values())
        assert sum(step.get(number, 0.0) for step in got) == pytest.approx(due, rel=0.25), takes
