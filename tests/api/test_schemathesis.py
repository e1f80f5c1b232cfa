"""The whole description, tried out: no 5xx, and no answer that it does not name."""

import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, settings

from fairlead.api import allowance
from fairlead.core.buckets import Flow
from tests.api.conftest import MEMORY, mail_app
from tests.support.serving import Served, served

EXAMPLES = int(os.environ.get("FAIRLEAD_API_EXAMPLES", "10"))
THOROUGH = EXAMPLES > 50  # also every boundary of every field, which takes minutes
OPENAPI = Path(__file__).resolve().parent.parent.parent / "docs" / "openapi.json"

# What these ask for can be well-formed and still not fit: an unknown type, a payload that is not its type's, fields
# that exclude each other, a name that does not go with its scope, states that cannot be changed so.
JUDGED_BY_MORE_THAN_FORM = [
    "POST /v1/jobs",
    "POST /v1/jobs/batch",
    "POST /v1/jobs/run-now",
    "POST /v1/jobs/priority",
    "GET /v1/fires",
    "POST /v1/dead-letters/replay",
    "POST /v1/dead-letters/cancel",
    "POST /v1/breakers/open",
    "POST /v1/breakers/close",
    "POST /v1/quarantines",
    "POST /v1/quarantines/release",
    "POST /v1/schedules",
    "PATCH /v1/schedules/{name}",
    "GET /v1/limits/{scope}/{name}",
    "PUT /v1/limits/{scope}/{name}",
    "DELETE /v1/limits/{scope}/{name}",
    "PUT /v1/backpressure/depths/{scope}/{name}",
    "DELETE /v1/backpressure/depths/{scope}/{name}",
    "PUT /v1/backpressure/rates/{scope}/{name}",
    "DELETE /v1/backpressure/rates/{scope}/{name}",
    "POST /v1/callbacks",
    "PATCH /v1/callbacks/{name}",
]
# A query is text, and there any number or `true` is also a name: what breaks the type of these does not show.
# Neither does a parameter too many that has no value, of which nothing is sent.
NAMES_IN_QUERY = [
    "GET /v1/jobs",
    "GET /v1/jobs/count",
    "GET /v1/dead-letters",
    "GET /v1/dead-letters/groups",
    "GET /v1/shares",
    "GET /v1/schedules",
    "GET /v1/stats/waits",
]
REFUSED = ["400", "401", "403", "404", "405", "406", "408", "409", "412", "413", "415", "422", "429"]
ACCEPTED = ["2xx", "3xx", "401", "403", "404", "409", "412", "429"]
CONFIG = {
    "phases": {"coverage": {"enabled": THOROUGH}},
    "checks": {"positive_data_acceptance": {"expected-statuses": ACCEPTED}},
    "operations": [
        {"include-name": name, "checks": {"positive_data_acceptance": {"expected-statuses": [*ACCEPTED, "422"]}}}
        for name in JUDGED_BY_MORE_THAN_FORM
    ]
    + [
        {"include-name": name, "checks": {"negative_data_rejection": {"expected-statuses": [*REFUSED, "200"]}}}
        for name in NAMES_IN_QUERY
    ],
}

ENDLESS = "/v1/stats/stream"

schema = schemathesis.openapi.from_path(OPENAPI, config=schemathesis.Config.from_dict(CONFIG)).exclude(path=ENDLESS)
numbers = itertools.count()


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[Served, requests.Session]]:
    """The API, and a session that keeps its connection."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(allowance, "FAILURES", Flow(1e6, 1e6))  # it tries invalid keys by the thousand
        yield from serve()


def serve() -> Iterator[tuple[Served, requests.Session]]:
    """Serve the API."""
    with served(mail_app(MEMORY)) as api, requests.Session() as session:
        session.headers.update(api.headers)
        session.get(f"{api.address}/healthz").raise_for_status()
        yield api, session


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
    if case.headers and "Idempotency-Key" in case.headers:  # used for another request it is refused, which has its test
        case.headers["Idempotency-Key"] = f"{case.headers['Idempotency-Key'][:200]}-{next(numbers)}"
    case.call_and_validate(base_url=api.address, session=session, headers=api.headers)
