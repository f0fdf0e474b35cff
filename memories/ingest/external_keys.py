"""External keys: a memory under its caller's own name stays that memory; what is said under it again replaces it."""

import datetime
import hashlib
import uuid
from collections.abc import Mapping, Sequence

from conflicts.namespace_state import NamespaceState
from conflicts.public import (
    MOST_KEYS,
    Admission,
    ClaimDraft,
    Newcomer,
    admit,
    lock_claimed_keys,
    lock_keys,
    lock_namespace,
    readmit,
)
from conflicts.search_index import refuse_forgotten
from conflicts.votes import drop_support
from memories.access import NotPermitted, Principal
from memories.ingest.updates import claims_of, fragment_for_change, may_rewrite, refuse_rewriting, store_revision
from memories.models import EmbeddingModel, Fragment, Link
from memories.models.enums import Compression, LinkKind, Status
from memories.models.fragment import BY_PERSON, ROLLED_BACK
from memories.models.sql import fetch

Place = tuple[uuid.UUID, str]  # namespace, key
# What goes with a text; where it stands, who said it first and what people made of it stay.
DETAILS = (
    *("agent_id", "type", "category", "source_type", "source_id", "source_ids", "workflow_id", "conversation_id"),
    *("sequence", "tags", "entities", "topics", "outcome", "importance", "emotional_valence", "event_at", "extra"),
)


def enter(
    principal: Principal,
    newcomers: Sequence[Newcomer],
    *,
    model: EmbeddingModel,
    now: datetime.datetime,
    states: Mapping[uuid.UUID, NamespaceState],
) -> list[Admission]:
    """Store newcomers, in order; one whose key stands in its namespace replaces what that says.

    None of them was forgotten, and their namespaces are as in `states`.
    Raise NotPermitted for a key whose memory is another's or of more authority.
    """
    known = _known([newcomer.fragment for newcomer in newcomers])
    admissions: list[Admission] = []
    run: list[Newcomer] = []
    for newcomer in newcomers:
        namespace = (newcomer.fragment.namespace_id, newcomer.fragment.key)
        if namespace in known:
            admissions += admit(run, model=model, now=now, states=None if admissions else states)
            admissions.append(_replaced(principal, known[namespace], newcomer, model=model, now=now))
            run = []
            continue
        run.append(newcomer)
        if newcomer.fragment.key:
            known[namespace] = newcomer.fragment.id
    # What was admitted before changed what stands.
    return [*admissions, *admit(run, model=model, now=now, states=None if admissions else states)]


def _known(fragments: Sequence[Fragment]) -> dict[Place, uuid.UUID]:
    """Return the memories that stand under the keys of these; the keys are held from here on."""
    keyed = [fragment for fragment in fragments if fragment.key]
    if not keyed:
        return {}
    lock_keys((row.namespace_id, hashlib.sha256(b"external " + row.key.encode()).digest()) for row in keyed)
    places = {row.namespace_id for row in keyed}
    rows = Fragment.objects.within(keyed[0].project_id).filter(namespace__in=places, key__in={row.key for row in keyed})
    found = {(place, key): i for i, place, key in rows.values_list("id", "namespace_id", "key")}
    if found and len(fragments) > MOST_KEYS:  # or one part would share what a later one wants for itself
        for place in sorted({row.namespace_id for row in fragments}):
            lock_namespace(place)
    return found


def _replaced(
    principal: Principal, fragment_id: uuid.UUID, newcomer: Newcomer, *, model: EmbeddingModel, now: datetime.datetime
) -> Admission:
    lock_claimed_keys(principal.project_id, fragment_id=fragment_id, drafts=newcomer.claims)
    row = fragment_for_change(principal, fragment_id)
    if not may_rewrite(principal, row):
        raise NotPermitted("the memory under this key is another owner's")
    refuse_rewriting(principal, row)
    if newcomer.fragment.authority < row.authority:
        raise NotPermitted("the memory under this key has more authority than this text would have")
    is_archived = row.status == Status.ARCHIVED and row.archived_reason in (BY_PERSON, ROLLED_BACK)
    if principal.kind == "key" and is_archived and _says_the_same(row, newcomer.fragment):
        return Admission(row, deduplicated=True)  # a person may bring it back
    return replace(row, newcomer, model=model, now=now, by_a_person=principal.kind == "person")


def _says_the_same(one: Fragment, other: Fragment) -> bool:
    """Return whether two texts are known by one fingerprint, whatever their case and punctuation."""
    prints = "nova_erasure_print(%(project)s, %(one)s) = nova_erasure_print(%(project)s, %(other)s)"
    told = {"project": one.project_id, "one": one.wording, "other": other.wording}
    return bool(fetch(f"SELECT {prints}", told)[0][0])


def replace(
    row: Fragment, newcomer: Newcomer, *, model: EmbeddingModel, now: datetime.datetime, by_a_person: bool = False
) -> Admission:
    """Let a memory say what the newcomer says, as a new revision through the gate; who was gone stands again.

    The caller holds its keys and its row. Raise BlockedByErasure.
    """
    fragment = newcomer.fragment
    new_text, new_words, former = fragment.content != row.content, fragment.wording != row.wording, claims_of(row)
    new_claim = words_of_claims(former) != words_of_claims(newcomer.claims)
    if new_claim:
        store_revision(row)
    for name in DETAILS:
        setattr(row, name, getattr(fragment, name))
    row.is_pinned, row.is_anchor = row.is_pinned or fragment.is_pinned, row.is_anchor or fragment.is_anchor
    row.revision, row.updated_at = row.revision + 1, now
    if not (new_words or new_claim) and row.status in (Status.ACTIVE, Status.DISPUTED, Status.QUARANTINED):
        row.save()
        return Admission(row, replaced=True)
    if row.status == Status.SUPERSEDED:
        row.superseded_by = None
        Link.objects.within(row.project_id).filter(other_id=row.id, kind=LinkKind.SUPERSEDES).delete()
    at_best = Status.DISPUTED if row.status == Status.DISPUTED else Status.ACTIVE
    if new_text:
        row.content, row.compression = fragment.content, Compression.FULL
    if new_words:
        refuse_forgotten([row])
    done = readmit(
        Newcomer(row, newcomer.vector, newcomer.claims, newcomer.statements, newcomer.said_at),
        model=model if new_text else None,
        now=now,
        by_a_person=by_a_person,
        at_best=at_best,
    )
    said = [claim.words for claim in newcomer.claims]
    # Where nothing is named, what was read out of the same text goes; nobody upheld anything else.
    if new_words or (said and said != [claim.words for claim in former]):
        drop_support(row, now=now)
    return Admission(row, False, done.superseded, done.pending_conflicts, replaced=True)


def words_of_claims(drafts: Sequence[ClaimDraft]) -> list[tuple[object, ...]]:
    """Return what claims say, however they are kept."""
    return [(d.subject, d.predicate, d.value, d.scope, d.session_id, d.valid_from, d.valid_until) for d in drafts]
