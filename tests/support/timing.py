"""What cron expressions mean, told by another library and by brute force.

croniter knows which times on the wall fit an expression; it is asked without a zone, since in a zone it follows
another rule (it fires twice at a time that is repeated). The stated rule of Fairlead is applied to these times here,
one by one, by trying both instants that a time on the wall can have.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import takewhile
from zoneinfo import ZoneInfo, available_timezones

from croniter import croniter

from fairlead.core.schedule.timing import timetable

NAMED = ("30 2 * * *", "0 0 * * *", "0,30 1-3 * * *", "15 3 * * 0", "59 23 28-31 3,10,11 *", "0 12 1 * *", "5 0 29 2 *")
NAMED_SECONDS = ("30 30 2 * * *", "0,59 0 0 * * *", "15 59 1,2 * * 6,0")
WALL = ("0 * * * *", "*/30 * * * *", "17 */3 * * *", "*/20 2 * * *", "* 0 * * 0")
WALL_SECONDS = ("30 */45 * * * *", "*/20 59 * * * *")
YEARS = (2020, 2030)
MOST_OFFSET = timedelta(hours=26)


def zones() -> list[str]:
    """All zones of the database, without its folders of copies."""
    return sorted(name for name in available_timezones() if not name.startswith(("posix/", "right/", "localtime")))


def transitions(zone: ZoneInfo, begin: datetime, end: datetime) -> Iterator[datetime]:
    """The days, in UTC, on which the zone changes its offset."""
    day = begin
    while day < end:
        following = day + timedelta(days=1)
        if day.astimezone(zone).utcoffset() != following.astimezone(zone).utcoffset():
            yield day
        day = following


def distinct_zones(begin: datetime, end: datetime) -> list[str]:
    """One zone of each group that agrees at every instant between: many names are copies of another."""
    groups: dict[tuple[object, ...], str] = {}
    for name in zones():
        groups.setdefault(_course(ZoneInfo(name), begin, end), name)
    return list(groups.values())


def _course(zone: ZoneInfo, begin: datetime, end: datetime) -> tuple[object, ...]:
    """The offset at the beginning, and by the quarter of an hour on each day that changes it."""
    quarters = [timedelta(minutes=15 * number) for number in range(97)]
    changes = (
        (day, *((day + quarter).astimezone(zone).utcoffset() for quarter in quarters))
        for day in transitions(zone, begin, end)
    )
    return (begin.astimezone(zone).utcoffset(), *changes)


@cache
def on_the_wall(expression: str, begin: datetime, end: datetime) -> tuple[datetime, ...]:
    """All times on the wall in (begin, end] that fit, by croniter."""
    fields = expression.split()
    told = " ".join([*fields[1:], fields[0]]) if len(fields) == 6 else expression  # it wants the seconds last
    found = croniter(told, begin).all_next(datetime)
    return tuple(takewhile(lambda moment: moment <= end, found))


def expected(expression: str, zone: ZoneInfo, begin: datetime, end: datetime) -> list[float]:
    """The instants in (begin, end] at which the expression fires by the stated rule."""
    walls = on_the_wall(
        expression, (begin - MOST_OFFSET).replace(tzinfo=None), (end + MOST_OFFSET).replace(tzinfo=None)
    )
    named = not any(field.startswith("*") for field in expression.split()[-5:-3])
    fires = {moment for wall in walls for moment in (_named(wall, zone) if named else _shown(wall, zone))}
    return sorted(moment.timestamp() for moment in fires if begin < moment <= end)


def found(expression: str, zone: str, begin: datetime, end: datetime) -> list[float]:
    """The same by Fairlead."""
    table, fires = timetable(expression, zone), list[float]()
    following = table.next_after(begin.timestamp())
    while following is not None and following <= end.timestamp():
        fires.append(following)
        following = table.next_after(following)
    return fires


def _shown(wall: datetime, zone: ZoneInfo) -> Iterator[datetime]:
    """Every instant at which the wall shows this time: none, one or two."""
    for fold in (0, 1):
        instant = wall.replace(tzinfo=zone, fold=fold).astimezone(UTC)
        if instant.astimezone(zone).replace(tzinfo=None) == wall:
            yield instant


def _named(wall: datetime, zone: ZoneInfo) -> Iterator[datetime]:
    """The first instant at which the wall shows this time, or the first after the gap that it fell into."""
    shown = sorted(_shown(wall, zone))
    if shown:
        yield shown[0]
        return
    passed = wall.replace(second=0, tzinfo=zone, fold=1).astimezone(UTC)  # before the gap, by the offset after it
    while passed.astimezone(zone).replace(tzinfo=None) < wall:
        passed += timedelta(minutes=1)
    yield passed
