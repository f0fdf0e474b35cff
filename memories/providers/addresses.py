"""Where addresses that others name may lead: not into the networks of the server, unless that is allowed."""

import ipaddress
import socket
from typing import Any

import httpx2

from memories.providers.http import Unanswered

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
UNICAST = ipaddress.IPv6Network("2000::/3")  # all that the internet routes
PORTS = {"http": 80, "https": 443}
TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")  # leads to the IPv4 address in its last bytes


class PrivateAddress(Unanswered):
    """A host that leads into a private network, or to this machine."""

    def __init__(self) -> None:
        super().__init__("private address", kind="private")


def pinned(url: str, *, may_be_private: bool = False) -> dict[str, Any]:
    """Return a request's `url`, `headers` and `extensions`: by its address, so that no second look finds another one.

    Raise Unanswered, and PrivateAddress unless it may be private.
    """
    named = httpx2.URL(url)
    host = named.raw_host.decode()
    target = named.copy_with(host=resolve(host, named.port or PORTS[named.scheme], may_be_private=may_be_private))
    return {"url": target, "headers": {"Host": named.netloc.decode()}, "extensions": {"sni_hostname": host}}


def resolve(host: str, port: int, *, may_be_private: bool) -> str:
    """Return the address to connect to. Raise Unanswered for a host that there is not, PrivateAddress."""
    try:
        found = [info[4][0] for info in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    except (OSError, UnicodeError) as error:
        raise Unanswered("no such host", kind="unreachable") from error
    addresses = sorted((ipaddress.ip_address(str(each).partition("%")[0]) for each in found), key=_version)
    if not (may_be_private or all(map(is_public, addresses))):
        raise PrivateAddress
    return str(addresses[0])


def is_public(address: Address) -> bool:
    """Return whether it belongs to no private network, nor to this machine."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if address in TRANSLATED:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(inner)
        if address not in UNICAST:
            return False
    return address.is_global and not address.is_multicast


def _version(address: Address) -> int:
    return address.version
