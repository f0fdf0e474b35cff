"""OpenAI's responses: `input`, answered by `output`. Pure."""

from typing import Any

from memories.proxy.errors import ProxyRefused
from memories.proxy.formats.answers import ReplyReader
from memories.proxy.prompts import Message, Prompt, append_block, is_content, json_bytes, json_object

# Items that are no turn of anybody: what the model thought, and what stands in the upstream alone.
NO_TURNS = ("reasoning", "item_reference", "compaction")
OF_AN_ITEM = ("type", "id", "status")


class ResponsesPrompt(Prompt):
    """A request for a response."""

    __slots__ = ()

    def with_block(self, block: str, *, place: str) -> bytes:
        """Return it with a context block; see Prompt."""
        if place == "system":
            instructions = append_block(self.body.get("instructions") or "", block, part="input_text")
            return json_bytes({**self.body, "instructions": instructions})
        given = self.body["input"]
        if isinstance(given, str):
            return json_bytes({**self.body, "input": append_block(given, block)})
        last = max(index for index, item in enumerate(given) if item.get("role") == "user")
        told = {**given[last], "content": append_block(given[last]["content"], block, part="input_text")}
        return json_bytes({**self.body, "input": [*given[:last], told, *given[last + 1 :]]})


def prompt_of(raw: bytes) -> ResponsesPrompt:
    """Return the request in a body. Raise ProxyRefused (400) for one of another shape."""
    body = json_object(raw)
    given = body.get("input")
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise ProxyRefused(400, "invalid_type", "input has to be a string or a list of items.", param="input")
    messages = [message for item in items if (message := _message(item))]
    return ResponsesPrompt(body, raw, messages, _before(body))


def _before(body: dict[str, Any]) -> str:
    """Return the id of what the upstream remembers of the chat."""
    conversation = body.get("conversation")
    named = conversation.get("id") if isinstance(conversation, dict) else conversation
    return str(body.get("previous_response_id") or named or "")


def _message(item: dict[str, Any]) -> Message | None:
    """Return an item as a message, None for what nobody said."""
    kind = item.get("type") or "message"
    if not isinstance(kind, str) or kind in NO_TURNS:
        return None
    if kind == "message":
        if not isinstance(item.get("role"), str) or not is_content(item.get("content")):
            raise ProxyRefused(400, "invalid_type", "A message has a role and a content.", param="input")
        return {name: value for name, value in item.items() if name not in OF_AN_ITEM}
    if kind.endswith("_output"):
        output = item.get("output")
        return {"role": "tool", "content": output if is_content(output) else "", "call": item.get("call_id")}
    return {"role": "assistant", "content": "", "tool_calls": [item]}


def _whole(answer: Any) -> str:
    """`output[type message].content[type output_text].text`."""
    parts = [part for item in answer["output"] if item["type"] == "message" for part in item["content"]]
    return "".join(part["text"] for part in parts if part["type"] == "output_text")


ANSWER = ReplyReader(
    whole=_whole,
    piece=lambda event: event["delta"] if event["type"] == "response.output_text.delta" else "",
    ends=lambda event: event.get("type") in ("response.completed", "response.incomplete"),
)
