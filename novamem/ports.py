"""The port that a web server listens on: a free one, or a word about who may not have it."""

import socket

from novamem.progress import say

MOST = 50  # how far the default port may move on


class CanNotServe(Exception):
    """It can't start; the message says what to do."""


def choose_port(host: str, port: int, *, chosen: bool) -> int:
    """The port to listen on. One that was chosen is taken as it is; only the default moves on to the next free one.

    Raise CanNotServe.
    """
    if not 0 <= port < 65536:
        raise CanNotServe(f"PORT={port} is no port: choose one from 1024 to 65535.")
    for candidate in range(port, port + (1 if chosen else MOST)):
        found = _free(host, candidate)
        if found:
            if candidate != port:
                say(f"port {port} is taken; using {found} (set PORT to choose another)")
            return found
    if chosen:
        raise CanNotServe(f"Port {port} is taken on {host}. Stop what listens there, or set PORT to another one.")
    raise CanNotServe(f"The ports {port} to {port + MOST - 1} are all taken on {host}. Set PORT to a free one.")


def _free(host: str, port: int) -> int | None:
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise CanNotServe(f"HOST={host!r} is no address to listen on: {error}") from error
    with socket.socket(family, kind, protocol) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(where)
            probe.listen()
        except PermissionError as error:
            raise CanNotServe(f"Port {port} is not for this user: choose one above 1023 as PORT.") from error
        except OSError:
            return None
        return int(probe.getsockname()[1])
