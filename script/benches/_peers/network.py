"""No way out: what a peer asks of any other machine is refused, and told."""

import sys
from typing import Any

LOCAL = {"127.0.0.1", "::1", "localhost"}


def closed() -> set[str]:
    """From now on Python's sockets reach this machine only. The set grows by each address that was asked for."""
    refused: set[str] = set()

    def watch(event: str, given: tuple[Any, ...]) -> None:
        if event == "socket.getaddrinfo":
            host = given[0]
        elif event == "socket.connect" and isinstance(given[1], tuple):
            host = given[1][0]
        else:
            return
        name = host.decode() if isinstance(host, bytes) else host
        if name and name not in LOCAL:
            refused.add(str(name))
            raise ConnectionRefusedError(f"{name}: benches reach this machine only")

    sys.addaudithook(watch)
    return refused
