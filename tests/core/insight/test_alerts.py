"""Alerts are told when they begin and when they end."""

from fairlead.core.insight.alerts import AlertState
from fairlead.core.insight.diagnosis import Alert, Level


def alert(code: str, about: str = "", sentence: str = "so many") -> Alert:
    return Alert(Level.WARNING, code, sentence, "do something", (), about)


def codes(alerts: list[Alert]) -> list[str]:
    return [alert.code + alert.about for alert in alerts]


def test_what_stays_is_told_once() -> None:
    standing = AlertState()
    assert standing.see([alert("SLOW")]) == ([], [])
    assert codes(standing.see([alert("SLOW", sentence="more")]).raised) == ["SLOW"]
    assert standing.see([alert("SLOW")]) == ([], [])
    assert standing.see([]) == ([], [])
    assert codes(standing.see([]).cleared) == ["SLOW"]
    assert standing.see([]) == ([], [])


def test_what_comes_and_goes_is_not_told() -> None:
    standing = AlertState()
    for _ in range(5):
        assert standing.see([alert("SLOW")]) == ([], [])
        assert standing.see([]) == ([], [])


def test_alerts_of_one_code_are_told_apart_by_what_they_are_about() -> None:
    standing = AlertState()
    standing.see([alert("SLOW", "short")])
    assert codes(standing.see([alert("SLOW", "short"), alert("SLOW", "long")]).raised) == ["SLOWshort"]
    turn = standing.see([alert("SLOW", "long")])
    assert (codes(turn.raised), turn.cleared) == (["SLOWlong"], [])
    assert codes(standing.see([alert("SLOW", "long")]).cleared) == ["SLOWshort"]
