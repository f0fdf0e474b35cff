"""Looking up what the memory knows on a question; whatever goes wrong there, the chat goes on without."""

import asyncio
import datetime
import time
import uuid
from dataclasses import dataclass

import structlog
from django.conf import settings

from memories.access import Principal
from memories.proxy import counting
from memories.proxy.prompts import Prompt
from memories.proxy.threads import in_thread
from memories.proxy.wishes import Wish
from memories.retrieval import Question, Request, context

PATIENCE = 3.0  # seconds; whoever chats is better served without memory than by waiting longer
FORMS = {"last_user": "markdown", "system": "xml"}  # [4] puts XML into the system message
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Recalled:
    """The request with what was handed out, how many memories and tokens that were, the receipt, and the seconds."""

    body: bytes
    memories: int = 0
    tokens: int = 0
    receipt_id: uuid.UUID | None = None
    seconds: float = 0.0

    @property
    def headers(self) -> dict[str, str]:
        """What the answer says of it."""
        headers = {"X-NovaMem-Injected": str(self.memories), "X-NovaMem-Tokens": str(self.tokens)}
        headers |= {"X-NovaMem-Receipt": str(self.receipt_id)} if self.receipt_id else {}
        return headers | {"Server-Timing": f"recall;dur={self.seconds * 1000:.1f}"}


async def recall(principal: Principal, wish: Wish, prompt: Prompt, *, now: datetime.datetime) -> Recalled:
    """The request with the memories on its question; as it came when there is none, or no answer in time."""
    if not wish.recall:
        return Recalled(prompt.raw)
    try:
        return await asyncio.wait_for(in_thread(_look_up, principal, wish, prompt, now), PATIENCE)
    except Exception as error:
        counting.UNRECALLED.labels(type(error).__name__).inc()
        log.exception("chat_without_memory", error=type(error).__name__)
        return Recalled(prompt.raw)


def _look_up(principal: Principal, wish: Wish, prompt: Prompt, now: datetime.datetime) -> Recalled:
    begun, query = time.perf_counter(), prompt.question
    if not query:
        return Recalled(prompt.raw)
    wanted = Request(
        question=Question(query=query, namespaces=[wish.namespace], session_id=wish.session),
        max_tokens=settings.PROXY_MAX_TOKENS,
        max_memories=settings.PROXY_TOP_K,
        form=FORMS[settings.PROXY_INJECT],
    )
    found = context(principal, wanted, now=now)
    seconds = time.perf_counter() - begun
    if not found.prompt_prefix:
        return Recalled(prompt.raw, seconds=seconds)
    body = prompt.with_block(found.prompt_prefix, place=settings.PROXY_INJECT)
    counting.INJECTED.inc()
    return Recalled(body, len(found.included), found.tokens_used, found.receipt_id, seconds)
