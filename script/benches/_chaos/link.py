"""A wire between two programs that can be cut, or swallow everything: a TCP proxy in threads of the bench's own."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress

PIECE = 1 << 16


class Link:
    """Listens on a port of 127.0.0.1 and leads each connection on."""

    def __init__(self, connect: Callable[[], socket.socket]) -> None:
        self._connect = connect
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self._open: set[socket.socket] = set()
        self._flows = threading.Event()
        self._flows.set()
        self._is_cut = False
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def port(self) -> int:
        """Where it listens."""
        port: int = self._listener.getsockname()[1]
        return port

    def hang(self) -> None:
        """Hand on nothing from now on; connections stay, and new ones are taken."""
        self._flows.clear()

    def cut(self) -> None:
        """End every connection, and each new one at once."""
        self._is_cut = True
        with self._lock:
            for end in self._open:
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def mend(self) -> None:
        """Let everything through again."""
        self._is_cut = False
        self._flows.set()

    def close(self) -> None:
        """End for good."""
        self.cut()
        self._flows.set()
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                threading.Thread(target=self._lead, args=[near], daemon=True).start()

    def _lead(self, near: socket.socket) -> None:
        with near, suppress(OSError):
            if self._is_cut:
                return
            self._flows.wait()
            with self._connect() as far:
                with self._lock:
                    self._open |= {near, far}
                back = threading.Thread(target=self._pump, args=[far, near], daemon=True)
                back.start()
                self._pump(near, far)
                back.join()
                with self._lock:
                    self._open -= {near, far}

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while piece := source.recv(PIECE):
                self._flows.wait()
                target.sendall(piece)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


def to_port(port: int) -> Callable[[], socket.socket]:
    """Return how a port of this machine is reached."""
    return lambda: socket.create_connection(("127.0.0.1", port))


def to_socket(path: str) -> Callable[[], socket.socket]:
    """Return how a socket in the file system is reached."""

    def connect() -> socket.socket:
        end = socket.socket(socket.AF_UNIX)
        end.connect(path)
        return end

    return connect
