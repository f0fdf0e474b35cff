"""Formats of chats: how each kind of client writes a request, and where in the answer the text stands. Pure."""

from collections.abc import Callable
from dataclasses import dataclass

from memories.proxy.formats import anthropic_messages, chat_completions, responses
from memories.proxy.formats.answers import AssistantAnswer, ReplyReader
from memories.proxy.prompts import Prompt

__all__ = ["CHAT_COMPLETIONS", "FORMATS", "MESSAGES", "RESPONSES", "ReplyReader", "AssistantAnswer", "Format"]


@dataclass(frozen=True, slots=True)
class Format:
    """One format: its path under /v1/, how a request is read (ProxyRefused for one of another shape), what is said.

    A request that can't be read is refused, or passes without memory where the upstream may know more than we do.
    """

    path: str
    prompt_of: Callable[[bytes], Prompt]
    answer: ReplyReader
    passes_unread: bool = True


CHAT_COMPLETIONS = Format("chat/completions", chat_completions.prompt_of, chat_completions.ANSWER, passes_unread=False)
RESPONSES = Format("responses", responses.prompt_of, responses.ANSWER)
MESSAGES = Format("messages", anthropic_messages.prompt_of, anthropic_messages.ANSWER)
FORMATS = {form.path: form for form in (CHAT_COMPLETIONS, RESPONSES, MESSAGES)}
