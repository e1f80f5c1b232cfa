"""Bad input gets an error that says what to do, and nothing is stored."""

import json
import math
from collections.abc import AsyncIterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator

import fairlead


@pytest.fixture
async def app(store_url: str) -> AsyncIterator[fairlead.App]:
    """An app whose handler takes anything."""
    async with fairlead.App(store_url) as made:
        yield made


def declare(app: fairlead.App) -> fairlead.Handler[..., Any]:
    @app.handler("take")
    async def take(number: int = 0, anything: Any = None) -> None: ...

    return take


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"number": "x"}, fairlead.InvalidArguments, "number"),
        ({"nonsense": 1}, fairlead.InvalidArguments, "nonsense"),
        ({"anything": "a\x00b"}, fairlead.UnsafePayload, "NUL"),
        ({"anything": {"deep": ["\x00"]}}, fairlead.UnsafePayload, r"anything\.deep\[0\]"),
        ({"anything": math.nan}, fairlead.UnsafePayload, "NaN"),
        ({"anything": [math.inf]}, fairlead.UnsafePayload, "Infinity"),
        ({"anything": "\ud800"}, fairlead.UnsafePayload, "cannot become JSON|surrogate"),
        ({"anything": object()}, fairlead.UnsafePayload, "cannot become JSON"),
        ({"anything": "x" * 70_000}, fairlead.PayloadTooLarge, "reference"),
    ],
)
async def test_arguments_that_cannot_be_kept_are_refused(
    app: fairlead.App, arguments: dict[str, Any], error: type[Exception], words: str
) -> None:
    take = declare(app)
    with pytest.raises(error, match=words):
        await take.enqueue(**arguments)
    assert (await app.jobs()).jobs == ()


async def test_nesting_has_a_limit(app: fairlead.App) -> None:
    deep: Any = 1
    for _ in range(100):
        deep = [deep]
    with pytest.raises(fairlead.UnsafePayload, match="levels deep"):
        await declare(app).enqueue(anything=deep)


async def test_text_that_only_looks_dangerous_is_kept(app: fairlead.App) -> None:
    take = declare(app)
    text = "NaN Infinity \\u0000 %s :name ' \" ; -- ☃ 🎉 [[[[{{{{"
    job = await take.enqueue(anything=text)
    assert json.loads((await job.read()).payload) == {"anything": text}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tenant": "a b"}, "tenant"),
        ({"tenant": ""}, "tenant"),
        ({"priority": "urgent"}, "critical, high, default, low"),
        ({"run_in": "soon"}, "5m"),
        ({"run_in": -1}, "not negative"),
        ({"run_in": 1, "run_at": datetime.now().astimezone()}, "exclude"),
        ({"run_at": datetime(2030, 1, 1)}, "time zone"),
        ({"run_at": datetime.max.replace(tzinfo=timezone(timedelta(hours=-23)))}, "after 9999 in UTC"),
        ({"not_after": datetime.min.replace(tzinfo=timezone(timedelta(hours=23)))}, "before the year 1"),
        ({"idempotency_key": "x" * 300}, "255"),
        ({"idempotency_key": "x", "idempotency_scope": "sometimes"}, "active, window or forever"),
        ({"idempotency_key": "x", "idempotency_scope": "window"}, "needs it"),
        ({"color": "red"}, "color"),
        ({"retry": None, "timeout": "x"}, "duration"),
    ],
)
async def test_options_that_cannot_work_are_refused(app: fairlead.App, options: dict[str, Any], words: str) -> None:
    take = declare(app)
    with pytest.raises(fairlead.ConfigError, match=words):
        await take.options(**options).enqueue()
    assert (await app.jobs()).jobs == ()


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("mysql://root:secret@host/x", "'mysql'; write it like sqlite:///jobs.db"),
        ("jobs.db", "write it like"),
        ("postgresql://host:notaport/x", "postgresql://user@host:5432/database|port"),
        ("postgresql://shop:se%cret@host/x", "%25 for %"),
        ("postgresql://shop:my secret@host/x", "%20"),
        ("postgresql://shop@host/x?password=my secret&sslmode=disable", "%20"),
    ],
)
async def test_a_wrong_url_is_explained_without_its_password(url: str, words: str) -> None:
    with pytest.raises(fairlead.FairleadError, match=words) as caught:
        await fairlead.App(url).client()
    assert "secret" not in str(caught.value)


async def test_a_missing_file_says_how_to_make_it(tmp_path: Path) -> None:
    with pytest.raises(fairlead.SchemaMismatch, match="fairlead migrate"):
        await fairlead.App(f"sqlite:///{tmp_path}/none.db").client()


@pytest.mark.postgres
async def test_a_database_that_does_not_exist_is_named(postgres_url: str) -> None:
    with pytest.raises(fairlead.StoreRefused, match="no such database"):
        await fairlead.App(postgres_url.rpartition("/")[0] + "/nowhere").client()


async def test_a_server_that_is_not_there_is_unavailable() -> None:
    with pytest.raises(fairlead.StoreUnavailable, match="cannot be reached"):
        await fairlead.App("postgresql://nobody@127.0.0.1:1/none").client()


def test_settings_report_all_that_is_wrong_and_where_it_came_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRLEAD_LEASE", "soon")
    monkeypatch.setenv("FAIRLEAD_POLL", "-1")
    with pytest.raises(fairlead.ConfigError) as caught:
        fairlead.App("sqlite:///:memory:", retention="never")
    text = str(caught.value)
    assert "lease (from the environment)" in text
    assert "poll (from the environment)" in text
    assert "retention (from the arguments)" in text


@pytest.mark.parametrize(
    ("name", "meant"),
    [("DATABSE_URL", "DATABASE_URL"), ("LEESE", "LEASE"), ("HEARTBEET", "HEARTBEAT"), ("POL", "POLL")],
)
def test_a_setting_that_is_misspelt_in_the_environment_is_not_ignored(
    monkeypatch: pytest.MonkeyPatch, name: str, meant: str
) -> None:
    monkeypatch.setenv(f"FAIRLEAD_{name}", "5s")
    with pytest.raises(fairlead.ConfigError, match=f"do you mean FAIRLEAD_{meant}"):
        fairlead.App("sqlite:///:memory:")


def test_a_variable_that_is_no_setting_is_a_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("FAIRLEAD_COLOUR_SCHEME", "dark")
    with caplog.at_level("WARNING", "fairlead"):
        fairlead.App("sqlite:///:memory:")
        fairlead.App("sqlite:///:memory:")
    assert [record.getMessage() for record in caplog.records] == [
        "FAIRLEAD_COLOUR_SCHEME is set in the environment, but there is no such setting; it is ignored"
    ]


def test_settings_do_not_show_the_password() -> None:
    assert "secret" not in repr(fairlead.App("postgresql://shop:secret@host/x").settings)


def test_variables_that_others_make_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kubernetes makes such for a service of the name fairlead, or fairlead-api."""
    for name in ("SERVICE_HOST", "PORT", "PORT_8377_TCP_ADDR", "API_PORT", "API_SERVICE_PORT"):
        monkeypatch.setenv(f"FAIRLEAD_{name}", "tcp://10.0.0.1:8377")
    fairlead.App("sqlite:///:memory:")


@pytest.mark.parametrize("content", [b"lease = ", b'\xff\xfelease = "5s"'])
def test_a_file_that_cannot_be_read_is_named(content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fairlead.toml").write_bytes(content)
    with pytest.raises(fairlead.ConfigError, match=r"fairlead\.toml cannot be read"):
        fairlead.App()


@pytest.mark.parametrize(
    ("declaration", "words"),
    [
        (lambda app: app.handler("a b")(lambda: None), "job type"),
        (lambda app: app.handler("x", pool="")(lambda: None), "pool"),
        (lambda app: app.handler("x", version=0)(lambda: None), "begin at 1"),
        (lambda app: app.handler("x")(lambda *numbers: None), r"\*numbers"),
        (lambda app: [app.handler("x")(lambda: None) for _ in range(2)], "twice"),
        (lambda app: fairlead.Retry(attempts=0), "attempts"),
    ],
)
def test_a_declaration_that_cannot_work_is_refused(declaration: Any, words: str) -> None:
    with pytest.raises(fairlead.ConfigError, match=words):
        declaration(fairlead.App("sqlite:///:memory:"))


async def test_what_a_validator_says_of_an_argument_is_said_without_the_words_of_a_library() -> None:
    app = fairlead.App("sqlite:///:memory:")

    def even(value: int) -> int:
        if value % 2:
            raise ValueError("an even number is needed")
        return value

    @app.handler("pair")
    async def pair(number: Annotated[int, AfterValidator(even)]) -> None: ...

    async with app:
        with pytest.raises(fairlead.InvalidArguments, match="number: an even number is needed"):
            await pair.enqueue(number=3)
