"""Breakers: when they open, what they let through, and that they never get stuck."""

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from fairlead.core.durations import seconds
from fairlead.core.protection.breaker import (
    BREAKER,
    Breaker,
    BreakerState,
    Phase,
    allowance,
    breaker_state,
    describe,
    give_back,
    heard,
    is_over,
    is_shut,
    opened,
    opened_by_hand,
    permit,
    why_open,
    why_open_for_all,
)
from fairlead.core.protection.controls import Control
from fairlead.core.protection.run_counts import Sums, of_tenant
from fairlead.errors import ConfigError

POLICY = Breaker(cooldown="10s", longest_cooldown="60s", probes=4, patience="30s", ramp="20s")

policies = st.builds(
    Breaker,
    threshold=st.floats(0.01, 1.0),
    minimum=st.integers(1, 200),
    cooldown=st.floats(0.1, 100),
    longest_cooldown=st.floats(0, 1000),
    probes=st.integers(1, 50),
    patience=st.floats(0.1, 100),
    ramp=st.floats(0, 100),
)
sums = st.builds(Sums, st.integers(0, 1000), st.integers(0, 1000), st.floats(0, 100))


@given(policies, sums)
def test_it_opens_exactly_at_the_threshold_and_the_minimum(policy: Breaker, counted: Sums) -> None:
    enough = counted.total >= policy.minimum and counted.bad >= policy.threshold * counted.total
    assert (why_open(policy, counted) is not None) is enough


def test_half_of_twenty_is_enough_by_default() -> None:
    assert why_open(Breaker(), Sums(10, 10)) == "10 of 20 runs failed within 1m"
    assert why_open(Breaker(), Sums(11, 10)) is None
    assert why_open(Breaker(), Sums(0, 19)) is None


def test_it_waits_until_all_have_had_time_to_count() -> None:
    assert why_open(Breaker(), Sums(0, 50, 0.5), settled=1.0) is None
    assert why_open(Breaker(), Sums(0, 50, 1.0), settled=1.0) is not None


def test_one_that_is_off_never_opens_by_itself() -> None:
    assert why_open(Breaker.off(), Sums(0, 1_000_000, 60.0)) is None


@given(policies, st.integers(1, 100))
def test_each_opening_in_a_row_waits_longer_up_to_the_longest(policy: Breaker, openings: int) -> None:
    def cooldown(count: int) -> float:
        return opened(policy, "why", 0.0, count).until or 0.0

    assert cooldown(openings) <= cooldown(openings + 1)
    assert cooldown(openings) <= max(seconds(policy.cooldown), seconds(policy.longest_cooldown))
    assert cooldown(1) == seconds(policy.cooldown)


@given(policies, st.floats(0, 200), st.floats(0, 200))
def test_the_ramp_only_rises_and_begins_with_the_probes(policy: Breaker, one: float, other: float) -> None:
    ramp = BreakerState(Phase.RAMPING, 1000.0, None, "", policy)
    early, late = sorted((one, other))
    assert allowance(ramp, 1000.0 + early) <= allowance(ramp, 1000.0 + late)
    assert allowance(ramp, 1000.0) == policy.probes or seconds(policy.ramp) == 0
    assert allowance(ramp, 1e9) == policy.probes * 1024


@given(policies, st.data())
def test_the_probes_always_come_to_a_verdict(policy: Breaker, data: st.DataObject) -> None:
    _, breaker = permit(opened(policy, "why", 0.0), policy.probes, 1e6)
    ends = data.draw(st.lists(st.booleans(), min_size=policy.probes, max_size=policy.probes))
    for good in ends:
        if breaker.phase is Phase.HALF_OPEN:
            breaker = heard(breaker, int(good), int(not good), 1e6 + 1)
    share = ends.count(False) / policy.probes
    assert breaker.phase is (Phase.OPEN if share >= policy.threshold else Phase.RAMPING)


def test_a_breaker_is_shut_while_it_cools_down() -> None:
    breaker = opened(POLICY, "why", 100.0)
    assert is_shut(breaker, 109.9)
    assert permit(breaker, 10, 109.9) == (0, breaker)
    count, probing = permit(breaker, 10, 110.0)
    assert (count, probing.phase, probing.since, probing.permits) == (4, Phase.HALF_OPEN, 110.0, 4)


def test_half_open_permits_are_bounded_whoever_asks() -> None:
    first, breaker = permit(opened(POLICY, "why", 0.0), 3, 50.0)
    second, breaker = permit(breaker, 3, 51.0)
    third, breaker = permit(breaker, 3, 52.0)
    assert (first, second, third) == (3, 1, 0)


def test_a_permit_that_was_not_used_goes_to_another() -> None:
    _, breaker = permit(opened(POLICY, "why", 0.0), 4, 50.0)
    assert permit(give_back(breaker, 2), 4, 51.0)[0] == 2


def test_probes_that_are_lost_are_replaced_when_patience_ends() -> None:
    _, breaker = permit(opened(POLICY, "why", 0.0), 4, 50.0)
    breaker = heard(breaker, 1, 0, 60.0)
    assert permit(breaker, 4, 79.0)[0] == 0
    assert permit(breaker, 4, 80.0)[0] == 3


def test_an_outage_doubles_the_cooldown_and_probes_of_which_some_succeed_do_not() -> None:
    _, breaker = permit(opened(POLICY, "why", 0.0, openings=2), 4, 50.0)
    all_bad, some_good = heard(breaker, 0, 2, 60.0), heard(breaker, 1, 2, 60.0)
    assert (all_bad.phase, all_bad.openings, all_bad.until) == (Phase.OPEN, 3, 100.0)
    assert (some_good.phase, some_good.openings, some_good.until) == (Phase.OPEN, 1, 70.0)
    assert some_good.why == "2 of 4 probes failed"


def test_failures_while_it_ramps_up_open_it_again_as_soon_as_there_are_enough_runs_to_judge_by() -> None:
    ramp = BreakerState(Phase.RAMPING, 0.0, None, "", POLICY, openings=5)
    assert heard(ramp, 0, POLICY.minimum - 1, 1.0).phase is Phase.RAMPING
    assert heard(ramp, 11, 9, 1.0).phase is Phase.RAMPING
    again = heard(ramp, 10, 10, 1.0)
    assert (again.why, again.openings, again.until) == ("10 of 20 runs failed while it ramped up", 1, 11.0)


def test_a_type_that_fails_at_random_does_not_get_long_cooldowns() -> None:
    """A day of a type of which 40 % fail: its breaker opens now and then, and no wait grows."""
    chance = random.Random(40)
    waits = []
    for _ in range(300):
        breaker, now = opened(Breaker(), "why", 0.0), 0.0
        while not is_over(breaker, now):
            if breaker.phase is Phase.OPEN:
                waits.append((breaker.until or 0.0) - breaker.since)
            now += 10.0 if is_shut(breaker, now) else 1.0
            count, breaker = permit(breaker, 3, now)
            for _ in range(count):
                if breaker.phase is not Phase.OPEN:
                    bad = chance.random() < 0.4
                    breaker = heard(breaker, int(not bad), int(bad), now)
    assert sum(waits) / len(waits) < 20
    assert sum(wait >= 80 for wait in waits) < len(waits) / 100


ONE, OTHERS = Sums(0, 1_000, 9.0), Sums(100, 0, 9.0)


@pytest.mark.parametrize(
    ("groups", "opens"),
    [
        ([ONE], False),
        ([ONE, ONE], False),
        ([ONE, ONE, ONE], True),
        ([ONE, OTHERS], False),
        ([ONE, OTHERS, OTHERS, OTHERS], False),
        ([ONE, ONE, ONE, OTHERS, OTHERS, OTHERS], True),
        ([ONE, ONE, ONE, OTHERS, OTHERS, OTHERS, OTHERS], False),
        ([Sums(0, 7)] * 3 + [Sums(10_000, 0)], False),
    ],
)
def test_it_opens_for_all_only_when_the_jobs_of_several_tenants_fail(groups: list[Sums], opens: bool) -> None:
    total = Sums(sum(one.good for one in groups), sum(one.bad for one in groups), 9.0)
    assert (why_open_for_all(Breaker(), total, groups) is not None) is opens


def test_what_it_says_names_the_phase_the_tenant_and_why_it_opened() -> None:
    breaker = opened(POLICY, "20 of 20 runs failed within 1m", 0.0)
    _, probing = permit(breaker, 4, 10.0)
    ramping = heard(probing, 4, 0, 11.0)
    name = of_tenant("type:send_email", "acme")
    assert describe(name, breaker, 1.0) == (
        "the breaker of type send_email for tenant acme is open: 20 of 20 runs failed within 1m; next try in 9s"
    )
    assert describe("type:send_email", probing, 10.0) == (
        "the breaker of type send_email is half-open: it lets only a few jobs start, as probes; "
        "it had opened because 20 of 20 runs failed within 1m"
    )
    assert describe("dependency:mail", ramping, 11.0) == (
        "the breaker of dependency mail is ramping up: it lets more and more jobs start; "
        "it had opened because 20 of 20 runs failed within 1m"
    )


def test_it_is_over_when_the_ramp_is() -> None:
    ramp = BreakerState(Phase.RAMPING, 100.0, None, "", POLICY)
    assert not is_over(ramp, 119.9)
    assert is_over(ramp, 120.0)


def test_one_opened_by_hand_stays_open() -> None:
    breaker = opened_by_hand(POLICY, "ada", "maintenance", 0.0)
    assert is_shut(breaker, 1e12)
    assert "fairlead settings remove breaker dependency:stripe" in describe("dependency:stripe", breaker, 0.0)


@given(policies, st.floats(0, 2e9))
def test_a_control_keeps_all_of_it(policy: Breaker, now: float) -> None:
    _, breaker = permit(opened(policy, "100 % 🛟", now, 3), 2, now + 1e6)
    value = json.loads(json.dumps(breaker.value()))
    assert breaker_state(Control(BREAKER, "type:x", value, 1, now)) == breaker
    assert breaker_state(Control(BREAKER, "type:x", None, 2, now)) is None


@pytest.mark.parametrize(
    "wrong",
    [{"threshold": 0}, {"threshold": 1.1}, {"minimum": 0}, {"probes": 0}, {"window": 0}, {"cooldown": 0}, {"ramp": -1}],
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        Breaker(**wrong)


class Life(RuleBasedStateMachine):
    """A breaker from its opening on, with workers that ask, die, succeed and fail in any order."""

    breaker: BreakerState | None
    policy: Breaker

    @initialize(policy=policies)
    def begin(self, policy: Breaker) -> None:
        self.policy, self.now = policy, 1000.0
        self.breaker = opened(policy, "why", self.now)
        self.running: dict[int, int] = {}  # permitted runs by the phase they began in
        self.began = 0  # starts in the present phase

    @rule(passed=st.floats(0, 300))
    def wait(self, passed: float) -> None:
        self.now += passed
        if self.breaker is not None and is_over(self.breaker, self.now):
            self.breaker = None

    @precondition(lambda self: self.breaker is not None)
    @rule(wanted=st.integers(1, 60))
    def ask(self, wanted: int) -> None:
        assert self.breaker is not None
        shut, before = is_shut(self.breaker, self.now), self.breaker
        count, self.breaker = permit(self.breaker, wanted, self.now)
        if before.number != self.breaker.number:
            self.began = 0
        self.began += count
        self.running[self.breaker.number] = self.running.get(self.breaker.number, 0) + count
        assert 0 <= count <= wanted
        assert not (shut and count), "nothing starts while it is shut"
        if self.breaker.phase is Phase.HALF_OPEN:
            assert self.breaker.permits <= self.policy.probes
        if self.breaker.phase is Phase.RAMPING:
            assert self.began <= allowance(self.breaker, self.now)

    @precondition(lambda self: self.breaker is not None)
    @rule(good=st.booleans(), count=st.integers(1, 30))
    def end(self, good: bool, count: int) -> None:
        """Runs of the present phase end; those of earlier ones are not told."""
        assert self.breaker is not None
        number = self.breaker.number
        count = min(count, self.running.get(number, 0))
        self.running[number] = self.running.get(number, 0) - count
        if not count:
            return
        after = heard(self.breaker, count if good else 0, 0 if good else count, self.now)
        if after.phase is Phase.OPEN:
            assert not good
            assert after.openings in (1, self.breaker.openings + 1)
        if after.number != number:
            self.began = 0
        self.breaker = after

    @rule(count=st.integers(1, 30))
    def die(self, count: int) -> None:
        """Workers die with what they run; nobody tells."""
        for number, running in self.running.items():
            self.running[number] = max(0, running - count)

    @invariant()
    def it_can_always_close(self) -> None:
        """Whatever has happened, time and successes alone close it."""
        breaker, now = getattr(self, "breaker", None), getattr(self, "now", 0.0)
        for _ in range(3):
            if breaker is None:
                return
            now += 10_000.0
            count, breaker = permit(breaker, 100, now)
            breaker = heard(breaker, count, 0, now)
            if is_over(breaker, now + 10_000.0):
                breaker = None
        assert breaker is None


Life.TestCase.settings = settings(max_examples=40, stateful_step_count=20, deadline=None)
test_the_life_of_a_breaker = Life.TestCase
