"""Egress rules: which URLs and IP addresses callbacks may be sent to (protection against SSRF).

A URL is checked when an endpoint is created and again before each try. Its name is resolved once, every address is
checked, and the connection goes to a checked address, so DNS rebinding between check and connection is impossible. If
one address of a name is forbidden, none is used.

Only public addresses are allowed, unless the settings allow a network. IPv6 addresses with an embedded IPv4 address
(mapped, 6to4, Teredo, NAT64) are all forbidden, since the tunnel decides where they lead.
"""

import ipaddress
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from fairlead.errors import ConfigError, EgressRefused

LONGEST_URL = 2_000
PORTS = (443, 8443)
USUAL_PORTS = {"https": 443, "http": 80}

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_URL = re.compile(r"[!-\[\]-~]+")  # printable ASCII without space and backslash
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")

FORBIDDEN: tuple[tuple[str, str], ...] = (
    ("0.0.0.0/8", "this network"),
    ("10.0.0.0/8", "private"),
    ("100.64.0.0/10", "shared by a carrier"),
    ("127.0.0.0/8", "loopback"),
    ("168.63.129.16/32", "of a cloud's own services"),
    ("169.254.0.0/16", "link-local, where clouds keep credentials"),
    ("172.16.0.0/12", "private"),
    ("192.0.0.0/24", "reserved"),
    ("192.0.2.0/24", "for documentation"),
    ("192.88.99.0/24", "a relay's"),
    ("192.168.0.0/16", "private"),
    ("198.18.0.0/15", "for benchmarks"),
    ("198.51.100.0/24", "for documentation"),
    ("203.0.113.0/24", "for documentation"),
    ("224.0.0.0/4", "multicast"),
    ("240.0.0.0/4", "reserved"),
    ("2001::/23", "reserved, or a tunnel's"),
    ("2001:db8::/32", "for documentation"),
    ("2002::/16", "a tunnel's"),
    ("3fff::/20", "for documentation"),
)
PUBLIC_IPV6 = ipaddress.IPv6Network("2000::/3")
_FORBIDDEN: tuple[tuple[Network, str], ...] = tuple((ipaddress.ip_network(net), why) for net, why in FORBIDDEN)


class EgressRules(NamedTuple):
    """The networks, ports and schemes that the settings allow."""

    networks: tuple[Network, ...] = ()
    ports: frozenset[int] = frozenset(PORTS)
    http: bool = False


class Target(NamedTuple):
    """The parts of a checked URL; the host is a name, or an address without brackets."""

    scheme: str
    host: str
    port: int
    path: str


def networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """Parse networks; ConfigError for an invalid one."""
    found = []
    for text in texts:
        try:
            found.append(ipaddress.ip_network(text))
        except ValueError as error:
            raise ConfigError(f"{text!r} is not a network ({error}); write it like 10.1.0.0/16") from None
    return tuple(found)


def target_of(url: str, rules: EgressRules) -> Target:
    """Return the parts of an allowed URL; EgressRefused says why a URL is not allowed."""
    if len(url) > LONGEST_URL or not _URL.fullmatch(url):
        raise EgressRefused(f"a callback's URL has up to {LONGEST_URL} ASCII characters, no space and no backslash")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise EgressRefused(f"the callback's URL cannot be read: {error}") from None
    scheme = _scheme(parts.scheme, rules)
    if "@" in parts.netloc or parts.fragment or "#" in url:
        raise EgressRefused("a callback's URL has no user, no password and no fragment; the signature is the proof")
    number = _port(USUAL_PORTS[scheme] if port is None else port, rules)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(scheme, _host(host, "[" in parts.netloc, rules), number, path)


def pinned(host: str, addresses: Sequence[str], rules: EgressRules) -> list[str]:
    """Return the addresses of a host in the order to try them; EgressRefused if none or one of them is forbidden."""
    unique = list(dict.fromkeys(addresses))
    if not unique:
        raise EgressRefused(f"{host} has no address")
    for address in unique:
        why = why_forbidden(address, rules)
        if why is not None:
            raise EgressRefused(
                f"{host} leads to an address that is {why}; callback_networks in the settings can allow its network"
            )
    return unique


def why_forbidden(text: str, rules: EgressRules) -> str | None:
    """Return why an address is forbidden, in words; None if it is allowed."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return "not an address"
    if any(address in network for network in rules.networks):
        return None
    for network, why in _FORBIDDEN:
        if address in network:
            return why
    if isinstance(address, ipaddress.IPv6Address) and (address not in PUBLIC_IPV6 or address.scope_id):
        return _why_not_public(address)
    return None if address.is_global else "not public"


def _why_not_public(address: ipaddress.IPv6Address) -> str:
    if address.is_loopback:
        return "loopback"
    if address.is_multicast:
        return "multicast"
    if address.is_link_local or address.scope_id:
        return "link-local"
    return "private" if address.is_private else "not public"


def _scheme(scheme: str, rules: EgressRules) -> str:
    if scheme == "https" or (scheme == "http" and rules.http):
        return scheme
    hint = "; callback_http in the settings can allow it" if scheme == "http" else ""
    raise EgressRefused(f"a callback goes over https, not {scheme or 'nothing'}{hint}")


def _port(port: int, rules: EgressRules) -> int:
    if port not in rules.ports:
        allowed = ", ".join(map(str, sorted(rules.ports)))
        raise EgressRefused(f"a callback goes to one of the ports {allowed}, not {port}; callback_ports can add it")
    return port


def _host(host: str, is_bracketed: bool, rules: EgressRules) -> str:
    if "%" in host:
        raise EgressRefused(f"{host[:100]!r} names an interface of this machine; write a public name")
    if is_bracketed or re.fullmatch(r"[0-9.]+", host):
        pinned(host, [host], rules)
        return host
    labels = host.removesuffix(".").split(".")
    if not 1 <= len(host) <= 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise EgressRefused(f"{host[:100]!r} is not the name of a host")
    if _NUMBER.fullmatch(labels[-1]):
        raise EgressRefused(f"{host[:100]!r} is an address in disguise; write a name, or four numbers with dots")
    return host.removesuffix(".")
