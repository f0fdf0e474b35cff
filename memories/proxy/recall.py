"""Recall of what the memory knows on a question; whatever goes wrong there, the chat goes on without."""

import asyncio
import datetime
import time
import uuid
from dataclasses import dataclass

import structlog
from django.conf import settings

from memories.access import Principal
from memories.ingest.chunking import clean
from memories.proxy import metrics
from memories.proxy.options import MemoryOptions
from memories.proxy.prompts import Prompt
from memories.proxy.threads import in_thread
from memories.retrieval import Question
from memories.retrieval.context import Request, build_context

PATIENCE = 3.0  # seconds; whoever chats is better served without memory than by waiting longer
FORMS = {"last_user": "markdown", "system": "xml"}
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Recalled:
    """The request with what was handed out, how many memories and tokens that were, the receipt, and the seconds.

    `why_not` says why nothing was.
    """

    body: bytes
    memories: int = 0
    tokens: int = 0
    receipt_id: uuid.UUID | None = None
    seconds: float = 0.0
    why_not: str = ""

    @property
    def headers(self) -> dict[str, str]:
        """What the answer says of it."""
        headers = {"X-NovaMem-Injected": str(self.memories), "X-NovaMem-Tokens": str(self.tokens)}
        headers |= {"X-NovaMem-Memory": f"none; reason={self.why_not}"} if self.why_not else {}
        headers |= {"X-NovaMem-Receipt": str(self.receipt_id)} if self.receipt_id else {}
        return headers | {"Server-Timing": f"recall;dur={self.seconds * 1000:.1f}"}


def database_deadline() -> float:
    """Return until when, in this event loop's time, a request that comes now waits for the database."""
    return asyncio.get_running_loop().time() + PATIENCE


async def recall(
    principal: Principal, options: MemoryOptions, prompt: Prompt, *, now: datetime.datetime, deadline: float
) -> Recalled:
    """The request with the memories on its question; as it came when there is none, or no answer by the deadline."""
    if not options.recall:
        return Recalled(prompt.raw, why_not=options.why_not)
    try:
        async with asyncio.timeout_at(deadline):
            return await in_thread(_look_up, principal, options, prompt, now)
    except Exception as error:
        metrics.UNRECALLED.labels(type(error).__name__).inc()
        log.exception("chat_without_memory", error=type(error).__name__)
        return Recalled(prompt.raw, why_not="unavailable")


def _look_up(principal: Principal, options: MemoryOptions, prompt: Prompt, now: datetime.datetime) -> Recalled:
    begun, query = time.perf_counter(), clean(prompt.question)
    if not query:
        return Recalled(prompt.raw, why_not="no_question")
    question = Question(
        query,
        [options.namespace],
        options.project_wide,
        floor=options.floor,
        session_id=options.session,
        spoken=prompt.spoken,
    )
    wanted = Request(
        question,
        max_tokens=settings.PROXY_MAX_TOKENS,
        max_memories=options.top_k or settings.PROXY_TOP_K,
        form=FORMS[settings.PROXY_INJECT],
    )
    found = build_context(principal, wanted, now=now)
    seconds = time.perf_counter() - begun
    if not found.prompt_prefix:
        why_not = "nothing_relevant" if found.nothing_relevant else "nothing_found"
        return Recalled(prompt.raw, seconds=seconds, why_not=why_not)
    body = prompt.with_block(found.prompt_prefix, place=settings.PROXY_INJECT)
    metrics.INJECTED.inc()
    return Recalled(body, len(found.included), found.tokens_used, found.receipt_id, seconds)
