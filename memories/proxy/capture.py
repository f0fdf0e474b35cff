"""What was said in a chat, on its way to the ingestion."""

import asyncio
import datetime
import uuid
from collections.abc import Callable, Sequence

import structlog

from memories import jobs
from memories.access import Principal
from memories.ingest.captures import capture, scopes_of_chat
from memories.proxy import metrics
from memories.proxy.formats import Format
from memories.proxy.options import MemoryOptions
from memories.proxy.prompts import Prompt
from memories.proxy.recall import Recalled
from memories.proxy.relay import MOST, Listener
from memories.proxy.threads import in_thread

log = structlog.get_logger(__name__)


async def scopes_of(principal: Principal, options: MemoryOptions, *, deadline: float) -> Sequence[uuid.UUID]:
    """As `scopes_of_chat`; nothing where nothing is captured, or the database does not say so by the deadline."""
    if not options.capture:
        return ()
    try:
        async with asyncio.timeout_at(deadline):
            return await in_thread(scopes_of_chat, principal, options.namespace)
    except Exception as error:  # whatever it is: it stops no chat
        log.exception("chat_without_scope", error=type(error).__name__)
        return ()


def listener_of(
    principal: Principal,
    options: MemoryOptions,
    form: Format,
    prompt: Prompt,
    recalled: Recalled,
    *,
    status: int,
    content_type: str,
    packed: bool,
    begun_in: Sequence[uuid.UUID],
) -> Listener | None:
    """Take the bytes of the answer and when it ended; what writes down what is new. None when nothing is captured."""
    if not options.capture:
        return None
    if status != 200:
        metrics.UNCAPTURED.labels("upstream_error").inc()
        return None

    def listen(body: bytes, said_at: datetime.datetime) -> Callable[[], None]:
        turns = prompt.news()
        if packed or len(body) > MOST:
            metrics.UNCAPTURED.labels("packed" if packed else "too_long").inc()
        else:
            text = form.answer.read(body, content_type=content_type)
            turns.append(prompt.reply(text.text, partial=text.partial))

        def write() -> None:
            row = capture(
                principal,
                turns,
                namespace=options.namespace,
                conversation_id=options.session,
                receipt_id=recalled.receipt_id,
                now=said_at,
                begun_in=begun_in,
            )
            if row:
                jobs.wake_ingestion(principal.project_id)

        return write

    return listen
