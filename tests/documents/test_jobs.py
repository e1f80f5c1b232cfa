from dataclasses import replace
from datetime import UTC, datetime

from fairlead.core.insight.timeline import Moment
from fairlead.core.jobs.dead_letters import DeadGroup
from fairlead.core.jobs.failure import FailureClass
from fairlead.core.jobs.job_records import AttemptRecord, JobRecord, Page
from fairlead.core.jobs.model import Ending, ErrorInfo, Priority
from fairlead.core.jobs.progress import Progress
from fairlead.core.jobs.states import State
from fairlead.documents.dead_letters import DeadGroupDocument
from fairlead.documents.jobs import AttemptDocument, JobDocument, JobPage, MomentDocument

AT = datetime(2030, 1, 31, 8, tzinfo=UTC)
ERROR = ErrorInfo("ValueError", "no", "Traceback", FailureClass.APPLICATION, fingerprint="abc")
JOB = JobRecord(
    id="0192f0c1-2345-7000-8000-000000000001",
    type="report",
    tenant="acme",
    pool="short",
    priority=Priority.HIGH,
    version=2,
    state=State.DEAD,
    payload='{"n":1}',
    attempt=3,
    crashes=1,
    fence=4,
    created_at=AT,
    run_at=AT,
    not_after=None,
    started_at=AT,
    finished_at=AT,
    worker="w",
    result='"5"',
    error=ERROR,
    key="order-1",
    options='{"timeout":5.0,"callback":"hook","trace":"00-1-2-01"}',
    parent=None,
    replays=2,
    progress=Progress(1.0, 2.0, "half", AT),
)


def test_a_job_comes_back_from_its_document() -> None:
    document = JobDocument.of(JOB)
    assert JobDocument.model_validate(document.as_json()).record() == JOB
    assert JobDocument.of(replace(JOB, options=None, result=None, error=None, progress=None)).record().options is None


def test_a_job_has_the_words_of_all_surfaces() -> None:
    shown = JobDocument.of(JOB).as_json()
    assert shown["idempotency_key"] == "order-1"
    assert shown["priority"] == "high"
    assert (shown["callback"], shown["traceparent"], shown["options"]) == ("hook", "00-1-2-01", {"timeout": 5.0})
    assert (shown["payload"], shown["result"]) == ({"n": 1}, "5")


def test_a_list_leaves_large_fields_out_unless_they_are_asked_for() -> None:
    small = JobDocument.of(JOB).small()
    assert small.payload is None
    assert small.result is None
    whole = JobDocument.of(JOB).small(frozenset({"payload", "result"}))
    assert whole == JobDocument.of(JOB)


def test_runs_moments_groups_and_pages_come_back() -> None:
    attempt = AttemptRecord(1, 1, "w", AT, AT, Ending.FAILED, ERROR, AT, None)
    assert AttemptDocument.model_validate(AttemptDocument.of(attempt).as_json()).record() == attempt
    moment = Moment(AT, "failed", State.RETRYING, 1, "w", 0.5, error=ERROR)
    assert MomentDocument.model_validate(MomentDocument.of(moment).as_json()).record() == moment
    group = DeadGroup("abc", "report", "ValueError", "no", JOB.id, 3, 2, AT, AT)
    assert DeadGroupDocument.model_validate(DeadGroupDocument.of(group).as_json()).record() == group
    page = JobPage(jobs=[JobDocument.of(JOB)], cursor="c")
    assert page.record() == Page((JOB,), "c")
