"""The default broker: the job queue in our own Postgres, reached as what serves.

Kombu's own `pgmq` transport keeps host, user and password of a URL only; here the pool takes the whole of it
(`sslmode`, a socket's folder as host). Redis and RabbitMQ by URL use kombu's transports, untouched.
"""

import select
from typing import Any

import psycopg
from kombu.transport import pgmq
from pgmq import PGMQueue
from psycopg_pool import ConnectionPool

from novamem import database

TRANSPORT = f"{__name__}:Transport"
FALLBACK = 2.0  # seconds between looks at the queue where no notification comes through, as behind a pooler


def transport_options(url: str) -> dict[str, Any]:
    """Celery's `broker_transport_options`. A message that a dead worker had taken shows again after six hours; the
    sweeper of `Operation` is quicker."""
    return {
        "conn_string": database.conninfo(url),
        "init_extension": False,
        "wait_time_seconds": 0,
        "use_notify": True,
        "polling_interval": FALLBACK,
        "visibility_timeout": 6 * 3600,
        "pool_size": 4,
    }


class Channel(pgmq.Channel):  # type: ignore[misc]
    """A channel that makes no queues and no triggers: `database.prepare` has made them, and the app role may not."""

    def _new_queue(self, queue: str, **kwargs: Any) -> None:
        pass

    def _maybe_enable_notify(self, queue: str, queue_name: str | None = None) -> None:
        self.connection._register_notify_queue(queue_name or self._queue_name(queue))


class NotificationWaiter(pgmq._NotifyWaiter):  # type: ignore[misc]
    """Waits for a notification at its socket: psycopg would look ten times a second."""

    def wait(self, timeout: float | None) -> bool:
        """Return whether one came within so many seconds, or before."""
        with self._lock:
            if self._closed or not self._channels:
                return False
            self._ensure_conn()
            conn = self._conn
        try:
            if any(conn.notifies(timeout=0)):
                return True
            select.select([conn], [], [], timeout)
            return any(conn.notifies(timeout=0))
        except (OSError, psycopg.OperationalError, psycopg.InterfaceError):
            self._drop_conn(conn)
            return False


class Transport(pgmq.Transport):  # type: ignore[misc]
    """The transport that `pgmq://` without a host stands for."""

    Channel = Channel
    _notify_waiter: NotificationWaiter | None

    def _create_pgmq_client(self) -> PGMQueue:
        options = self.client.transport_options
        info, most = options["conn_string"], options["pool_size"]
        unprepared = {"prepare_threshold": None}  # a pooler between would look for them in another session
        pool = ConnectionPool(info, min_size=1, max_size=most, timeout=5, open=True, kwargs=unprepared)
        return PGMQueue(conn_string=info, pool=pool, vt=options["visibility_timeout"], init_extension=False)

    def _get_notify_waiter(self) -> NotificationWaiter:
        if self._notify_waiter is None:
            self._notify_waiter = NotificationWaiter(self._get_pgmq_client().config.dsn)
        return self._notify_waiter

    def close_connection(self, connection: Any) -> None:
        """Close the pool too, which the client leaves to whoever made it."""
        pool = self._pgmq_client and self._pgmq_client.pool
        super().close_connection(connection)
        if pool is not None:
            pool.close()
