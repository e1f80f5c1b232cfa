"""Whose request it is, where proxies stand between, and that nobody can lie about it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.web.proxies import client_of, is_trusted, origin_of, proxy_networks
from fairlead.errors import ConfigError

TRUSTED = proxy_networks(["10.1.0.0/16", "fd12::/32"])
PROXY, SECOND, CLIENT, LIE = "10.1.0.7", "10.1.9.9", "203.0.113.5", "198.51.100.66"


@pytest.mark.parametrize(
    ("peer", "forwarded", "expected"),
    [
        (CLIENT, [], CLIENT),
        (CLIENT, [LIE], CLIENT),  # whoever is no proxy can say what they like
        (CLIENT, [PROXY], CLIENT),
        (PROXY, [], PROXY),
        (PROXY, [""], PROXY),
        (PROXY, [CLIENT], CLIENT),
        (PROXY, [f"{LIE}, {CLIENT}"], CLIENT),  # what the client sent stands to the left
        (PROXY, [f"{PROXY}, {LIE}, {CLIENT}"], CLIENT),  # also if it looks like a proxy's
        (PROXY, [LIE, CLIENT], CLIENT),  # fields that come twice are one list
        (PROXY, [f"{LIE}, {CLIENT}, {SECOND}"], CLIENT),
        (PROXY, [f"{LIE}, {CLIENT}", SECOND], CLIENT),
        (PROXY, [f"{SECOND}, {PROXY}"], SECOND),  # nothing but proxies: the farthest
        (PROXY, [f"{LIE}, unknown"], PROXY),  # what is no address ends it, and nothing beyond is believed
        (PROXY, [f"{LIE}, "], PROXY),
        (PROXY, [f"{LIE}, _hidden, {SECOND}"], SECOND),
        (PROXY, [f"{CLIENT}:4711"], CLIENT),
        (PROXY, ["[2001:db8::1]:4711"], "2001:db8::1"),
        (PROXY, ["2001:db8::1"], "2001:db8::1"),
        (f"::ffff:{PROXY}", [f"::ffff:{CLIENT}"], CLIENT),
        ("fd12::1", [CLIENT], CLIENT),
        ("", [CLIENT], ""),
        ("testclient", [CLIENT], "testclient"),
    ],
)
def test_the_client_is_the_first_from_the_right_that_is_no_trusted_proxy(
    peer: str, forwarded: list[str], expected: str
) -> None:
    assert client_of(peer, forwarded, TRUSTED) == expected


def test_without_trusted_proxies_nothing_is_believed() -> None:
    assert client_of(PROXY, [CLIENT], ()) == PROXY
    assert not is_trusted(PROXY, ())
    assert is_trusted(PROXY, TRUSTED)
    assert not is_trusted("nonsense", TRUSTED)


@given(st.lists(st.text(alphabet="0123456789.:,[]fa unknow\x00", max_size=60), max_size=4))
def test_whatever_a_client_writes_it_is_known_by_what_the_proxy_appended(lies: list[str]) -> None:
    assert client_of(PROXY, [*lies, CLIENT], TRUSTED) == CLIENT
    assert client_of(CLIENT, lies, TRUSTED) == CLIENT


@pytest.mark.parametrize("text", ["0.0.0.0/0", "::/0", "*", "10.1.2.3/16", "everybody"])
def test_networks_that_cannot_be_trusted(text: str) -> None:
    with pytest.raises(ConfigError):
        proxy_networks([text])


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        (CLIENT, CLIENT),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("::ffff:203.0.113.5", "::ffff:203.0.113.5"),
        ("", ""),
        ("testclient", "testclient"),
    ],
)
def test_a_sender_with_ipv6_has_a_network(address: str, expected: str) -> None:
    assert origin_of(address) == expected
