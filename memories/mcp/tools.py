"""The tools of the memory itself: each builds the request that the API knows, and makes one call into a room."""

import json
import uuid
from itertools import accumulate
from textwrap import shorten
from typing import Annotated, Any, Literal

from django.utils import timezone
from pydantic import BaseModel, Field
from rest_framework.exceptions import ValidationError
from rest_framework.utils.encoders import JSONEncoder

from conflicts.history import BeliefQuery, believed_claims, claims, load_lives, timeline
from conflicts.resolution import waiting
from conflicts.votes import vote
from memories import access, erasure, ingest
from memories.access import NotFound
from memories.cursors import NEWEST_FIRST, BadCursor, Cursor
from memories.mcp.callers import Caller
from memories.mcp.descriptions import (
    AnyPredicate,
    AnySubject,
    ClaimWords,
    Floor,
    Id,
    Kind,
    MessageWords,
    Most,
    Place,
    Predicate,
    Session,
    Source,
    Subject,
    Tags,
    Tokens,
    Wide,
)
from memories.models.answer_rows import load_answer_rows
from memories.rest.answers import answers, effects_of
from memories.rest.claims import BelievedAnswer, ClaimsQuery
from memories.rest.conflicts import ConflictQuery
from memories.rest.conflicts import answers as conflict_answers
from memories.rest.contexts import ContextInput, context_answer, context_of
from memories.rest.fields import validated
from memories.rest.fragment_lists import ListQuery, matching_fragments
from memories.rest.fragments import answer_of, stored_answers
from memories.rest.histories import BY_PERIOD, LifeAnswer, TimelineQuery, history_answer
from memories.rest.ingestion import IngestInput, messages_of
from memories.rest.inputs import FragmentChange, FragmentInput, draft_of
from memories.rest.search import SearchInput, question_of
from memories.rest.votes import CorroborateInput, DisputeInput, vote_answer
from memories.retrieval import search
from memories.retrieval.context import build_context, estimate_tokens

SHOWN = ("id", "namespace", "type", "content", "status", "claim", "claims", "trust", "tags", "event_at", "created_at")
STORED = ("id", "namespace", "status", "deduplicated", "superseded", "pending_conflicts")
ROOM, TITLE = 40, 80  # tokens of what stands beside the results; characters
Limit = Annotated[int, Field(description="At most this many.", ge=1, le=200)]


def request_body(**fields: Any) -> dict[str, Any]:
    """The body of a request: what was given."""
    plain = {name: _plain(value) for name, value in fields.items()}
    return {name: value for name, value in plain.items() if value is not None}


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value.model_dump(exclude_none=True) if isinstance(value, BaseModel) else value


def brief_answer(shown: dict[str, Any], *, names: tuple[str, ...] = SHOWN, **more: Any) -> dict[str, Any]:
    """Of an answer of the API, what an agent needs to read; its source is the class that it comes from."""
    source = {"source": shown["provenance"]["source"]} if names is SHOWN else {}
    return {**{name: shown[name] for name in names}, **_whose(shown), **source, **more}


def _whose(shown: dict[str, Any]) -> dict[str, Any]:
    """The user of a memory that belongs to one."""
    return {"user": shown["user"]} if shown["user"] is not None else {}


def retain(
    caller: Caller,
    content: Annotated[str, Field(description="One fact or event in plain words, at most 2000 characters.")],
    namespace: Place = None,
    type: Kind = None,
    tags: Tags = None,
    source: Source = None,
    claim: Annotated[ClaimWords | None, Field(description="The fact as subject, predicate, value.")] = None,
    claims: Annotated[
        list[ClaimWords] | None, Field(description="Several facts of one text, instead of claim.")
    ] = None,
    extract_claim: Annotated[bool, Field(description="Read the claims out of the text instead.")] = False,
    event_at: Annotated[str | None, Field(description="When it happened: ISO 8601 with an offset.")] = None,
) -> dict[str, Any]:
    """Remembers one fact. A contradiction of a stronger source is quarantined and answers its pending conflicts."""
    values = {"claim": claim, "claims": claims, "extract_claim": extract_claim}
    body = request_body(content=content, type=type, tags=tags, event_at=event_at, **values)
    provenance = {"provenance": {"source": source}} if source else {}
    draft = draft_of(validated(FragmentInput, {**body, **provenance, "namespace": caller.place(namespace)}))
    admissions = ingest.store(caller.principal, ingest.prepare([draft]), now=timezone.now())
    with access.enter(caller.principal, why="answer"):
        (shown,) = stored_answers(caller.principal, admissions)
    return brief_answer(shown, names=STORED)


def retain_conversation(
    caller: Caller,
    messages: Annotated[list[MessageWords], Field(description="The turns, in order.")],
    namespace: Place = None,
    conversation_id: Annotated[str | None, Field(description="The same for all parts of a conversation.")] = None,
) -> dict[str, Any]:
    """Remembers what is worth it of a conversation, and says what was skipped and why."""
    body = request_body(
        messages=[request_body(**message.model_dump()) for message in messages], conversation_id=conversation_id
    )
    values = validated(IngestInput, {**body, "namespace": caller.place(namespace)})
    found = ingest.messages.ingest(
        caller.principal, messages_of(values), namespace=values["namespace"], now=timezone.now()
    )
    with access.enter(caller.principal, why="answer"):
        stored = stored_answers(caller.principal, found.stored)
    skipped = [{"index": skip.index, "reason": skip.reason} for skip in found.skipped]
    return {"stored": [brief_answer(shown, names=STORED) for shown in stored], "skipped": skipped}


def shortened(answer: dict[str, Any], *, max_tokens: int | None) -> dict[str, Any]:
    """Return an answer of `results` within so many tokens, without the last ones; `left_out` says how many.

    Raise ValidationError where not even the first fits.
    """
    if max_tokens is None:
        return answer
    results: list[dict[str, Any]] = answer["results"]
    _, *sums = accumulate(map(_tokens, results), initial=_tokens({**answer, "results": []}) + ROOM)
    if sums and sums[0] > max_tokens:
        raise ValidationError({"max_tokens": [f"The first result alone takes {sums[0]}."]})
    kept = sum(tokens <= max_tokens for tokens in sums)
    return {**answer, "results": results[:kept], "left_out": len(results) - kept}


def _tokens(value: dict[str, Any]) -> int:
    return estimate_tokens(f"{json.dumps(value, cls=JSONEncoder)}, ")


def recall(
    caller: Caller,
    query: Annotated[str, Field(description="A question or what to look for, in plain words.")],
    namespace: Place = None,
    top_k: Most = None,
    type: Kind = None,
    tags: Tags = None,
    session_id: Session = None,
    as_of: Annotated[str | None, Field(description="What was true then: ISO 8601 with an offset.")] = None,
    project_wide: Wide = None,
    floor: Floor = None,
    max_tokens: Tokens = None,
) -> dict[str, Any]:
    """The memories that answer a question, best first, each with its source, trust and score. What contradicts a claim
    of a stronger source says so (`contradicts`), what may do so names it (`on_record`)."""
    filters = request_body(type=type, tags=tags)
    body = request_body(query=query, top_k=top_k, session_id=session_id, as_of=as_of, filters=filters or None)
    body |= request_body(project_wide=project_wide, floor=floor)
    values = validated(SearchInput, {**body, "namespace": caller.place(namespace)})
    now = timezone.now()
    found = search(caller.principal, question_of(values, top_k=values["top_k"]), now=now)
    shown = answers([hit.fragment for hit in found.hits], now=now, model=found.model)
    results = [{**brief_answer(row, score=hit.score), **hit.labels} for row, hit in zip(shown, found.hits, strict=True)]
    answer = {"results": results, "degraded": found.degraded, "nothing_relevant": found.nothing_relevant}
    return shortened(answer, max_tokens=max_tokens)


def context(
    caller: Caller,
    query: Annotated[str, Field(description="What the prompt is about.")],
    namespace: Place = None,
    max_tokens: Annotated[int | None, Field(description="The block is never longer.", ge=0)] = None,
    format: Annotated[Literal["markdown", "xml"], Field(description="How the block is written.")] = "markdown",
    session_id: Session = None,
    top_k: Most = None,
    project_wide: Wide = None,
    floor: Floor = None,
) -> dict[str, Any]:
    """A block of memories to put before a prompt, within a budget of tokens, behind a fence."""
    body = request_body(query=query, max_tokens=max_tokens, format=format, session_id=session_id)
    body |= request_body(max_memories=top_k, project_wide=project_wide, floor=floor)
    values = validated(ContextInput, {**body, "namespace": caller.place(namespace)})
    return context_answer(build_context(caller.principal, context_of(values), now=timezone.now()))


def read_memory(caller: Caller, id: Id) -> dict[str, Any]:
    """One memory with everything that is known of it, in whatever status it is."""
    with access.enter(caller.principal, why="read"):
        return answer_of(caller.principal, _id(id))


def list_memories(
    caller: Caller,
    namespace: Place = None,
    type: Kind = None,
    status: Annotated[
        Literal["active", "quarantined", "superseded", "disputed", "archived", "all"] | None,
        Field(description="Left out: active."),
    ] = None,
    tag: Annotated[str | None, Field(description="Only those with this tag.")] = None,
    since: Annotated[str | None, Field(description="Stored from then on: ISO 8601 with an offset.")] = None,
    until: Annotated[str | None, Field(description="Stored before.")] = None,
    limit: Limit = 50,
    cursor: Annotated[str | None, Field(description="The `next` of the page before.")] = None,
    max_tokens: Tokens = None,
) -> dict[str, Any]:
    """The memories of a namespace, newest first, page by page."""
    body = request_body(type=type, tag=tag, since=since, until=until, limit=limit)
    body |= {"status": [status]} if status else {}
    query = validated(ListQuery, {**body, "namespace": caller.place(namespace)})
    with access.enter(caller.principal, why="list"):
        rows = matching_fragments(caller.principal, query).order_by(*NEWEST_FIRST)
        if cursor:
            rows = rows.filter(_cursor(cursor).beyond(NEWEST_FIRST))
        keys = list(rows.only("id", "project_id", "created_at")[: limit + 1])
        full = load_answer_rows(caller.principal.project_id, [row.id for row in keys[:limit]])
        shown = [brief_answer(row) for row in answers(full, now=timezone.now())]
    answer = shortened({"results": shown}, max_tokens=max_tokens)
    kept = len(answer["results"])
    last = keys[kept - 1] if kept < len(keys) else None
    return {**answer, "next": str(Cursor.at(last, NEWEST_FIRST)) if last else None}


def _cursor(text: str) -> Cursor:
    try:
        return Cursor.read(text)
    except BadCursor as error:
        raise ValidationError({"cursor": ["This is no cursor of this list."]}) from error


def update_memory(
    caller: Caller,
    id: Id,
    content: Annotated[str | None, Field(description="The new text; the old one stays in the history.")] = None,
    claim: Annotated[ClaimWords | None, Field(description="What it claims now.")] = None,
    claims: Annotated[list[ClaimWords] | None, Field(description="All that it claims, instead of claim.")] = None,
    tags: Tags = None,
    type: Kind = None,
    revision: Annotated[
        int | None, Field(description="The one that was read: refused if it has changed.", ge=1)
    ] = None,
) -> dict[str, Any]:
    """Changes a memory, through the gate; only its writer or a person may give a new text."""
    body = request_body(content=content, claim=claim, claims=claims, tags=tags, type=type, revision=revision)
    changes = validated(FragmentChange, body)
    expected = changes.pop("revision", None)
    now = timezone.now()
    done = ingest.updates.revise(caller.principal, _id(id), changes=changes, revision=expected, now=now)
    with access.enter(caller.principal, why="read"):
        shown = answer_of(caller.principal, _id(id))
    return brief_answer(shown, revision=shown["revision"], **effects_of(done))


def memory_history(caller: Caller, id: Id) -> dict[str, Any]:
    """The former texts of a memory, every change with who made it, and what people ruled on it."""
    with access.enter(caller.principal, why="history"):
        return history_answer(caller.principal, _id(id))


def claim_timeline(
    caller: Caller,
    subject: Subject,
    predicate: Predicate,
    namespace: Place = None,
    session_id: Session = None,
    limit: Limit = 50,
) -> dict[str, Any]:
    """Every claim that was ever made of a subject's predicate, with from when until when it was believed."""
    body = request_body(subject=subject, predicate=predicate, session_id=session_id, limit=limit)
    query = validated(TimelineQuery, {**body, "namespace": caller.place(namespace)})
    limit = query.pop("limit")
    with access.enter(caller.principal, why="claims"):
        rows = list(timeline(caller.principal, **query).order_by(*BY_PERIOD)[: limit + 1])
        lives = load_lives(caller.principal, rows[:limit], subject=query["subject"], predicate=query["predicate"])
        return {"results": list(LifeAnswer(lives, many=True).data), "more": len(rows) > limit}


def search_documents(caller: Caller, query: Annotated[str, Field(description="What to look for.")]) -> dict[str, Any]:
    """Memories on a question as documents: an id to `fetch`, a title and an address. For clients that expect `search`
    and `fetch`; `recall` says more."""
    return {"results": [_document(caller, row) for row in recall(caller, query)["results"]]}


def fetch_document(caller: Caller, id: Id) -> dict[str, Any]:
    """One memory as a document: its text, its address, and what is known of it."""
    row = read_memory(caller, id)
    names = ("namespace", "type", "status", "trust", "claim", "created_at", "event_at")
    about = {**{name: row[name] for name in names}, **_whose(row), "source": row["provenance"]["source"]}
    return {**_document(caller, row), "text": row["content"], "metadata": about}


def _document(caller: Caller, row: dict[str, Any]) -> dict[str, Any]:
    """Its title is the beginning of its text, its address the page of it."""
    title = shorten(row["content"], TITLE, placeholder="…")
    return {"id": str(row["id"]), "title": title, "url": f"{caller.site}/memories/{row['id']}/"}


def forget(caller: Caller, id: Id) -> dict[str, Any]:
    """Erases a memory for good, with every copy of its text; the text can't be stored again."""
    erasure.forget(caller.principal, _id(id), now=timezone.now())
    return {"forgotten": id}


def archive(caller: Caller, id: Id) -> dict[str, Any]:
    """Takes a memory out of all default answers, reversibly."""
    row = ingest.updates.archive(caller.principal, _id(id), now=timezone.now())
    return {"id": id, "status": row.status}


def unarchive(caller: Caller, id: Id) -> dict[str, Any]:
    """Lets an archived memory stand again, as far as nothing stronger came meanwhile."""
    row = ingest.updates.unarchive(caller.principal, _id(id), now=timezone.now())
    return {"id": id, "status": row.status}


def reinforce(caller: Caller, id: Id) -> dict[str, Any]:
    """This memory helped: it counts as fresher and more trusted."""
    return vote_answer(vote(caller.principal, _id(id), "reinforce", now=timezone.now()))


def dispute(caller: Caller, id: Id, reason: Annotated[str, Field(description="What is wrong.")]) -> dict[str, Any]:
    """This memory is wrong. Of a stronger source it opens a review by a person."""
    values = validated(DisputeInput, {"reason": reason})
    return vote_answer(vote(caller.principal, _id(id), "dispute", now=timezone.now(), **values))


def corroborate(
    caller: Caller, id: Id, source_id: Annotated[str | None, Field(description="Which source says so too.")] = None
) -> dict[str, Any]:
    """Another source says so too; counted once per owner, never for the writer's own."""
    values = validated(CorroborateInput, request_body(source_id=source_id))
    return vote_answer(vote(caller.principal, _id(id), "corroborate", now=timezone.now(), **values))


def list_conflicts(
    caller: Caller,
    namespace: Place = None,
    status: Annotated[
        Literal["pending", "resolved", "all"], Field(description="Those that wait, those that were decided, or both.")
    ] = "pending",
    limit: Limit = 20,
) -> dict[str, Any]:
    """What contradicts what stands in a namespace and waits for a person, newest first. Agents can't decide it."""
    query = validated(ConflictQuery, {"namespace": caller.place(namespace), "status": status})
    with access.enter(caller.principal, why="list"):
        rows = waiting(caller.principal, status=query["status"], namespace=query["namespace"])
        return {"conflicts": conflict_answers(caller.principal, list(rows.order_by("-created_at", "-id")[:limit]))}


def list_claims(
    caller: Caller,
    subject: AnySubject = None,
    predicate: AnyPredicate = None,
    namespace: Place = None,
    as_of: Annotated[str | None, Field(description="What was true then: ISO 8601 with an offset.")] = None,
    known_at: Annotated[str | None, Field(description="As it was believed then.")] = None,
    limit: Limit = 50,
) -> dict[str, Any]:
    """What is believed of a subject or a predicate, newest first."""
    body = request_body(subject=subject, predicate=predicate, as_of=as_of, known_at=known_at)
    query = validated(ClaimsQuery, {**body, "namespace": caller.place(namespace)})
    conditions = {
        name: query[name] for name in ("namespace", "subject", "predicate", "as_of", "known_at") if name in query
    }
    with access.enter(caller.principal, why="claims"):
        rows = claims(caller.principal, BeliefQuery(**conditions, wider=True), now=timezone.now())
        found = believed_claims(caller.principal, list(rows.order_by("-created_at", "-id")[:limit]))[:limit]
        return {"claims": list(BelievedAnswer(found, many=True).data)}


def list_namespaces(caller: Caller) -> dict[str, Any]:
    """The namespaces that the key covers, and the one that is meant when a call names none."""
    with access.enter(caller.principal, why="list"):
        rows = access.all_readable(caller.principal)
    return {"namespaces": [row.name for row in rows], "default": caller.default or None}


def _id(text: str) -> uuid.UUID:
    """A memory's id; what is none names nothing. Raises NotFound."""
    try:
        return uuid.UUID(text)
    except ValueError as error:
        raise NotFound("fragment") from error
