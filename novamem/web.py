"""The web server's processes: uvicorn on one socket that sends answers at once.

python -m novamem.web --host 127.0.0.1 --port 8000 --processes 2
"""

import argparse
import socket

import uvicorn
from uvicorn.supervisors import Multiprocess

from novamem import env

GRACE = 5  # seconds for requests to end
# A worker that says nothing for so many seconds is replaced. On a busy machine starting one takes longer than uvicorn's
# five seconds of patience: each would be replaced before it answered anything.
PATIENCE = 60


def main() -> None:
    """Serves until a signal."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--log-level", default="info")
    given = parser.parse_args()
    settings = env.load()
    config = uvicorn.Config(
        "novamem.asgi:application",
        host=given.host,
        port=given.port,
        workers=given.processes,
        log_level=given.log_level.lower(),
        access_log=False,
        server_header=False,
        proxy_headers=settings["BEHIND_TLS"],
        forwarded_allow_ips=settings["TRUSTED_PROXIES"],
        timeout_graceful_shutdown=GRACE,
        timeout_worker_healthcheck=PATIENCE,
        ws="none",  # a handshake is a request like any other
    )
    listening = config.bind_socket()
    # Handed on from here asyncio would not set it, and every answer would wait 40 ms for an acknowledgement.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if given.processes == 1:
        uvicorn.Server(config).run(sockets=[listening])
    else:
        Multiprocess(config, sockets=[listening]).run()


if __name__ == "__main__":
    main()
