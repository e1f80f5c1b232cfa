"""Timetables: against another cron library and brute force, where zones change their offset and where they do not."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.core.schedule.timing import LONGEST_EXPRESSION, NAMES, timetable
from fairlead.errors import ConfigError
from tests.support import timing

SAMPLE = (
    "Europe/Berlin",
    "America/New_York",
    "America/Havana",  # changes at midnight
    "Africa/Cairo",  # jumps over midnight
    "Australia/Lord_Howe",  # by half an hour
    "Antarctica/Troll",  # by two hours
    "Africa/Casablanca",  # around Ramadan
    "Asia/Kathmandu",
    "UTC",
)
ALL = (*timing.NAMED, *timing.NAMED_SECONDS, *timing.WALL, *timing.WALL_SECONDS)


def instant(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def fires(expression: str, zone: str, after: str, count: int) -> list[str]:
    """The next fires as the wall in that zone shows them."""
    table, moment, shown = timetable(expression, zone), instant(after), []
    for _ in range(count):
        following = table.next_after(moment)
        assert following is not None
        shown.append(f"{datetime.fromtimestamp(following, ZoneInfo(zone)):%d %H:%M:%S %z}")
        moment = following
    return shown


@pytest.mark.parametrize("zone", SAMPLE)
@pytest.mark.parametrize("expression", ALL)
def test_another_library_agrees_around_each_change_of_a_year(zone: str, expression: str) -> None:
    place = ZoneInfo(zone)
    for day in timing.transitions(place, datetime(2025, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)):
        begin, end = day - timedelta(days=1), day + timedelta(days=3)
        assert timing.found(expression, zone, begin, end) == timing.expected(expression, place, begin, end)


@pytest.mark.parametrize("expression", [*timing.NAMED, *timing.NAMED_SECONDS])
def test_another_library_agrees_over_ten_years(expression: str) -> None:
    begin, end = (datetime(year, 1, 1, tzinfo=UTC) for year in timing.YEARS)
    place = ZoneInfo("Europe/Berlin")
    assert timing.found(expression, "Europe/Berlin", begin, end) == timing.expected(expression, place, begin, end)


def test_a_named_time_that_is_skipped_fires_after_the_gap() -> None:
    assert fires("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00+01:00", 2) == [
        "29 03:00:00 +0200",
        "30 02:30:00 +0200",
    ]
    assert fires("0,20,40 2 * * *", "Europe/Berlin", "2026-03-28T12:00+01:00", 2) == [
        "29 03:00:00 +0200",
        "30 02:00:00 +0200",
    ]


def test_a_named_time_that_is_repeated_fires_the_first_time_only() -> None:
    for expression in ("30 2 * * *", "0 30 2 * * *"):
        assert fires(expression, "Europe/Berlin", "2026-10-24T12:00+02:00", 2) == [
            "25 02:30:00 +0200",
            "26 02:30:00 +0100",
        ]


def test_what_recurs_within_the_day_follows_the_wall() -> None:
    assert fires("*/30 * * * *", "Europe/Berlin", "2026-10-25T01:45+02:00", 5) == [
        "25 02:00:00 +0200",
        "25 02:30:00 +0200",
        "25 02:00:00 +0100",
        "25 02:30:00 +0100",
        "25 03:00:00 +0100",
    ]
    assert fires("*/30 * * * *", "Europe/Berlin", "2026-03-29T01:15+01:00", 2) == [
        "29 01:30:00 +0100",
        "29 03:00:00 +0200",
    ]


def test_a_day_that_a_zone_skips_fires_once_at_its_end() -> None:
    assert fires("0 9 * * *", "Pacific/Apia", "2011-12-29T12:00-10:00", 2) == [
        "31 00:00:00 +1400",
        "31 09:00:00 +1400",
    ]


@pytest.mark.parametrize(("name", "expression"), NAMES.items())
def test_names_stand_for_expressions(name: str, expression: str) -> None:
    start = instant("2026-05-05T05:05:05+00:00")
    assert timetable(name, "Asia/Tokyo").next_after(start) == timetable(expression, "Asia/Tokyo").next_after(start)


def test_seconds_come_first() -> None:
    assert fires("10,40 59 8 * * 1-5", "UTC", "2026-11-13T08:59:10+00:00", 2) == [
        "13 08:59:40 +0000",
        "16 08:59:10 +0000",
    ]


@given(st.integers(10, 10_000_000), st.integers(0, 2**41))
def test_an_interval_fires_at_its_multiples_and_never_drifts(milliseconds: int, moment: int) -> None:
    table = timetable(f"every {milliseconds}ms")
    first = table.next_after(moment / 1000)
    assert first is not None
    assert round(first * 1000) % milliseconds == 0
    assert moment / 1000 < first <= moment / 1000 + milliseconds / 1000 + 1e-6
    second = table.next_after(first)
    assert second is not None
    assert round(second * 1000) == round(first * 1000) + milliseconds


@pytest.mark.parametrize("length", ["1ms", "400d", "-1s", "x", "0"])
def test_an_interval_has_bounds(length: str) -> None:
    with pytest.raises(ConfigError):
        timetable(f"every {length}")


@given(st.text(max_size=LONGEST_EXPRESSION + 50), st.text(max_size=30))
def test_any_text_is_a_schedule_or_refused(expression: str, zone: str) -> None:
    for given_zone in (zone, "UTC"):
        try:
            following = timetable(expression, given_zone).next_after(0.0)
        except ConfigError:
            continue
        assert following is not None
        assert following > 0


FIELDS = st.tuples(
    st.sampled_from(["0", "*/7", "5-50/9", "59", "*", "1,2,3"]),
    st.sampled_from(["0", "2", "*", "*/5", "1-3", "23"]),
    st.sampled_from(["*", "1", "L", "28-31", "*/10"]),
    st.sampled_from(["*", "3", "10-11", "MAR,NOV"]),
    st.sampled_from(["*", "0", "1-5", "SUN#2", "5L"]),
)


@settings(deadline=None)
@given(FIELDS, st.sampled_from(timing.zones()), st.integers(1_600_000_000, 1_900_000_000), st.integers(1, 20))
def test_fires_rise_and_are_those_that_follow(fields: tuple[str, ...], zone: str, start: int, count: int) -> None:
    """Whatever the instant one starts from, the fires after it are the same ones; cronsim's own zones agree."""
    table = timetable(" ".join(fields), zone)
    oracle = CronSim(" ".join(fields), datetime.fromtimestamp(start, ZoneInfo(zone)))
    moment: float = start
    for _ in range(count):
        following = table.next_after(moment)
        assert following is not None
        assert following > moment
        assert table.next_after((moment + following) / 2) == following
        assert table.next_after(following - 1) == following
        told = next(oracle).timestamp()
        while told <= moment:  # it tells some instants twice where a gap swallows several times
            told = next(oracle).timestamp()
        assert told == following
        moment = following
