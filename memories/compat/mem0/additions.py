"""What is added: turns of a conversation, under keys of whose they are and what they say."""

import hashlib
import json
import uuid
from dataclasses import replace
from typing import Any

from conflicts.public import Admission
from memories import access
from memories.access import Principal
from memories.compat.mem0.filters import AskedMemories
from memories.ingest import Draft
from memories.ingest.files import Message
from memories.ingest.messages import drafts_of
from memories.models import Fragment
from memories.rest.inputs import Extra


def drafts(values: dict[str, Any], whose: AskedMemories, *, namespace: str) -> list[Draft]:
    """Return what is worth keeping of the turns, as belonging to the entities."""
    turns = [
        Message(
            turn["role"],
            turn["content"],
            None,
            None,
            whose.entities.get("run_id"),
            None,
            "message",
            turn.get("name"),
            attested=turn["role"] == "user" and not turn.get("name"),
        )
        for turn in values["messages"]
    ]
    belonging: dict[str, Any] = {"workflow_id": whose.entities.get("app_id", "")}
    belonging |= {"agent_id": whose.entities["agent_id"]} if "agent_id" in whose.entities else {}
    belonging |= {"event_at": values["timestamp"].start} if "timestamp" in values else {}
    found, _ = drafts_of(turns, namespace=namespace)
    metadata = values.get("metadata") or {}
    return [replace(draft, extra={**metadata, **draft.extra}, **belonging) for _, draft in found]


def keyed_drafts(principal: Principal, wanted: list[Draft], whose: AskedMemories) -> list[Draft]:
    """Return the drafts under keys of their own: equal texts of two entities are two memories.

    Added again by the same, a text is the memory that it was, with the metadata that it had and what comes now, unless
    that says something else by now. Raise ValidationError where that is more than metadata may be.
    """
    entities = {**whose.entities, **({"user_id": whose.user} if whose.user else {})}
    keys = [_key(entities, draft.content) for draft in wanted]
    with access.enter(principal, why="add"):
        namespaces = access.readable(principal, sorted({draft.namespace for draft in wanted}))
        rows = Fragment.objects.within(principal.project_id).in_namespaces(namespaces)
        stands = rows.filter(key__in=keys).values_list("key", "content", "extra")
        known = {key: (text, extra) for key, text, extra in stands}
    made = []
    for draft, key in zip(wanted, keys, strict=True):
        text, extra = known.get(key, (draft.content, {}))
        if text == draft.content:
            made.append(replace(draft, key=key, extra=Extra().run_validation({**extra, **draft.extra})))
        else:
            made.append(replace(draft, key=f"mem0:{uuid.uuid4().hex}"))
    return made


def _key(entities: dict[str, str], text: str) -> str:
    text_of_key = json.dumps([[name, entities[name]] for name in sorted(entities)] + [text])
    return f"mem0:{hashlib.sha256(text_of_key.encode()).hexdigest()[:32]}"


def added_answer(draft: Draft, admission: Admission | None) -> dict[str, Any]:
    """Return what became of a memory that was to be added; one that was forgotten is told of by itself."""
    if admission is None:
        return {"id": None, "memory": draft.content, "event": "NONE", "status": "blocked_by_erasure"}
    known = admission.deduplicated or admission.replaced or admission.pending_conflicts
    event = "NONE" if known else "ADD"
    return {"id": admission.fragment.id, "memory": admission.fragment.content, "event": event}
