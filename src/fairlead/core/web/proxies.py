"""The client address of a request behind trusted proxies (X-Forwarded-For).

A proxy appends the address of its caller to X-Forwarded-For. Everything further left came with the request and can be
forged. So the addresses are read from right to left, starting with the peer of the connection, as long as each is a
trusted proxy; the first address that is not one is the client's. No proxy is trusted unless the settings name it.
"""

import ipaddress
from collections.abc import Iterable

from fairlead.core.web.egress import Address, Network, networks
from fairlead.errors import ConfigError

SUBSCRIBER = 64  # prefix length of one subscriber's IPv6 network


def proxy_networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """Parse the networks of trusted proxies; ConfigError for an invalid one, or one that contains every address."""
    found = networks(texts)
    for network in found:
        if network.prefixlen == 0:
            raise ConfigError(f"{network} is everybody, and who trusts everybody lets clients choose their address")
    return found


def client_of(peer: str, forwarded: Iterable[str], trusted: tuple[Network, ...]) -> str:
    """Return the client address of a request; `forwarded` are its X-Forwarded-For fields in order."""
    hop = _address(peer)
    if hop is None or not _is_trusted(hop, trusted):
        return peer
    for text in reversed(",".join(forwarded).split(",")):
        said = _address(text)
        if said is None:
            break
        hop = said
        if not _is_trusted(hop, trusted):
            break
    return str(hop)


def is_trusted(peer: str, trusted: tuple[Network, ...]) -> bool:
    """Whether the peer of a connection is a trusted proxy."""
    hop = _address(peer)
    return hop is not None and _is_trusted(hop, trusted)


def origin_of(address: str) -> str:
    """Return the unit for rate limits by sender: an IPv4 address, or the /64 network of an IPv6 address."""
    found = _address(address)
    if not isinstance(found, ipaddress.IPv6Address):
        return address
    return str(ipaddress.IPv6Network((int(found), SUBSCRIBER), strict=False))


def _is_trusted(hop: Address, trusted: tuple[Network, ...]) -> bool:
    return any(hop in network for network in trusted)


def _address(text: str) -> Address | None:
    """Parse an address with or without port or brackets; IPv4 mapped to IPv6 becomes IPv4."""
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found
