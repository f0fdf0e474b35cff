"""Chats that passed through the proxy: written down at once, made into memories by a worker."""

import datetime
import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import structlog
from prometheus_client import Counter

from conflicts.authority import SOURCE_RANK, lowered_source
from memories import access
from memories.access import NotPermitted, Principal
from memories.extraction import carries_material, chatter_reason, repeats, without_echoes
from memories.ingest.chunking import clean, split
from memories.ingest.files import Message
from memories.ingest.messages import ROLE_SOURCE, IngestReport, prepare_messages, store_messages
from memories.models import Exchange, Fragment, Namespace, Receipt
from memories.models.enums import SourceClass, SourceType
from memories.models.sql import fetch

BATCH = 32
LONGEST = 100_000  # characters of a turn: as much as the API takes
CLAIM = datetime.timedelta(minutes=2)  # how long a worker may take before others try
FIRST_PAUSE, LONGEST_PAUSE = datetime.timedelta(seconds=10), datetime.timedelta(hours=1)
ATTEMPTS = 12  # over about four hours
CAPTURED = Counter("nova_proxy_captured", "Turns of chats that became memories.", ["role"])
SKIPPED = Counter("nova_proxy_skipped", "Turns of chats that did not become memories.", ["reason"])
log = structlog.get_logger(__name__)
KEEP = "SELECT id FROM memories_namespace WHERE project_id = %s AND id = ANY (%s::uuid[]) ORDER BY id FOR KEY SHARE"

# What was handed out: text and authority of each memory.
HandedOut = list[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class CapturedTurn:
    """What one side said. `source_id` is the same when the same is said at the same place of the same chat.

    `attested`: nothing stood in it but what the user sent. `partial`: its end is missing.
    """

    role: str
    content: str
    source_id: str
    sequence: int
    attested: bool = False
    partial: bool = False


def scopes_of_chat(principal: Principal, namespace: str) -> list[uuid.UUID]:
    """Return the scopes of the user, wherever they are, in which a chat begins; without a user the namespace."""
    with access.enter(principal, why="capture", reads_only=True):
        rows = Namespace.objects.within(principal.project_id)
        known = rows.named([namespace]) if principal.user is None else rows.filter(user=principal.user)
        return list(known.values_list("id", flat=True))


def capture(
    principal: Principal,
    turns: Sequence[CapturedTurn],
    *,
    namespace: str,
    conversation_id: str,
    receipt_id: uuid.UUID | None,
    now: datetime.datetime,
    begun_in: Sequence[uuid.UUID] = (),
) -> Exchange | None:
    """Write down what was said, for a worker; None when nobody said anything. Raise NotFound, NotPermitted.

    `begun_in`: what there was when the chat began (`scopes_of_chat`); None too where any of it was deleted meanwhile,
    for then the user was erased, or a namespace with memories of theirs.
    """
    principal.require("write")
    if principal.key_id is None:
        raise NotPermitted("only a key's chats are captured")
    kept = []
    for turn in turns:
        text = clean(turn.content)
        if not text or len(text) > LONGEST:
            SKIPPED.labels("too_long" if text else "empty").inc()
        else:
            kept.append({**asdict(turn), "content": text})
    if not kept:
        return None
    with access.enter(principal, why="capture"):
        # They stay until this is written; whoever erases the user waits, and takes it along.
        if len(fetch(KEEP, [principal.project_id, list(begun_in)])) < len(begun_in):
            SKIPPED.labels("deleted").inc(len(kept))
            return None
        row: Exchange = Exchange.objects.create(
            project_id=principal.project_id,
            namespace=access.writable(principal, namespace),
            key_id=principal.key_id,
            conversation_id=conversation_id,
            turns=kept,
            receipt_id=receipt_id,
            said_at=now,
            not_before=now,
        )
        return row


def ingest_exchanges(principal: Principal, *, now: datetime.datetime, limit: int = BATCH) -> int:
    """Make memories of up to `limit` waiting exchanges of the project; answer how many it took up.

    What fails is tried again with growing pauses, and given up after ATTEMPTS.
    """
    with access.enter(principal, why="capture"):
        due = list(
            Exchange.objects.within(principal.project_id)
            .select_for_update(skip_locked=True, of=("self",))
            .select_related("namespace", "key__grant", "key__owner", "key__project")
            .filter(not_before__lte=now)
            .order_by("said_at", "id")[:limit]
        )
        Exchange.objects.filter(id__in=[row.id for row in due]).update(not_before=now + CLAIM)
    for row in due:
        try:
            _ingest(row, now=now)
        except Exception as error:
            log.exception("exchange_not_ingested", exchange=str(row.id), error=type(error).__name__)
            _postpone(principal, row, now=now)
    return len(due)


def _ingest(row: Exchange, *, now: datetime.datetime) -> None:
    speaker = access.principal_of_row(row.key).of_user(row.namespace.user)
    turns = [CapturedTurn(**turn) for turn in row.turns]
    with access.enter(speaker, why="capture"):
        handed_out = _handed_out(row)
        reasons = [chatter_reason(turn.content, role=turn.role) or _said_before(row, turn) for turn in turns]
    worth = [turn for turn, reason in zip(turns, reasons, strict=True) if reason is None]
    messages = [_message(row, turn, _without_handed_out(speaker, turn, handed_out)) for turn in worth]
    spoken = [message for message in messages if message.content]
    work = prepare_messages(speaker, spoken, namespace=row.namespace.name, now=now)
    with access.enter(speaker, why="capture"):
        # Deleting decides: a worker whose claim ran out meanwhile finds nothing left.
        if not Exchange.objects.within(row.project_id).filter(id=row.id).delete()[0]:
            return
        report = store_messages(speaker, work, now=now)
    _count(spoken, report, unkept=[*filter(None, reasons), *["echo"] * (len(messages) - len(spoken))])


def _handed_out(row: Exchange) -> HandedOut:
    """Return what the namespace's own memory gave to the model for this answer; nothing once the receipt is gone.

    What other namespaces hold is not known here by that: whoever says it here says it for the first time.
    """
    receipt = Receipt.objects.within(row.project_id).filter(id=row.receipt_id).first() if row.receipt_id else None
    ids = receipt.fragment_ids if receipt else []
    own = Fragment.objects.within(row.project_id).filter(namespace=row.namespace_id)
    return list(own.filter(id__in=ids).values_list("content", "authority"))


def _said_before(row: Exchange, turn: CapturedTurn) -> str | None:
    """`repeated` for an answer that was given before in these words in the namespace, elsewhere in its chats."""
    if turn.role != "assistant":
        return None
    pieces = split(turn.content)
    same = Fragment.objects.within(row.project_id).filter(namespace=row.namespace_id, content__in=pieces)
    found = same.filter(source_type=SourceType.CONVERSATION).exclude(source_id__startswith=turn.source_id)
    return "repeated" if set(found.values_list("content", flat=True)) >= set(pieces) else None


def _without_handed_out(speaker: Principal, turn: CapturedTurn, handed_out: HandedOut) -> str:
    """Return what the turn says beyond the memories that were handed out.

    Users are taken whole, or not at all where they repeat a memory word by word: the same words in another order are an
    update. What a user or a tool says again with more authority than the memory had is a confirmation.
    """
    if turn.role == "assistant":
        return without_echoes(turn.content, [text for text, _ in handed_out])
    rank = _rank(speaker, turn)
    stronger = [text for text, authority in handed_out if authority >= rank]
    if turn.role == "user":
        return "" if repeats(turn.content, stronger) else turn.content
    return without_echoes(turn.content, stronger)


def _rank(speaker: Principal, turn: CapturedTurn) -> int:
    if turn.attested and speaker.may_attest_user and not carries_material(turn.content):
        return SOURCE_RANK[SourceClass.USER_EXPLICIT]
    return SOURCE_RANK[SourceClass(lowered_source(source=ROLE_SOURCE[turn.role], ceiling=speaker.ceiling))]


def _message(row: Exchange, turn: CapturedTurn, content: str) -> Message:
    return Message(
        role=turn.role,
        content=content,
        at=row.said_at,
        source_id=turn.source_id,
        conversation_id=row.conversation_id,
        sequence=turn.sequence,
        kind="message",
        speaker=None,
        attested=turn.attested,
        partial=turn.partial,
    )


def _count(messages: Sequence[Message], report: IngestReport, *, unkept: Sequence[str]) -> None:
    for index in set(report.indexes):
        CAPTURED.labels(messages[index].role).inc()
    for reason in [*(skip.reason for skip in report.skipped), *unkept]:
        SKIPPED.labels(reason).inc()


def _postpone(principal: Principal, row: Exchange, *, now: datetime.datetime) -> None:
    attempts = row.attempts + 1
    with access.enter(principal, why="capture"):
        rows = Exchange.objects.within(principal.project_id).filter(id=row.id)
        if attempts < ATTEMPTS:
            pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2**attempts)
            rows.update(attempts=attempts, not_before=now + pause)
        elif rows.delete()[0]:
            SKIPPED.labels("failed").inc(len(row.turns))
