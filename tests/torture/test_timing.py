"""Every time zone over ten years, against another cron library."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from tests.support import timing

BEGIN, END = (datetime(year, 1, 1, tzinfo=UTC) for year in timing.YEARS)

ZONES = timing.distinct_zones(BEGIN, END)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("expression", [*timing.NAMED, *timing.NAMED_SECONDS])
def test_named_times_over_ten_years_in_every_zone(expression: str) -> None:
    for zone in ZONES:
        wanted = timing.expected(expression, ZoneInfo(zone), BEGIN, END)
        assert timing.found(expression, zone, BEGIN, END) == wanted, zone


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("expression", [*timing.WALL, *timing.WALL_SECONDS])
def test_times_within_the_day_around_every_change_in_every_zone(expression: str) -> None:
    for zone in ZONES:
        place = ZoneInfo(zone)
        for day in timing.transitions(place, BEGIN, END):
            begin, end = day - timedelta(days=1), day + timedelta(days=3)
            wanted = timing.expected(expression, place, begin, end)
            assert timing.found(expression, zone, begin, end) == wanted, (zone, day)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("zone", ["Europe/Berlin", "Australia/Lord_Howe", "America/Havana"])
def test_hours_over_ten_years(zone: str) -> None:
    for expression in ("0 * * * *", "17 */3 * * *"):
        wanted = timing.expected(expression, ZoneInfo(zone), BEGIN, END)
        assert timing.found(expression, zone, BEGIN, END) == wanted
