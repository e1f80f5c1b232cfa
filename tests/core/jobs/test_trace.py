"""The trace context of a job."""

from fairlead.core.jobs.trace import parse_traceparent


def test_a_trace_context_is_kept_only_where_it_is_one() -> None:
    good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    assert parse_traceparent(good) == good
    for text in (
        None,
        "",
        good[:-1],
        good + "x",
        good.upper(),
        f"ff{good[2:]}",
        good.replace("4bf92f3577b34da6a3ce929d0e0e4736", "0" * 32),
    ):
        assert parse_traceparent(text) is None
