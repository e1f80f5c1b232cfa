"""Who gets the free slots."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.fairness.queue import AGEING, BUNDLE, FEW, Balance, Charge, FairQueue, Grant, urgency
from fairlead.core.fairness.tenancy import Tenant
from fairlead.core.jobs.model import ActiveLane, Lane, Priority

NOW = 1000.0

lanes = st.builds(
    ActiveLane,
    st.builds(
        Lane,
        st.just("default"),
        st.sampled_from("abcdef"),
        st.sampled_from(["mail", "report"]),
        st.sampled_from(Priority),
        st.just(1),
    ),
    st.floats(0, NOW),
)
many_lanes = st.lists(lanes, max_size=20, unique_by=lambda item: item.lane)


def allocate(active_lanes: list[ActiveLane], free: int) -> list[Grant]:
    queue = FairQueue()
    queue.update(active_lanes)
    return queue.allocate(free, one_second)


def one_second(lane: Lane) -> float:
    return 1.0


def active(tenant: str, since: float = 0.0, priority: Priority = Priority.DEFAULT) -> ActiveLane:
    return ActiveLane(Lane("default", tenant, "mail", priority, 1), since)


@given(active_lanes=many_lanes, free=st.integers(-2, 50))
def test_never_more_than_the_free_slots_and_all_of_them_if_there_is_work(
    active_lanes: list[ActiveLane], free: int
) -> None:
    total = sum(quota[1] for quota in allocate(active_lanes, free))
    assert total == (max(free, 0) if active_lanes else 0)


@given(active_lanes=many_lanes, free=st.integers(0, 50))
def test_every_tenant_gets_an_equal_turn(active_lanes: list[ActiveLane], free: int) -> None:
    tenant_of = {item.lane.id: item.lane.tenant for item in active_lanes}
    turns: Counter[str] = Counter()
    for quota in allocate(active_lanes, free):
        turns[tenant_of[quota.lane.id]] += quota.most
    tenants = set(tenant_of.values())
    assert len(turns) == min(free, len(tenants))
    if turns:
        assert max(turns.values()) - min(turns.values()) <= 1


@given(active_lanes=many_lanes, free=st.integers(1, 50))
def test_quotas_are_positive_and_carry_the_since_of_their_lane(active_lanes: list[ActiveLane], free: int) -> None:
    since = {item.lane.id: item.since for item in active_lanes}
    for quota in allocate(active_lanes, free):
        assert quota[1] > 0
        assert quota.since == since[quota.lane.id]


def test_one_lane_alone_gets_all_slots() -> None:
    (quota,) = allocate([active("a")], 7)
    assert (quota.lane.id, quota[1]) == (active("a").lane.id, 7)


def test_with_too_few_slots_those_who_waited_longest_come_first() -> None:
    waiting = [active("young", 900), active("old", 100), active("middle", 500)]
    quotas = allocate(waiting, 2)
    assert [quota.lane.id for quota in quotas] == [active("old").lane.id, active("middle").lane.id]


def test_the_rest_goes_to_those_who_waited_longest() -> None:
    quotas = allocate([active("young", 900), active("old", 100)], 3)
    assert [(quota.lane.id, quota[1]) for quota in quotas] == [(active("old").lane.id, 2), (active("young").lane.id, 1)]


def test_the_more_urgent_lane_of_a_tenant_goes_first() -> None:
    high, low = active("a", 990, Priority.HIGH), active("a", 990, Priority.LOW)
    (quota,) = allocate([low, high], 5)
    assert quota.lane.id == high.lane.id


def test_waiting_overcomes_priority() -> None:
    high, low = active("a", NOW, Priority.HIGH), active("a", NOW - 2 * AGEING - 1, Priority.LOW)
    assert urgency(low, NOW) < urgency(high, NOW)
    (quota,) = allocate([high, low], 5)
    assert quota.lane.id == low.lane.id


def test_nothing_to_do_is_no_quota() -> None:
    assert allocate([], 5) == []
    assert allocate([active("a")], 0) == []


def queue_of(*tenants: Tenant) -> FairQueue:
    known = {tenant.name: tenant for tenant in tenants}
    queue = FairQueue(lambda name: known.get(name) or Tenant(name))
    queue.update([active(tenant.name) for tenant in tenants])
    return queue


def turns_of(queue: FairQueue, free: int) -> Counter[str]:
    turns: Counter[str] = Counter()
    for grant in queue.allocate(free, one_second):
        turns[grant.lane.tenant] += grant.most
    return turns


@given(weights=st.lists(st.integers(1, 50), min_size=1, max_size=8), rounds=st.lists(st.integers(1, 40), max_size=20))
def test_slots_are_divided_by_weight_whatever_the_size_of_the_claims(weights: list[int], rounds: list[int]) -> None:
    queue = queue_of(*(Tenant(f"t{index}", weight=weight) for index, weight in enumerate(weights)))
    turns: Counter[str] = Counter()
    for free in rounds:
        turns.update(turns_of(queue, free))
    for index, weight in enumerate(weights):
        fair = sum(rounds) * weight / sum(weights)
        assert abs(turns[f"t{index}"] - fair) <= len(weights)


@given(free=st.integers(1, 200), weights=st.lists(st.integers(1, 20), min_size=1, max_size=6))
def test_one_claim_is_divided_like_many_claims_of_one(free: int, weights: list[int]) -> None:
    tenants = [Tenant(f"t{index}", weight=weight) for index, weight in enumerate(weights)]
    at_once, one_by_one = queue_of(*tenants), queue_of(*tenants)
    single: Counter[str] = Counter()
    for _ in range(free):
        single.update(turns_of(one_by_one, 1))
    together = turns_of(at_once, free)
    assert all(abs(together[tenant.name] - single[tenant.name]) <= 1 for tenant in tenants)


def test_longer_jobs_take_fewer_turns() -> None:
    queue = FairQueue()
    lanes = [active("a"), ActiveLane(Lane("default", "b", "report", Priority.DEFAULT, 1), 0.0)]
    queue.update(lanes)
    turns: Counter[str] = Counter()
    for grant in queue.allocate(110, lambda lane: 10.0 if lane.type == "report" else 1.0):
        turns[grant.lane.tenant] += grant.most
    assert turns == {"a": 100, "b": 10}


@given(used=st.integers(0, 1000), later=st.integers(2, 100))
def test_who_was_idle_has_no_credit_and_who_worked_alone_owes_nothing(used: int, later: int) -> None:
    queue = FairQueue()
    queue.update([active("busy")])
    for grant in queue.allocate(used, one_second):
        queue.correct(grant.lane, 0.0, -grant.most * grant.cost)  # all of it has run
    queue.update([active("busy"), active("fresh")])
    turns = turns_of(queue, later)
    assert abs(turns["busy"] - turns["fresh"]) <= 2


def test_who_comes_back_after_others_finished_owes_nothing_either() -> None:
    queue = FairQueue()
    queue.update([active("first")])
    for grant in queue.allocate(500, one_second):
        queue.correct(grant.lane, 0.0, -grant.most * grant.cost)
    queue.update([])
    queue.update([active("first"), active("second")])
    turns = turns_of(queue, 100)
    assert turns == {"first": 50, "second": 50}


def test_a_guess_that_was_too_long_holds_nobody_back() -> None:
    queue = FairQueue()
    queue.update([active("guessed")])
    (grant,) = queue.allocate(50, lambda lane: 10.0)
    queue.update([active("guessed"), active("fresh")])
    queue.correct(grant.lane, -50 * 9.99, -50 * 10.0)
    turns = turns_of(queue, 100)
    assert turns["fresh"] >= 49


def test_what_a_lane_did_not_have_is_given_back() -> None:
    queue = queue_of(Tenant("dry"), Tenant("full"))
    for grant in queue.allocate(20, one_second):
        if grant.lane.tenant == "dry":
            queue.give_back(grant, 0)
    assert turns_of(queue, 10) == {"dry": 10}


def test_the_free_tenants_together_get_one_weight() -> None:
    queue = queue_of(*(Tenant(f"free{index}", "free") for index in range(50)), *(Tenant(f"s{i}") for i in range(5)))
    turns = turns_of(queue, 510)
    assert sum(turns[f"free{index}"] for index in range(50)) == 10
    assert all(turns[f"s{index}"] == 100 for index in range(5))


def test_the_free_tier_is_confined_while_others_wait_and_only_then() -> None:
    queue = queue_of(Tenant("free", "free"), Tenant("standard", weight=1.0))
    assert turns_of(queue, 1000)["free"] == 50
    assert turns_of(queue_of(Tenant("free", "free")), 1000)["free"] == 1000


def test_pro_has_its_minimum_among_thousands() -> None:
    queue = queue_of(Tenant("pro", "pro"), *(Tenant(f"s{index}") for index in range(5000)))
    assert turns_of(queue, 50_000)["pro"] in range(450, 520)


def test_a_new_weight_counts_from_now_on() -> None:
    known = {"a": Tenant("a", weight=1.0), "b": Tenant("b", weight=1.0)}
    queue = FairQueue(known.__getitem__)
    lanes = [active("a"), active("b")]
    queue.update(lanes)
    assert turns_of(queue, 100) == {"a": 50, "b": 50}
    known["a"] = Tenant("a", weight=3.0)
    queue.update(lanes)
    assert turns_of(queue, 100)["a"] in range(74, 77)


def test_a_tenant_that_changes_its_tier_begins_at_the_floor_of_its_new_place() -> None:
    known = {"a": Tenant("a"), "b": Tenant("b"), "c": Tenant("c", "free")}
    queue = FairQueue(known.__getitem__)
    lanes = [active(name) for name in known]
    queue.update(lanes)
    for grant in queue.allocate(210, one_second):
        queue.correct(grant.lane, 0.0, -grant.most * grant.cost)
    known["a"] = Tenant("a", "free")
    queue.update(lanes)
    turns = turns_of(queue, 200)
    assert turns["b"] == 190
    assert turns["a"] in range(4, 7)


def test_pools_of_one_worker_get_equal_parts_of_it() -> None:
    queue = FairQueue()
    lanes = [ActiveLane(Lane("left", f"t{index}", "mail", Priority.DEFAULT, 1), 0.0) for index in range(9)]
    queue.update([*lanes, ActiveLane(Lane("right", "t0", "mail", Priority.DEFAULT, 1), 0.0)])
    turns: Counter[str] = Counter()
    for grant in queue.allocate(90, one_second):
        turns[grant.lane.pool] += grant.most
    assert turns == {"left": 45, "right": 45}


class Book:
    """What a store does with charges."""

    def __init__(self) -> None:
        self.accounts: dict[tuple[str, str], tuple[float, float]] = {}

    def exchange(self, charges: list[Charge]) -> list[Balance]:
        for pool, account, begin, virtual, floor in charges:
            stored, old_floor = self.accounts.get((pool, account), (0.0, 0.0))
            self.accounts[pool, account] = (max(stored, begin) + virtual, max(old_floor, floor))
        return [Balance(*key, *value) for key, value in self.accounts.items()]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 30)), min_size=20, max_size=60))
def test_workers_that_exchange_their_charges_divide_by_weight_together(steps: list[tuple[int, int]]) -> None:
    tenants = [Tenant("a", weight=1.0), Tenant("b", weight=2.0), Tenant("free", "free"), Tenant("d", weight=5.0)]
    queues = [queue_of(*tenants) for _ in range(3)]
    book = Book()
    turns: Counter[str] = Counter()
    for worker, free in steps:
        turns.update(turns_of(queues[worker], free))
        queues[worker].hear(book.exchange(queues[worker].tell()))
        for queue in queues:
            queue.hear(book.exchange([]))
    total = sum(turns.values())
    for name, share in (("a", 0.95 / 8), ("b", 0.95 / 4), ("d", 0.95 * 5 / 8), ("free", 0.05)):
        assert abs(turns[name] - total * share) <= 5


def test_workers_that_know_the_same_choose_different_tenants() -> None:
    """Else one tenant would get a long job of each worker at once, and then nothing for as many turns."""
    book, queues = Book(), [FairQueue() for _ in range(4)]
    for number, queue in enumerate(queues):
        queue.differ(f"worker-{number}")
        queue.update([active(f"t{number}") for number in range(100)])
    for number in range(400):
        turns_of(queues[number % 4], 1)
        for queue in queues:
            queue.hear(book.exchange(queue.tell()))
    firsts = [set(turns_of(queue, 1)) for queue in queues]
    assert len(set.union(*firsts)) >= 3


def test_a_refund_also_takes_back_what_the_charge_had_put_a_tenant_back() -> None:
    for number in range(20):
        queue = FairQueue()
        queue.differ(f"worker-{number}")
        queue.update([active("less"), active("more", 1.0)])
        for grant, ran in zip(queue.allocate(2, lambda lane: 10.0), (0.1, 0.2), strict=True):
            queue.correct(grant.lane, ran - grant.cost, -grant.cost)
        assert turns_of(queue, 1) == {"less": 1}


def test_who_just_became_busy_is_first_at_every_worker() -> None:
    for number in range(20):
        queue = FairQueue()
        queue.differ(f"worker-{number}")
        queue.update([active(f"t{index}") for index in range(10)])
        turns_of(queue, 37)
        queue.add(active("late"))
        assert turns_of(queue, 1) == {"late": 1}


@given(st.integers(1, 40), st.lists(st.integers(1, 5), min_size=2, max_size=6))
def test_a_worker_that_differs_divides_as_evenly(free: int, weights: list[int]) -> None:
    """Nobody is ever further from its part than without that, by more than the part of a job it is put back."""
    tenants = [Tenant(f"t{index}", weight=float(weight)) for index, weight in enumerate(weights)]
    queue = queue_of(*tenants)
    queue.differ("worker")
    turns: Counter[str] = Counter()
    for _ in range(20):
        turns.update(turns_of(queue, free))
        for tenant, weight in zip(tenants, weights, strict=True):
            assert abs(turns[tenant.name] - sum(turns.values()) * weight / sum(weights)) <= len(weights)


def test_of_many_tenants_few_share_a_claim_and_all_get_the_same_in_the_end() -> None:
    queue = FairQueue()
    queue.update([active(f"t{number}") for number in range(200)])
    turns: Counter[str] = Counter()
    for _ in range(50):
        grants = queue.allocate(160, lambda lane: 0.001)
        assert len(grants) <= FEW
        for grant in grants:
            turns[grant.lane.tenant] += grant.most
    assert set(turns.values()) == {40}


def test_a_bundle_of_jobs_is_no_longer_than_a_moment() -> None:
    queue = FairQueue()
    queue.update([active(f"t{number}") for number in range(200)])
    assert {grant.most for grant in queue.allocate(160, lambda lane: BUNDLE / 2)} == {2}
    assert {grant.most for grant in queue.allocate(160, one_second)} == {1}


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["allocate", "charge", "give back", "hear"]), st.integers(0, 99), st.floats(0.01, 50)
        ),
        max_size=60,
    )
)
def test_the_next_slot_always_goes_to_the_least_virtual_time(steps: list[tuple[str, int, float]]) -> None:
    """Whatever was charged and heard since, tenants that are not at the front included."""
    names = [f"t{number}" for number in range(12)]
    queue = FairQueue()
    queue.update([active(name) for name in names])
    used = dict.fromkeys(names, 0.0)
    for what, number, amount in steps:
        name = names[number % len(names)]
        if what == "allocate":
            (grant,) = queue.allocate(1, one_second)
            assert used[grant.lane.tenant] <= min(used.values()) + 1e-3
            used[grant.lane.tenant] += 1.0
        elif what == "hear":
            queue.tell()
            used[name] += amount
            queue.hear([Balance("default", name, used[name] / 10, 0.0)])  # tenants of this tier weigh 10
        else:
            change = amount if what == "charge" else -min(amount, used[name])
            used[name] += change
            queue.correct(active(name).lane, change, 0.0)


def test_what_was_told_is_not_told_again() -> None:
    queue = FairQueue()
    queue.update([active("a"), active("b")])
    queue.allocate(1, one_second)
    assert [charge.account for charge in queue.tell()] == ["a"]
    assert queue.tell() == []
    queue.correct(active("b").lane, 1.0, 0.0)
    assert "b" in {charge.account for charge in queue.tell()}


def test_a_worker_that_starts_late_takes_over_where_the_others_are() -> None:
    old, book = queue_of(Tenant("a", weight=1.0), Tenant("b", weight=1.0)), Book()
    for grant in old.allocate(1000, one_second):
        old.correct(grant.lane, 0.0, -grant.most * grant.cost)
    book.exchange(old.tell())
    late = FairQueue()
    late.hear(book.exchange([]))
    late.update([active("a"), active("b"), active("fresh")])
    assert set(turns_of(late, 30).values()) == {10}


def test_shares_without_work_are_forgotten() -> None:
    queue = FairQueue()
    for start in range(0, 5000, 100):
        queue.update([active(f"t{index}") for index in range(start, start + 100)])
        for grant in queue.allocate(100, one_second):
            queue.give_back(grant, 0)
        queue.tell()
    assert len(queue._accounts) < 2000
