"""Where callbacks may go."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.web.egress import EgressRules, Target, networks, pinned, target_of, why_forbidden
from fairlead.errors import ConfigError, EgressRefused

STRICT = EgressRules()
LAX = EgressRules(networks(["127.0.0.0/8", "::1/128"]), frozenset({80, 443, 8080}), http=True)
PUBLIC = ["8.8.8.8", "93.184.215.14", "1.1.1.1", "2606:4700:4700::1111", "2a00:1450:4001:800::200e", "172.32.0.1"]


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("https://example.org", Target("https", "example.org", 443, "/")),
        ("https://Example.ORG:8443/a/b?c=d&e", Target("https", "example.org", 8443, "/a/b?c=d&e")),
        ("HTTPS://example.org./x", Target("https", "example.org", 443, "/x")),
        ("https://8.8.8.8/hook", Target("https", "8.8.8.8", 443, "/hook")),
        ("https://[2606:4700:4700::1111]/", Target("https", "2606:4700:4700::1111", 443, "/")),
        ("https://xn--bcher-kva.example/%20", Target("https", "xn--bcher-kva.example", 443, "/%20")),
    ],
)
def test_a_url_is_taken_apart(url: str, target: Target) -> None:
    assert target_of(url, STRICT) == target


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("", "ASCII"),
        ("https://example.org/" + "x" * 2000, "ASCII"),
        ("https://example.org/a b", "ASCII"),
        ("https://example.org\\@evil", "ASCII"),
        ("https://bücher.example/", "ASCII"),
        ("http://example.org/", "over https, not http; callback_http"),
        ("ftp://example.org/", "over https, not ftp"),
        ("example.org", "over https, not nothing"),
        ("https://", "not the name of a host"),
        ("https:///x", "not the name of a host"),
        ("https://user@example.org/", "no user"),
        ("https://:pw@example.org/", "no user"),
        ("https://example.org/#x", "no fragment"),
        ("https://example.org#", "no fragment"),
        ("https://example.org:22/", "ports 443, 8443, not 22"),
        ("https://example.org:0/", "ports 443, 8443, not 0"),
        ("https://example.org:99999/", "cannot be read"),
        ("https://example.org:x/", "cannot be read"),
        ("https://[::1/", "cannot be read"),
        ("https://[::1]/", "loopback"),
        ("https://[fe80::1%25eth0]/", "interface"),
        ("https://127.0.0.1/", "loopback; callback_networks"),
        ("https://127.1/", "not an address"),
        ("https://2130706433/", "not an address"),
        ("https://0x7f.0x1/", "in disguise"),
        ("https://foo.0x7f000001/", "in disguise"),
        ("https://-x-.org/", "not the name of a host"),
        ("https://a..b/", "not the name of a host"),
        ("https://" + "a" * 64 + ".org/", "not the name of a host"),
    ],
)
def test_a_url_that_a_callback_may_not_go_to_says_why(url: str, says: str) -> None:
    with pytest.raises(EgressRefused, match=says):
        target_of(url, STRICT)


def test_settings_allow_more() -> None:
    assert target_of("http://127.0.0.1:8080/", LAX).port == 8080
    assert why_forbidden("127.9.9.9", LAX) is None
    assert why_forbidden("::1", LAX) is None
    assert why_forbidden("10.0.0.1", LAX) == "private"
    assert why_forbidden("::ffff:127.0.0.1", LAX) is not None
    with pytest.raises(ConfigError, match=r"'10\.0\.0\.1/8' is not a network"):
        networks(["10.0.0.1/8"])


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_allowed(address: str) -> None:
    assert why_forbidden(address, STRICT) is None


@given(st.ip_addresses())
def test_what_the_registries_do_not_call_global_is_forbidden(address: ipaddress.IPv4Address) -> None:
    if not address.is_global or address.is_multicast or address.is_reserved:
        assert why_forbidden(str(address), STRICT) is not None


@given(st.ip_addresses(v=4))
def test_an_address_within_another_is_forbidden(address: ipaddress.IPv4Address) -> None:
    number = int(address)
    wrapped = (0xFFFF << 32 | number, number, 0x2002 << 112 | number << 80, 0x0064FF9B << 96 | number,
               0x20010000 << 96 | number, 0x0064FF9B0001 << 80 | number)  # fmt: skip
    for item in wrapped:
        assert why_forbidden(str(ipaddress.IPv6Address(item)), STRICT) is not None


@given(st.text())
def test_any_text_is_refused_or_taken_apart(text: str) -> None:
    try:
        target = target_of(text, STRICT)
    except EgressRefused:
        return
    assert target.scheme == "https"


def test_one_forbidden_address_forbids_a_name() -> None:
    assert pinned("example.org", ["8.8.8.8", "1.1.1.1", "8.8.8.8"], STRICT) == ["8.8.8.8", "1.1.1.1"]
    with pytest.raises(EgressRefused, match=r"example\.org leads to an address that is private"):
        pinned("example.org", ["8.8.8.8", "10.0.0.1"], STRICT)
    with pytest.raises(EgressRefused, match="has no address"):
        pinned("example.org", [], STRICT)
