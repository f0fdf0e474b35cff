"""Updates of what stands: allowed up to the writer's ceiling, never silently."""

import datetime
import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from conflicts.authority import SOURCE_RANK, bounded_importance, may_protect
from conflicts.public import (
    Admission,
    ClaimDraft,
    Newcomer,
    PendingConflict,
    end_waiting,
    lock_claimed_keys,
    readmit,
    rewrite,
)
from conflicts.rulings import protection
from conflicts.search_index import BlockedByErasure, find_forgotten_texts, refuse_forgotten
from conflicts.votes import drop_support, is_disputed
from memories import access
from memories.access import NotFound, NotPermitted, Principal
from memories.errors import NovaError, StaleRevision
from memories.extraction import FROM_THE_USER, certain_claims
from memories.ingest.embedding_queue import queue_reading
from memories.ingest.rewritten_claims import placed, reread
from memories.language import Routing, route_kept
from memories.language.instructions import gives_instruction, is_instruction
from memories.language.procedures import read_procedure
from memories.models import (
    Archive,
    Claim,
    EmbeddingModel,
    Fragment,
    Link,
    Revision,
)
from memories.models.enums import INSTRUCTION, MATERIAL, Compression, FragmentType, LinkKind, SourceClass, Status, Verb
from memories.models.fragment import (
    BY_HAND,
    BY_PERSON,
    CONTAINED,
    PROCEDURE,
    ROLLED_BACK,
    procedure_of,
    says_something,
    wording_of,
)
from memories.providers import active_model, embed


class History(NovaError):
    """The memory does not stand any more, so this can't be done with it."""

    code = "not_open"
    title = "This memory is history"


def fragment_for_change(principal: Principal, fragment_id: uuid.UUID) -> Fragment:
    """Return the fragment, locked. Raise NotFound outside the grant, NotPermitted above the ceiling."""
    row: Fragment | None = (
        Fragment.objects.within(principal.project_id)
        .select_for_update(of=("self",))
        .select_related("namespace")
        .filter(id=fragment_id)
        .first()
    )
    if row is None:
        raise NotFound("fragment")
    ruled = protection(row.project_id, row.id)
    check_change(principal, namespace=row.namespace.name, authority=max(row.authority, ruled))
    return row


def refuse_stale(row: Fragment | None, revision: int | None) -> None:
    """Raise StaleRevision when a fragment, None that is gone, is not at the revision that was read, where one was."""
    current = row.revision if row else None
    if revision is not None and revision != current:
        raise StaleRevision("fragment", current=current)


def check_change(principal: Principal, *, namespace: str, authority: int) -> None:
    """Raise NotFound outside the grant, NotPermitted above the ceiling."""
    if not principal.covers_reading(namespace):
        raise NotFound("fragment")
    principal.require("write")
    principal.require_covered(namespace)
    if SOURCE_RANK[SourceClass(principal.ceiling)] < authority:
        raise NotPermitted("the fragment's authority is above this key's ceiling")


def require_may_keep(principal: Principal) -> None:
    """Raise NotPermitted: a pin and an anchor keep a memory from upkeep, so a weak writer sets neither."""
    if not (may_protect(SOURCE_RANK[SourceClass(principal.ceiling)]) or Verb.REVIEW in principal.verbs):
        raise NotPermitted("pins and anchors need a ceiling of user_implicit or the verb review")


def sentences_claimed(claims: Sequence[ClaimDraft]) -> list[str]:
    """Return the values that say something by themselves."""
    return [claim.value for claim in claims if says_something(claim.value)]


@dataclass(frozen=True, slots=True)
class ReadText:
    """What is worked out of a new text before it is kept: its vector, None to be embedded later, and what it says."""

    vector: Any
    routing: Routing


def revise(
    principal: Principal,
    fragment_id: uuid.UUID,
    *,
    changes: dict[str, Any],
    revision: int | None,
    now: datetime.datetime,
    read: ReadText | None = None,
) -> Admission:
    """Change fields of a fragment; a new text or new claims keep the old as a revision and pass the gate again.

    `read` is what is known of the new text already; inside a transaction it has to be.
    Raise NotFound, NotPermitted, StaleRevision when `revision` is not the current one, BlockedByErasure,
    ClaimsDisagree, and History for the claims of what no longer stands.
    """
    model = active_model()
    if read is None and "content" in changes:
        read = ReadText(*embed([changes["content"]], model=model), *route_kept([changes["content"]]))
    with access.enter(principal, why="revise"):
        if {"content", "claims", "extra"} & changes.keys():
            _lock_claims(principal, fragment_id, changes)
        row = fragment_for_change(principal, fragment_id)
        refuse_stale(row, revision)
        fields = _fields(row, changes)
        new_text = "content" in changes and changes["content"] != row.content
        new_words = wording_of(fields.get("content", row.content), fields.get("extra", row.extra)) != row.wording
        decides = new_words or "claims" in changes
        if decides:
            refuse_rewriting(principal, row)
        claimed = _claims_with(row, changes, fields) if decides else Claimed()
        if new_text and read:
            fields = {**read.routing.derived, **fields, "compression": Compression.FULL}
        if claimed.is_named or claimed.is_changed:
            store_revision(row)
        _bound(principal, row, fields)
        former = {*row.words_beside}
        for name, value in fields.items():
            setattr(row, name, value)
        row.revision += 1
        row.updated_at = now
        if decides:
            done = _decide_anew(principal, row, claimed, read, model=model if new_text else None, now=now)
            if new_words or claimed.says_otherwise:
                drop_support(row, now=now)
            if claimed.is_read_anew:
                queue_reading([done])
            return done
        _refuse_added(row, former)
        row.save(update_fields=[*fields, "revision", "updated_at"])
        return Admission(row)


@dataclass(frozen=True, slots=True)
class Claimed:
    """What a memory claims after a change, and whether that is other than before, named by the caller, or read anew.

    `says_otherwise`: in its words, not only in its period or how it is kept.
    """

    claims: Sequence[ClaimDraft] = ()
    is_changed: bool = False
    says_otherwise: bool = False
    is_named: bool = False
    is_read_anew: bool = False


def _claims_with(row: Fragment, changes: dict[str, Any], fields: dict[str, Any]) -> Claimed:
    """Return what a memory claims with these fields: what the caller names, else what is read in a new text."""
    former, text = claims_of(row), fields.get("content", row.content)
    is_named, is_new = "claims" in changes, text != row.content
    claims = changes.get("claims", former)
    if is_new and is_named:
        claims = placed(claims, text, fields["extra"])
    elif is_new and former:  # what is left of a compacted text may state nothing any more
        original = Archive.objects.within(row.project_id).originals([row]).get(row.id, row.content)
        claims = reread(row, former, text, fields["extra"], former=original)
    is_changed = [claim.says for claim in claims] != [claim.says for claim in former]
    is_read_anew = is_new and not is_named and any(claim.span for claim in former)
    says_otherwise = [claim.words for claim in claims] != [claim.words for claim in former]
    return Claimed(claims, is_changed, says_otherwise, is_named, is_read_anew)


def _lock_claims(principal: Principal, fragment_id: uuid.UUID, changes: dict[str, Any]) -> None:
    """Lock the keys of what a memory claims and will claim, before its row; so what is read is read twice."""
    rows = Fragment.objects.within(principal.project_id).select_related("namespace")
    row: Fragment | None = rows.filter(id=fragment_id).first()
    drafts: Sequence[ClaimDraft] = ()
    if row and principal.covers(row.namespace.name):
        drafts = _claims_with(row, changes, _fields(row, changes)).claims
    lock_claimed_keys(principal.project_id, fragment_id=fragment_id, drafts=drafts)


def _refuse_added(row: Fragment, former: Collection[str]) -> None:
    """Raise BlockedByErasure for what was forgotten and did not stand beside the text before."""
    added = [(row.namespace_id, text, row.authority) for text in row.words_beside if text not in former]
    if find_forgotten_texts(row.project_id, added):
        raise BlockedByErasure(index=0)


def _fields(row: Fragment, changes: dict[str, Any]) -> dict[str, Any]:
    """Return the fields to change; the agent stays among the tags, and material is not said to be none."""
    fields = _steps_anew(row, changes) | {name: value for name, value in changes.items() if name != "claims"}
    if "tags" in fields:
        fields["tags"] = list(dict.fromkeys([*fields["tags"], row.agent_id]))
    if "extra" in fields and row.extra.get(MATERIAL):
        fields["extra"] = {**fields["extra"], MATERIAL: True}
    if "content" in fields or "extra" in fields:
        text, extra = fields.get("content", row.content), fields.get("extra", row.extra)
        fields["extra"] = with_instruction(text, extra, source=row.source)
    return fields


def _bound(principal: Principal, row: Fragment, fields: dict[str, Any]) -> None:
    """Let fields keep the memory from upkeep as far as the principal may. Raise NotPermitted."""
    if any(fields.get(name, getattr(row, name)) != getattr(row, name) for name in ("is_pinned", "is_anchor")):
        require_may_keep(principal)
    if "importance" in fields:
        rank = SOURCE_RANK[SourceClass(principal.ceiling)]
        fields["importance"] = bounded_importance(fields["importance"], rank=rank, standing=row.importance)


def _decide_anew(
    principal: Principal,
    row: Fragment,
    claimed: Claimed,
    read: ReadText | None,
    *,
    model: EmbeddingModel | None,
    now: datetime.datetime,
) -> Admission:
    """What stands or waits passes the gate; what is history only gets its new text, and what is read in it.

    Raise BlockedByErasure, History.
    """
    refuse_forgotten([row], [sentences_claimed(claimed.claims)])
    vector = read.vector if read else None
    if row.status in (Status.SUPERSEDED, Status.ARCHIVED):
        if claimed.is_named and claimed.is_changed:
            raise History(f"this memory is {row.status}: what it claims is history")
        rewrite(Newcomer(row, vector, claimed.claims), now=now, model=model)
        return Admission(row)
    disputed = row.status == Status.DISPUTED
    return readmit(
        Newcomer(row, vector, claimed.claims, certain_claims(row.content, row.extra)),
        model=model,
        now=now,
        by_a_person=principal.kind == "person",
        at_best=Status.DISPUTED if disputed else Status.ACTIVE,
    )


def claims_of(row: Fragment) -> list[ClaimDraft]:
    """Return what a fragment claims now, in the order of its text."""
    rows = Claim.objects.within(row.project_id).filter(fragment=row).order_by("position")
    return [ClaimDraft.of(claim) for claim in rows]


def store_revision(row: Fragment) -> None:
    """The former text and claims, when it is these that change; a trigger keeps what is only text."""
    claims = Claim.objects.within(row.project_id).filter(fragment=row).order_by("position")
    values = [
        {
            "subject": claim.subject,
            "predicate": claim.predicate,
            "value": claim.value,
            "value_digest": bytes(claim.value_digest).hex(),
        }
        for claim in claims
    ]
    if not values:
        return
    first, *others = values
    Revision.objects.create(
        project_id=row.project_id,
        fragment=row,
        revision=row.revision,
        content=row.content,
        claim={**first, "others": others} if others else first,
    )


def may_rewrite(principal: Principal, row: Fragment) -> bool:
    """Return whether a text is the principal's to change: nobody else puts words into it."""
    return principal.owner_id == row.owner_id or principal.kind == "person"


def refuse_rewriting(principal: Principal, row: Fragment) -> None:
    """Raise NotPermitted: a text stands under its writer's name, and what a person chose stays as they saw it.

    Also for what is contained: it would stand again under the name of whom it was taken from.
    """
    if row.archived_reason == CONTAINED and principal.owner_id != row.owner_id:
        raise NotPermitted("this memory is contained: store a new one, or take the containment back")
    if not may_rewrite(principal, row):
        raise NotPermitted("only whoever wrote a memory, or a person, may rewrite it: store a new fragment instead")
    digested = Link.objects.within(row.project_id).filter(fragment=row, kind=LinkKind.DIGEST_OF)
    if principal.kind == "key" and digested.exclude(other__owner_id=principal.owner_id).exists():
        raise NotPermitted("this digest stands for what others wrote: store a new fragment instead")
    if principal.kind == "key" and protection(row.project_id, row.id):
        raise NotPermitted("a person ruled on this memory: store a new fragment instead")


def with_procedure(kind: str, content: str, extra: dict[str, Any]) -> dict[str, Any]:
    """Return what stands beside a text: of a procedure its trigger and steps, read in the text unless given."""
    if kind != FragmentType.PROCEDURAL or procedure_of(extra):
        return extra
    return {**extra, **read_procedure(content).named}


def with_instruction(content: str, extra: dict[str, Any], *, source: str) -> dict[str, Any]:
    """Return what stands beside a text, and whether its user gives a standing instruction in it: nobody else can.

    What may hold somebody else's word instructs only as a sentence of "when I ask" that stands alone.
    """
    rest = {name: value for name, value in extra.items() if name != INSTRUCTION}
    instructs = is_instruction if extra.get(MATERIAL) else gives_instruction
    return {**rest, INSTRUCTION: True} if source in FROM_THE_USER and instructs(content) else rest


def _steps_anew(row: Fragment, changes: dict[str, Any]) -> dict[str, Any]:
    """Return what stands beside a new text whose former steps were read out of it, not given."""
    former = {name: row.extra[name] for name in PROCEDURE if name in row.extra}
    if "content" not in changes or former != read_procedure(row.content).named:
        return {}
    rest = {name: value for name, value in row.extra.items() if name not in PROCEDURE}
    return {"extra": with_procedure(changes.get("type", row.type), changes["content"], rest)}


def archive(principal: Principal, fragment_id: uuid.UUID, *, now: datetime.datetime) -> Fragment:
    """Take a fragment out of all default answers; `unarchive` brings it back.

    Raise NotFound, NotPermitted, and History for what does not stand.
    """
    with access.enter(principal, why="archive"):
        lock_claimed_keys(principal.project_id, fragment_id=fragment_id)
        row = fragment_for_change(principal, fragment_id)
        refuse_taking_away(principal, row)
        if row.archived_reason == CONTAINED:
            raise History("this memory is contained already")
        if row.status in (Status.SUPERSEDED, Status.ARCHIVED):
            raise History(f"this memory is {row.status} already")
        end_waiting(row, now=now)
        row.status, row.updated_at = Status.ARCHIVED, now
        row.archived_reason = BY_PERSON if principal.kind == "person" else BY_HAND
        row.save(update_fields=["status", "archived_reason", "updated_at"])
        return row


def refuse_taking_away(principal: Principal, row: Fragment) -> None:
    """Raise NotPermitted for what another owner of as much authority claims, or keeps under a key of its own.

    What the gate lets nobody of equal authority replace, nobody removes to make room either: also no reviewer's key
    for what its own owner said against it.
    """
    if may_rewrite(principal, row) or SOURCE_RANK[SourceClass(principal.ceiling)] > row.authority:
        return
    if not (row.key or _is_claimed(row)):
        return
    if not {Verb.REVIEW, Verb.ADMIN} & set(principal.verbs):
        raise NotPermitted("another owner claims this, or keeps it under a key: its owner or a reviewer takes it away")
    waiting = PendingConflict.objects.within(row.project_id).pending().filter(existing=row, newcomer__isnull=False)
    if principal.kind == "key" and waiting.filter(newcomer__owner_id=principal.owner_id).exists():
        raise NotPermitted("what this key's owner said waits against it: somebody else settles that")


def _is_claimed(row: Fragment) -> bool:
    """Return whether something stands that it claims."""
    standing = (Status.ACTIVE, Status.DISPUTED)
    claims = Claim.objects.within(row.project_id).filter(fragment=row, status__in=standing)
    return row.status in standing and claims.exists()


def archive_key(principal: Principal, namespace: str, key: str, *, now: datetime.datetime) -> Fragment:
    """As `archive`, of what bears a key in a namespace, or in the scope of the request's user below it."""
    with access.enter(principal, why="archive"):
        scopes = access.readable(principal, [namespace])
        rows = Fragment.objects.within(principal.project_id).filter(namespace__in=scopes, key=key)
        found = rows.values_list("id", flat=True).first()
        if found is None:
            raise NotFound("fragment")
        return archive(principal, found, now=now)


def unarchive(principal: Principal, fragment_id: uuid.UUID, *, now: datetime.datetime) -> Fragment:
    """Let an archived fragment stand again, as far as the gate allows: it replaces nothing that is as strong.

    Raise NotFound, NotPermitted also for what a person rejected or archived, and History for what is not archived.
    """
    with access.enter(principal, why="unarchive"):
        lock_claimed_keys(principal.project_id, fragment_id=fragment_id)
        row = fragment_for_change(principal, fragment_id)
        if row.status != Status.ARCHIVED:
            raise History(f"this memory is {row.status}, not archived")
        if principal.kind == "key" and row.archived_reason in (BY_PERSON, ROLLED_BACK):
            raise NotPermitted("a person archived this; a person may bring it back")
        # What little a compaction left may state nothing any more.
        original = Archive.objects.within(row.project_id).originals([row]).get(row.id, row.content)
        row.updated_at = now
        readmit(
            Newcomer(row, None, claims_of(row), certain_claims(original, row.extra)),
            now=now,
            by_a_person=principal.kind == "person",
            returning=True,
            at_best=Status.DISPUTED if is_disputed(row) else Status.ACTIVE,
        )
        if row.status == Status.ARCHIVED:
            raise NotPermitted("a person rejected this; a person may bring it back")
        return row
