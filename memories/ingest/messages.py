"""Conversations and documents: which parts are worth keeping, and as what."""

import datetime
import hashlib
import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from django.db.models import F, Max

from conflicts.authority import SOURCE_RANK, lowered_source
from conflicts.public import MOST_KEYS, Admission, lock_keys
from conflicts.search_index import find_forgotten_texts
from memories import access
from memories.access import Principal
from memories.extraction import (
    FROM_THE_USER,
    ReadTurn,
    Said,
    amended,
    extract_parts,
    find_strangers,
    flag_material,
    is_amendment,
)
from memories.ingest.chunking import clean, placed, skip_reason
from memories.ingest.drafts import Draft
from memories.ingest.files import Message
from memories.ingest.pipeline import Prepared, prepare, store_each
from memories.models import Claim, Fragment, Namespace, Revision
from memories.models.enums import MATERIAL, SourceClass, SourceType, Status
from memories.models.tenant import TenantQuerySet

AMENDABLE = datetime.timedelta(days=1)  # for so long what somebody said is amended by a word
STEM = 240  # leaves room for "#n"
FIRST_PLACE, LAST_PLACE = -(2**31), 2**31 - 1  # in a conversation
ROLE_SOURCE = {
    "user": SourceClass.USER_IMPLICIT,
    "assistant": SourceClass.INFERENCE,
    "tool": SourceClass.TOOL_OUTPUT,
    "system": SourceClass.INFERENCE,
}

IndexedDrafts = list[tuple[int, Draft]]  # each with its message's index


@dataclass(frozen=True, slots=True)
class Skipped:
    """A message that was not kept: its place in the input and why."""

    index: int
    reason: str


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What became of a batch of messages; `indexes` tells of each that was stored its message."""

    stored: list[Admission]
    skipped: list[Skipped]
    indexes: list[int]


def drafts_of(messages: Iterable[Message], *, namespace: str) -> tuple[IndexedDrafts, list[Skipped]]:
    """Return a draft per piece worth keeping (with its message's index), and what was skipped."""
    drafts, skipped = [], []
    messages = list(messages)
    material = flag_material((message.role, clean(message.content)) for message in messages)
    for index, message in enumerate(messages):
        if reason := skip_reason(message.content, role=message.role):
            skipped.append(Skipped(index, reason))
        else:
            found = _drafts(message, namespace, index=index, material=material[index])
            drafts += [(index, draft) for draft in found]
    return drafts, skipped


def _drafts(message: Message, namespace: str, *, index: int, material: bool) -> list[Draft]:
    document = message.kind == "text"
    numbered = document and message.sequence is None  # by its pieces
    text = clean(message.content)
    material = message.role == "user" and material
    speaker = message.speaker or (None if message.role == "user" else message.role)
    draft = Draft(
        namespace=namespace,
        content="",
        source_type=SourceType.DOCUMENT if document else SourceType.CONVERSATION,
        source_id=message.source_id or "",
        conversation_id=message.conversation_id or "",
        sequence=index if message.sequence is None and not document else message.sequence,
        event_at=message.at,
        default_source=SourceClass.DOCUMENT if document else ROLE_SOURCE.get(message.role, SourceClass.INFERENCE),
        extract_claim=True,
        attested=message.attested and not material,
        extra={**({"partial": True} if message.partial else {}), **({MATERIAL: True} if material else {})},
        speaker=speaker,
    )
    pieces = placed(text, by_kind=document)
    extracted = extract_parts(text, [(start, start + len(piece)) for start, piece in pieces], speaker=speaker)
    if len(pieces) == 1:
        return [replace(draft, content=pieces[0][1], read_before=extracted[0])]
    # An ordered set: each piece names the whole and its place in it.
    stem = draft.source_id[:STEM] or hashlib.sha256(message.content.encode()).hexdigest()[:16]
    return [
        replace(
            draft,
            content=piece,
            source_id=f"{stem}#{n}",
            sequence=n if numbered else draft.sequence,
            read_before=claims,
        )
        for n, ((_, piece), claims) in enumerate(zip(pieces, extracted, strict=True), start=1)
    ]


def _with_amendments(
    principal: Principal, drafts: IndexedDrafts, here: Namespace | None, *, now: datetime.datetime
) -> IndexedDrafts:
    """Return the drafts; what only amends what its speaker said right before claims that with its new value."""
    found: IndexedDrafts = []
    said: dict[tuple[str, str | None], tuple[list[Said], datetime.datetime | None]] = {}
    for index, draft in drafts:
        place = (draft.conversation_id, draft.speaker)
        claims = list(draft.read_before or ())
        own = draft.conversation_id and draft.default_source in FROM_THE_USER and not draft.extra.get(MATERIAL)
        if own and not claims and is_amendment(draft.content):
            before, at = said[place] if place in said else _said_last(principal, draft, here)
            if not _is_long_ago(at, draft.event_at or now):
                claims = amended(draft.content, before, speaker=draft.speaker)
        own_claims = [Said(claim.subject, claim.predicate) for claim in claims if claim.first_person and claim.certain]
        said[place] = own_claims, draft.event_at
        found.append((index, replace(draft, read_before=claims)))
    return found


def _is_long_ago(said_at: datetime.datetime | None, at: datetime.datetime) -> bool:
    return said_at is not None and at - said_at > AMENDABLE


def _said_last(
    principal: Principal, draft: Draft, here: Namespace | None
) -> tuple[list[Said], datetime.datetime | None]:
    """Return what this writer's user said last in the conversation, as it stands, and when."""
    if here is None:
        return [], None
    rows = Fragment.objects.within(principal.project_id).filter(namespace=here, conversation_id=draft.conversation_id)
    mine = rows.filter(owner_id=principal.owner_id, source__in=FROM_THE_USER, status=Status.ACTIVE).order_by(
        F("sequence").desc(nulls_last=True), "-created_at"
    )
    last = mine.only("id", "event_at", "created_at").first()
    if last is None:
        return [], None
    claims = Claim.objects.within(principal.project_id).filter(fragment=last, status=Status.ACTIVE).order_by("position")
    return [Said(claim.subject, claim.predicate) for claim in claims], last.event_at or last.created_at


def ingest(
    principal: Principal, messages: Sequence[Message], *, namespace: str, now: datetime.datetime, embed_now: bool = True
) -> IngestReport:
    """Store the messages that are worth it; what the namespace already holds under the same source is skipped."""
    return store_messages(
        principal, prepare_messages(principal, messages, namespace=namespace, now=now, embed_now=embed_now), now=now
    )


@dataclass(frozen=True, slots=True)
class PreparedMessages:
    """Messages routed and embedded, before the transaction.

    `behind`: by conversation whose messages name no places, the place in these messages behind the last that it holds.
    """

    prepared: Prepared
    indexes: list[int]
    skipped: list[Skipped]
    behind: dict[str, int] = field(default_factory=dict)


def prepare_messages(
    principal: Principal,
    messages: Sequence[Message],
    *,
    namespace: str,
    now: datetime.datetime,
    embed_now: bool = True,
) -> PreparedMessages:
    """Clean, splits, routes and embeds; what is already known costs no embedding."""
    drafts, skipped = drafts_of(messages, namespace=namespace)
    with access.enter(principal, why="ingest"):
        known, stored_before = _known(principal, [draft for _, draft in drafts], namespace)
        unplaced = {one.conversation_id: 0 for one in messages if one.conversation_id and one.sequence is None}
        behind = _behind(unplaced, [drafts[n][1] for n in stored_before])
        here = Namespace.objects.within(principal.project_id).named([principal.scope(namespace)]).first()
        drafts = _without_strangers(principal, drafts, here)
        drafts = _with_amendments(principal, drafts, here, now=now)
        ranked = [(here and here.id, draft.content, _rank(principal, draft)) for _, draft in drafts]
        forgotten = set(find_forgotten_texts(principal.project_id, ranked))
    refused = [
        Skipped(index, "already_known" if n in known else "blocked_by_erasure")
        for n, (index, _) in enumerate(drafts)
        if n in known or n in forgotten
    ]
    kept = [pair for n, pair in enumerate(drafts) if n not in known and n not in forgotten]
    return PreparedMessages(
        prepared=prepare([draft for _, draft in kept], embed_now=embed_now),
        indexes=[index for index, _ in kept],
        skipped=sorted([*skipped, *refused], key=lambda s: s.index),
        behind=behind,
    )


def _behind(places: Mapping[str, int], drafts_before: Iterable[Draft]) -> dict[str, int]:
    """Return by conversation the place behind the last of those drafts that it holds already, or behind `places`."""
    behind = dict(places)
    for draft in drafts_before:
        if draft.conversation_id in behind and draft.sequence is not None:
            behind[draft.conversation_id] = max(behind[draft.conversation_id], draft.sequence + 1)
    return behind


def _without_strangers(principal: Principal, drafts: IndexedDrafts, scope: Namespace | None) -> IndexedDrafts:
    """Return the drafts, where a stranger's turn is attested no longer. In the open transaction."""
    attested = [(place, draft) for place, (_, draft) in enumerate(drafts) if draft.attested]
    turns = [ReadTurn(draft.content, draft.read_before or ()) for _, draft in attested]
    judged = list(drafts)
    for (place, draft), is_stranger in zip(attested, find_strangers(principal, turns, scope), strict=True):
        if is_stranger:
            judged[place] = drafts[place][0], replace(draft, attested=False, extra={**draft.extra, MATERIAL: True})
    return judged


def store_messages(principal: Principal, work: PreparedMessages, *, now: datetime.datetime) -> IngestReport:
    """Store prepared messages in one transaction; what was forgotten or stored meanwhile is skipped too."""
    principal.require("write")
    with access.enter(principal, why="store"):
        work = _without_known(principal, work)
        kept = store_each(principal, work.prepared, now=now)
    stored = [(index, one) for index, one in zip(work.indexes, kept, strict=True) if one is not None]
    late = [Skipped(i, "blocked_by_erasure") for i, one in zip(work.indexes, kept, strict=True) if one is None]
    return IngestReport(
        stored=[one for _, one in stored],
        skipped=sorted([*work.skipped, *late], key=lambda s: s.index),
        indexes=[index for index, _ in stored],
    )


def _without_known(principal: Principal, work: PreparedMessages) -> PreparedMessages:
    """Return the work without what others stored meanwhile, its turns behind what their conversations hold.

    Both are held from here on.
    """
    drafts = work.prepared.drafts
    shelves = {_shelf(draft) for draft in drafts if draft.conversation_id or draft.source_id}
    if not shelves:
        return work
    place = access.writable(principal, drafts[0].namespace).id
    lock_keys((place, shelf) for shelf in shelves)
    known, stored_before = _known(principal, drafts, drafts[0].namespace)
    left = [n for n in range(len(drafts)) if n not in known]
    late = [Skipped(work.indexes[n], "already_known") for n in sorted(known)]
    behind = _behind(work.behind, [drafts[n] for n in stored_before])
    prepared = work.prepared.only(*left)
    return PreparedMessages(
        prepared=replace(prepared, drafts=_continued(principal, prepared.drafts, place, behind)),
        indexes=[work.indexes[n] for n in left],
        skipped=[*work.skipped, *late],
        behind=behind,
    )


def _shelf(draft: Draft) -> bytes:
    """Return the key under which its conversation is held, or its source where it has none; one of few.

    So a transaction never needs more locks than that, and who holds several holds them in order.
    """
    name = f"conversation {draft.conversation_id}" if draft.conversation_id else f"source {draft.source_id}"
    return b"shelf %d" % (hashlib.sha256(name.encode()).digest()[0] % MOST_KEYS)


def _continued(principal: Principal, drafts: list[Draft], place: uuid.UUID, behind: Mapping[str, int]) -> list[Draft]:
    """Return the drafts with their places behind what their conversations hold.

    A conversation goes on whoever goes on with it: it is one of its namespace, or of its user there.
    """
    shifts = {}
    for talk in {draft.conversation_id for draft in drafts} & set(behind):
        turns = Fragment.objects.within(principal.project_id).filter(namespace=place, conversation_id=talk)
        last = turns.aggregate(last=Max("sequence"))["last"]
        shifts[talk] = 0 if last is None else last + 1 - behind[talk]
    return [_moved(draft, shifts.get(draft.conversation_id, 0)) for draft in drafts]


def _moved(draft: Draft, places: int) -> Draft:
    if draft.sequence is None or not places:
        return draft
    return replace(draft, sequence=max(FIRST_PLACE, min(LAST_PLACE, draft.sequence + places)))


def _rank(principal: Principal, draft: Draft) -> int:
    """Return the authority that a draft will have."""
    if draft.attested and principal.may_attest_user:
        return SOURCE_RANK[SourceClass.USER_EXPLICIT]
    return SOURCE_RANK[SourceClass(lowered_source(source=draft.default_source, ceiling=principal.ceiling))]


def _known(principal: Principal, drafts: list[Draft], namespace: str) -> tuple[set[int], set[int]]:
    """Which drafts' sources stand in the namespace already with this text, now or formerly; which with any; by index.

    Of drafts without a source those are known that open their conversation as it stands: its history, sent again.
    What somebody weaker put there does not keep a stronger one from saying so.
    """
    here = Namespace.objects.within(principal.project_id).named([principal.scope(namespace)])
    there = Fragment.objects.within(principal.project_id).filter(namespace__in=here)
    resent = _resent(principal, drafts, there)
    with_source = [draft for draft in drafts if draft.source_id]
    if not with_source:
        return resent, resent
    rows = there.filter(source_id__in={draft.source_id for draft in with_source})
    sources: dict[uuid.UUID, Fragment] = {}
    texts: dict[tuple[str, str, str], int] = {}

    def note(source_id: str, conversation_id: str, content: str, authority: int) -> None:
        key = (source_id, conversation_id, content)
        texts[key] = max(authority, texts.get(key, 0))

    for row in rows.only("id", "source_id", "conversation_id", "content", "authority"):
        sources[row.id] = row
        note(row.source_id, row.conversation_id, row.content, row.authority)
    for revision in Revision.objects.within(principal.project_id).filter(fragment__in=sources):
        row = sources[revision.fragment_id]
        note(row.source_id, row.conversation_id, revision.content, row.authority)
    held = {(source_id, conversation_id) for source_id, conversation_id, _ in texts}
    keys = {n for n, draft in enumerate(drafts) if (draft.source_id, draft.conversation_id) in held}
    known_indexes = set()
    for n, draft in enumerate(drafts):
        rank = _rank(principal, draft)
        if draft.source_id and texts.get((draft.source_id, draft.conversation_id, draft.content), 0) >= rank:
            known_indexes.add(n)
        note(draft.source_id, draft.conversation_id, draft.content, rank)
    return known_indexes | resent, keys | resent


def _resent(principal: Principal, drafts: Sequence[Draft], there: TenantQuerySet) -> set[int]:
    """Return the drafts of conversations that are told again from their first turn on; `there` is what stands."""
    talks = defaultdict[str, list[int]](list)
    for n, draft in enumerate(drafts):
        if draft.conversation_id and draft.source_type == SourceType.CONVERSATION:
            talks[draft.conversation_id].append(n)
    found = set[int]()
    for talk, places in talks.items():
        if all(drafts[n].source_id for n in places):
            continue
        turns = there.filter(conversation_id=talk).order_by("sequence", "created_at", "id")
        held = turns.values_list("content", "authority")
        first = held.first()
        if first is None or first[0] != drafts[places[0]].content:
            continue
        left, again = iter(held), list[int]()
        turn = next(left, None)
        for n in places:
            if turn and turn[0] == drafts[n].content and turn[1] >= _rank(principal, drafts[n]):
                again.append(n)
                turn = next(left, None)
        if turn is None or len(again) == len(places):
            found |= {*again}
    return found
