"""The whole description, tried out: no 5xx, and no answer that it does not name."""

import itertools
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import jsonschema_rs
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import negative_data_rejection

from fairlead.api import allowance
from fairlead.core.protection.token_bucket import RateLimit
from tests.api.conftest import MEMORY, mail_app
from tests.support.serving import Served, served

EXAMPLES = int(os.environ.get("FAIRLEAD_API_EXAMPLES", "10"))
THOROUGH = EXAMPLES > 50  # also every boundary of every field, which takes minutes
OPENAPI = Path(__file__).resolve().parent.parent.parent / "docs" / "openapi.json"
DESCRIPTION = json.loads(OPENAPI.read_text(encoding="utf-8"))
PLAIN = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?", re.ASCII)

# What these ask for can be well-formed and still not fit: an unknown type, a payload that is not its type's, fields
# that exclude each other, a name that does not go with its scope, states that cannot be changed so.
JUDGED_BY_MORE_THAN_FORM = [
    "POST /v1/jobs",
    "POST /v1/jobs/batch",
    "POST /v1/jobs/run-now",
    "POST /v1/jobs/set-priority",
    "GET /v1/fires",
    "POST /v1/dead-letters/replay",
    "POST /v1/dead-letters/cancel",
    "POST /v1/dead-letters/purge",
    "POST /v1/schedules",
    "PATCH /v1/schedules/{name}",
    "GET /v1/settings/{kind}/{name}",
    "PUT /v1/settings/{kind}/{name}",
    "PATCH /v1/settings/{kind}/{name}",
    "DELETE /v1/settings/{kind}/{name}",
    "GET /v1/settings/limit/{name}/holders",
    "POST /v1/callbacks",
    "PATCH /v1/callbacks/{name}",
]
ACCEPTED = ["2xx", "3xx", "401", "403", "404", "409", "412", "429"]
CONFIG = {
    "phases": {"coverage": {"enabled": THOROUGH}},
    "checks": {"positive_data_acceptance": {"expected-statuses": ACCEPTED}},
    "operations": [
        {"include-name": name, "checks": {"positive_data_acceptance": {"expected-statuses": [*ACCEPTED, "422"]}}}
        for name in JUDGED_BY_MORE_THAN_FORM
    ],
}

ENDLESS = "/v1/status/stream"

schema = schemathesis.openapi.from_path(OPENAPI, config=schemathesis.Config.from_dict(CONFIG)).exclude(path=ENDLESS)
numbers = itertools.count()


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[Served, requests.Session]]:
    """The API, and a session that keeps its connection."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(allowance, "FAILURES", RateLimit(1e6, 1e6))  # it tries invalid keys by the thousand
        yield from serve()


def serve() -> Iterator[tuple[Served, requests.Session]]:
    """Serve the API."""
    with served(mail_app(MEMORY)) as api, requests.Session() as session:
        session.headers.update(api.headers)
        session.get(f"{api.address}/healthz").raise_for_status()
        yield api, session


def is_in_order_as_sent(case: schemathesis.Case[Any]) -> bool:
    """Whether nothing of what was meant to break the description is left in the request.

    A query is text: of `true` in a place for a name, a name is sent, and of a parameter too many that is an empty list,
    nothing. The key that is left out is added by the test.
    """
    if case.path_parameters or case.method != "GET":
        return False
    sent = requests.Request("GET", "http://api", params=case.as_transport_kwargs("http://api").get("params")).prepare()
    given: dict[str, list[str]] = {}
    for name, value in parse_qsl(str(urlsplit(sent.url).query), keep_blank_values=True):
        given.setdefault(name, []).append(value)
    known = {item["name"]: item["schema"] for item in DESCRIPTION["paths"][case.path]["get"].get("parameters", ())}
    return given.keys() <= known.keys() and all(fits(values, known[name]) for name, values in given.items())


def fits(values: list[str], described: dict[str, Any]) -> bool:
    """Whether texts can be read as what is described."""
    whole = {**described, "components": DESCRIPTION["components"]}
    readings: list[Any] = [values]
    if len(values) == 1:
        readings += [values[0], *[float(text) for text in values if PLAIN.fullmatch(text)]]
    return any(jsonschema_rs.is_valid(whole, reading) for reading in readings)


@schema.parametrize()
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_every_answer_is_described(case: schemathesis.Case[Any], server: tuple[Served, requests.Session]) -> None:
    api, session = server
    ours = [negative_data_rejection] if is_in_order_as_sent(case) else []
    if case.headers and "Idempotency-Key" in case.headers:  # used for another request it is refused, which has its test
        case.headers["Idempotency-Key"] = f"{case.headers['Idempotency-Key'][:200]}-{next(numbers)}"
    case.call_and_validate(base_url=api.address, session=session, headers=api.headers, excluded_checks=ours)
