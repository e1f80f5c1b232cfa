"""Signatures of callbacks."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead import InvalidSignature, verify_callback
from fairlead.core.web.signatures import key_of, secret_of, signature, signed_headers
from fairlead.errors import ConfigError

# The example that is published with Standard Webhooks.
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
MESSAGE, MOMENT, BODY = "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}'
SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
OTHER = secret_of(b"x" * 32)

secrets = st.binary(min_size=24, max_size=64).map(secret_of)


def headers(**changes: str) -> dict[str, str]:
    made = {"Webhook-Id": MESSAGE, "Webhook-Timestamp": str(MOMENT), "Webhook-Signature": SIGNATURE}
    return {**made, **{name.replace("_", "-").title(): value for name, value in changes.items()}}


def test_the_published_example_is_signed_alike() -> None:
    assert signature(SECRET, MESSAGE, MOMENT, BODY) == SIGNATURE
    assert verify_callback(headers(), BODY, SECRET, now=MOMENT) == {"test": 2432232314}
    assert verify_callback(headers(), BODY.decode(), [OTHER, SECRET], now=MOMENT + 300) == {"test": 2432232314}


@given(st.lists(secrets, min_size=1, max_size=3, unique=True), st.dictionaries(st.text(), st.integers()))
def test_whoever_has_one_of_the_secrets_can_verify(known: list[str], event: dict[str, int]) -> None:
    body = json.dumps(event).encode()
    sent = signed_headers(known, "msg_1", MOMENT, body)
    assert len(sent["webhook-signature"].split(" ")) == len(known)
    for secret in known:
        assert verify_callback(sent, body, secret, now=MOMENT) == event


@given(st.data())
def test_no_bit_can_be_changed(data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(BODY) * 8 - 1))
    changed = bytearray(BODY)
    changed[place // 8] ^= 1 << place % 8
    with pytest.raises(InvalidSignature, match="no signature"):
        verify_callback(headers(), bytes(changed), SECRET, now=MOMENT)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"webhook_id": "msg_other"}, "no signature"),
        ({"webhook_timestamp": str(MOMENT + 1)}, "no signature"),
        ({"webhook_signature": SIGNATURE.replace("v1,", "v1a,")}, "no signature"),
        ({"webhook_signature": SIGNATURE.removeprefix("v1,")}, "no signature"),
        ({"webhook_signature": "v1,é \ud800"}, "no signature"),
        ({"webhook_signature": ""}, "no header webhook-signature"),
        ({"webhook_id": ""}, "no header webhook-id"),
        ({"webhook_timestamp": "soon"}, "not a number"),
        ({"webhook_timestamp": "-5"}, "not a number"),
        ({"webhook_timestamp": "٣"}, "not a number"),
        ({"webhook_timestamp": "9" * 400}, "not a number"),
        ({"webhook_timestamp": str(MOMENT - 301)}, "more than 300 s old"),
        ({"webhook_timestamp": str(MOMENT + 301)}, "from the future"),
    ],
)
def test_what_does_not_fit_is_refused(changes: dict[str, str], says: str) -> None:
    with pytest.raises(InvalidSignature, match=says):
        verify_callback(headers(**changes), BODY, SECRET, now=MOMENT)


def test_another_secret_does_not_fit_and_a_body_must_be_json() -> None:
    with pytest.raises(InvalidSignature, match="no signature"):
        verify_callback(headers(), BODY, [OTHER], now=MOMENT)
    with pytest.raises(InvalidSignature, match="no signature"):
        verify_callback(headers(), BODY, [], now=MOMENT)
    with pytest.raises(InvalidSignature, match="not JSON"):
        verify_callback(signed_headers([SECRET], "m", MOMENT, b"x"), b"x", SECRET, now=MOMENT)


@pytest.mark.parametrize(
    "text", ["", "whsec_", "whsec_abc", "whsec_" + "!" * 40, secret_of(b"x" * 23), secret_of(b"x" * 65)]
)
def test_what_is_no_secret_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="a secret is whsec_"):
        key_of(text)


@given(st.binary(min_size=24, max_size=64))
def test_a_secret_is_the_base64_of_its_key(key: bytes) -> None:
    assert key_of(secret_of(key)) == key_of(base64.b64encode(key).decode()) == key
