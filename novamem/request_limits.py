"""What callers send is taken in within limits: of size by path and by who sends, of silence, of what the disk holds."""

import asyncio
import tempfile
import time
import uuid
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import IO, Any

import structlog
from django.conf import settings
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler
from django.db import InterfaceError, OperationalError
from django.http import HttpResponse

from memories.backups.storage import WriteRefused, report_refusal
from memories.proxy import errors
from memories.rest.problem_details import problem
from novamem import sender_check
from novamem.logs import route_of

SILENCE = 60.0  # seconds within which a piece of a body has to come
SLOWEST = 1024  # bytes a second of a body, from then on: whoever sends less holds a request open for its own sake
LINGER = 2.0  # seconds in which a caller who is refused may go on sending, to hear it
LITTLE = 1 << 16  # bytes: a form around a file; and who sends hardly too much is told so after the key was looked at
PASSED = 512 << 20  # bytes: as much as OpenAI takes as a file
PROXY, CHAT = "/v1/", "/v1/chat/"
FILES = ("/api/v1/restores", "/backups/upload/")

log = structlog.get_logger(__name__)


class RequestRefused(Exception):
    """A request is not taken in: HTTP status, code, a sentence."""

    def __init__(self, status: int, code: str, why: str, *, retry_after: int = 0) -> None:
        super().__init__(why)
        self.status, self.code, self.retry_after = status, code, retry_after


def limit_of(path: str) -> int:
    """Return how many bytes may be sent there."""
    if path in FILES:
        return int(settings.RESTORE_MAX_BYTES)
    if path.startswith(PROXY) and not path.startswith(CHAT):
        return PASSED
    return int(settings.DATA_UPLOAD_MAX_MEMORY_SIZE)


class Within:
    """A request's `receive`, as long as its body keeps to the limits. Raises Refused."""

    def __init__(self, scope: Any, receive: Callable[[], Awaitable[Any]]) -> None:
        self._receive, self._headers, self._path = receive, scope["headers"], scope["path"]
        self._limit = limit_of(scope["path"])
        # A file is nobody's to send who may not; anything else only has to be of somebody, when it is much.
        self._unasked = LITTLE if self._path in FILES else int(settings.DATA_UPLOAD_MAX_MEMORY_SIZE) + LITTLE
        self._seat: uuid.UUID | None = None
        self._begun = self._told = time.monotonic()
        self._said = next((int(value) for name, value in scope["headers"] if name == b"content-length"), 0)
        self._taken = 0
        self._ended = False

    async def __call__(self) -> Any:
        """Return what comes next."""
        if self._ended:
            return await self._receive()  # that the caller leaves may take as long as it likes
        await self._check(self._said)
        event = await self._soon()
        self._taken += len(event.get("body", b""))
        await self._check(self._taken)
        self._ended = not event.get("more_body", False)
        if self._seat is not None and time.monotonic() - self._told > sender_check.TELL:
            self._told = time.monotonic()
            await asyncio.to_thread(sender_check.stay, self._seat)
        return event

    async def _check(self, size: int) -> None:
        if size > self._limit + LITTLE:
            raise RequestRefused(413, "too_large", f"The body is over {self._limit} bytes.")
        if self._seat is not None or size <= self._unasked:
            return
        try:
            self._seat = await asyncio.to_thread(sender_check.admit, self._headers, file=self._path in FILES)
        except (OperationalError, InterfaceError):
            raise RequestRefused(
                503, "database_unavailable", "Who sends so much can't be looked up just now."
            ) from None
        except sender_check.Unknown:
            raise RequestRefused(
                401, "unauthenticated", "Who sends so much has to be known: give a valid key, or log in."
            ) from None
        except sender_check.MayNot:
            raise RequestRefused(403, "not_permitted", "This needs the verb admin, and the whole project.") from None
        except sender_check.TooMany:
            why = f"{settings.UPLOADS_PER_KEY} uploads are on their way already; wait for one to end."
            raise RequestRefused(429, "rate_limited", why, retry_after=10) from None

    async def leave(self) -> None:
        """End the upload: another may begin."""
        if self._seat is not None:
            await asyncio.to_thread(sender_check.leave, self._seat)

    async def _soon(self) -> Any:
        left = self._begun + SILENCE + self._taken / SLOWEST - time.monotonic()
        try:
            async with asyncio.timeout(min(SILENCE, left)):
                return await self._receive()
        except TimeoutError:
            why = f"Nothing of the body came for {SILENCE:.0f} seconds, or less than {SLOWEST} bytes a second."
            raise RequestRefused(408, "too_slow", why) from None


class Bounded(ASGIHandler):
    """Django behind ASGI; what is too much, too slow or finds no room is refused before anything is done with it."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """One request."""
        await self.guard(super().__call__, scope, receive, send)

    async def guard(self, application: Callable[..., Awaitable[None]], scope: Any, receive: Any, send: Any) -> None:
        """One request of any application, within the limits."""
        within = Within(scope, receive)
        try:
            await application(scope, within, send)
        except RequestRefused as refused:
            await self._refuse(_refusal(refused, scope["path"]), receive, send)
        finally:
            await asyncio.shield(within.leave())

    async def _refuse(self, answer: HttpResponse, receive: Any, send: Any) -> None:
        """Answer, and ends the connection once the caller listens: with something unread the answer would be lost."""

        async def not_yet(event: Any) -> None:
            await send({**event, "more_body": True})

        await self.send_response(answer, not_yet)
        with suppress(TimeoutError):
            async with asyncio.timeout(LINGER):
                while (await receive()).get("more_body", False):
                    pass
        await send({"type": "http.response.body"})

    async def read_body(self, receive: Any) -> IO[bytes]:
        """Return what was sent, from its beginning. Raise RequestAborted, Refused."""
        body = tempfile.SpooledTemporaryFile(max_size=settings.FILE_UPLOAD_MAX_MEMORY_SIZE)  # noqa: SIM115
        try:
            with report_refusal():
                await _fill(body, receive)
        except BaseException as error:
            with suppress(OSError):  # what is left cannot be written either
                body.close()
            if isinstance(error, WriteRefused):
                raise RequestRefused(507, error.code, f"The body can't be kept: {error}.") from error
            raise
        return body

    def create_request(self, scope: Any, body_file: Any) -> Any:
        """The request, or why it is none. It says how long its body is: without that Django takes it for empty.

        Its path is whole again: Django takes what `root_path` says off itself.
        """
        body_file.seek(0, 2)
        length, headers = body_file.tell(), scope["headers"]
        body_file.seek(0)
        if length and not any(name == b"content-length" for name, _ in headers):
            headers = [*headers, (b"content-length", str(length).encode())]
        path = scope.get("root_path", "") + scope["path"]
        return super().create_request({**scope, "path": path, "headers": headers}, body_file)


async def _fill(body: Any, receive: Callable[[], Awaitable[Any]]) -> None:
    """Read to the end. What goes to the disk does so in a thread."""
    taken, more = 0, True
    while more:
        event = await receive()
        if event["type"] == "http.disconnect":
            raise RequestAborted
        piece = event.get("body", b"")
        taken += len(piece)
        await _done(taken, body.write, piece)
        more = event.get("more_body", False)
    await _done(taken, body.seek, 0)


async def _done(taken: int, do: Callable[..., Any], *given: Any) -> None:
    if taken > settings.FILE_UPLOAD_MAX_MEMORY_SIZE:
        await asyncio.to_thread(do, *given)
    else:
        do(*given)


def _refusal(refused: RequestRefused, path: str) -> HttpResponse:
    """Return the answer, in the words of the door. The connection ends: what is still on its way nobody reads."""
    request_id = str(uuid.uuid4())
    with structlog.contextvars.bound_contextvars(request_id=request_id):
        log.warning("request_refused", code=refused.code, path=route_of(path))
        if path.startswith(PROXY):
            answer = errors.refusal(errors.ProxyRefused(refused.status, refused.code, str(refused)), path)
        else:
            answer = problem(refused.status, refused.code, detail=str(refused))
    answer["Connection"], answer["Content-Length"] = "close", str(len(answer.content))
    answer["X-Request-Id"] = request_id
    if refused.retry_after:
        answer["Retry-After"] = str(refused.retry_after)
    return answer
