"""Who sent a request where proxies stand between.

A proxy appends the address that called it to X-Forwarded-For. What stands to the left of that came with the request,
and anybody can write anything there. So the addresses are read from the right, beginning at the other end of the
connection, and each is believed only if a trusted proxy said it. The first that is no trusted proxy's is the client's.
Nobody is trusted unless the settings name them.
"""

import ipaddress
from collections.abc import Iterable

from fairlead.core.web.egress import Address, Network, networks
from fairlead.errors import ConfigError

SUBSCRIBER = 64  # the bits of an IPv6 address that one subscriber cannot choose


def proxy_networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """The networks of trusted proxies; ConfigError where one is none, or is everybody's."""
    found = networks(texts)
    for network in found:
        if network.prefixlen == 0:
            raise ConfigError(f"{network} is everybody, and who trusts everybody lets clients choose their address")
    return found


def client_of(peer: str, forwarded: Iterable[str], trusted: tuple[Network, ...]) -> str:
    """The address that a request came from; `forwarded` are the X-Forwarded-For fields in their order."""
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
    """Whether the other end of a connection is a trusted proxy."""
    hop = _address(peer)
    return hop is not None and _is_trusted(hop, trusted)


def origin_of(address: str) -> str:
    """What is counted as one sender: an address, and of IPv6 the network, in which a subscriber has all addresses."""
    found = _address(address)
    if not isinstance(found, ipaddress.IPv6Address):
        return address
    return str(ipaddress.IPv6Network((int(found), SUBSCRIBER), strict=False))


def _is_trusted(hop: Address, trusted: tuple[Network, ...]) -> bool:
    return any(hop in network for network in trusted)


def _address(text: str) -> Address | None:
    """An address, with or without a port or brackets; IPv4 in IPv6 is IPv4."""
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
