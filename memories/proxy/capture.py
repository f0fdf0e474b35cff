"""What was said in a chat, on its way to the ingestion."""

import datetime
from collections.abc import Callable

from memories import jobs
from memories.access import Principal
from memories.ingest.captures import capture
from memories.proxy import metrics
from memories.proxy.formats import Format
from memories.proxy.options import MemoryOptions
from memories.proxy.prompts import Prompt
from memories.proxy.recall import Recalled
from memories.proxy.relay import MOST, Listener


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
            )
            if row:
                jobs.wake_ingestion(principal.project_id)

        return write

    return listen
