"""Digests on request: somebody names the memories; what the digest phase would leave is refused."""

import datetime
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from conflicts.public import Admission, lock_namespace
from conflicts.rulings import with_protection
from memories import access, governance
from memories.access import NotFound, Principal
from memories.extraction import PASSING
from memories.ingest.updates import check_change
from memories.language.extracts import extract
from memories.models import Claim, EmbeddingModel, Fragment
from memories.models.enums import Compression, Status
from memories.operations import BadOptions
from memories.providers import active_model, embed
from memories.upkeep.consolidation.digests import (
    DIGEST,
    LEAST,
    MOST,
    CannotDigest,
    DigestDraft,
    DigestPlace,
    extracted,
    store,
)
from memories.upkeep.consolidation.options import LLM, check_method
from memories.upkeep.protections import INFERRED, USERS_OWN

WITH_SENTENCES = (Compression.FULL, Compression.SUMMARY)


@dataclass(frozen=True, slots=True)
class DigestRequest:
    """What is to be digested, and the digest of its texts as they stood before the transaction."""

    ids: Sequence[uuid.UUID]
    draft: DigestDraft
    model: EmbeddingModel
    texts: Sequence[str]


def prepare_digest(
    principal: Principal, ids: Sequence[uuid.UUID], *, now: datetime.datetime, method: str = "extractive"
) -> DigestRequest:
    """Read the memories and embeds their digest; no transaction is open during the provider's call.

    Raise BadOptions (`ids`: too few, too many, one twice, of several namespaces; `method`), NotFound, NotPermitted,
    CannotDigest, NoDigest.
    """
    check_method(method)
    if len(set(ids)) != len(ids):
        raise BadOptions("ids", "Name each memory once.")
    if not LEAST <= len(ids) <= MOST:
        raise BadOptions("ids", f"Name {LEAST} to {MOST} memories.")
    model = active_model()
    with access.enter(principal, why="digest"):
        members = _members(principal, ids)
    texts = [row.content for row in members]
    if method == LLM:
        _refuse_stronger(ids, members)
        summary = governance.digests.summarise(principal, members[0].namespace, members, now=now)
    else:
        summary = governance.digests.Summary(extracted(texts, model=model), {})
    (vector,) = embed([summary.text], model=model)
    return DigestRequest(ids, DigestDraft(uuid.uuid4(), summary.text, vector, summary.origin), model, texts)


def store_digest(principal: Principal, request: DigestRequest, *, now: datetime.datetime) -> Admission:
    """Store the digest and archive the originals; they can be taken out of the archive one by one.

    Whoever was changed meanwhile is digested as it is now; the vector follows then. Raise NotFound, NotPermitted,
    CannotDigest, NoDigest, BlockedByErasure.
    """
    with access.enter(principal, why="digest"):
        members = _members(principal, request.ids)
        namespace = members[0].namespace
        lock_namespace(namespace.id)
        members = _members(principal, request.ids, hold=True)
        texts = [row.content for row in members]
        draft = request.draft if texts == request.texts else DigestDraft(request.draft.id, extract(texts), None)
        rates = members[0].project.rates_in_force
        return store(DigestPlace(principal, namespace, request.model, now, rates), draft, members)


def _members(principal: Principal, ids: Sequence[uuid.UUID], *, hold: bool = False) -> list[Fragment]:
    """Return the memories, oldest first, if they may be digested by this principal."""
    found = Fragment.objects.within(principal.project_id).filter(id__in=ids).select_related("namespace", "project")
    found = with_protection(found.order_by("id"))
    rows: list[Any] = list(found.select_for_update(of=("self",), no_key=True) if hold else found)
    visible = {row.id: row for row in rows if principal.covers_reading(row.namespace.name)}
    if len(visible) < len(ids):
        raise NotFound("fragment")
    for row in visible.values():
        check_change(principal, namespace=row.namespace.name, authority=row.rank)
    if len({row.namespace_id for row in visible.values()}) > 1:
        raise BadOptions("ids", "These memories lie in several namespaces: a digest is of one.")
    claims = Claim.objects.within(principal.project_id).filter(fragment__in=ids).exclude(predicate__in=PASSING)
    claiming = set(claims.values_list("fragment_id", flat=True))
    is_person, lowest = principal.kind == "person", min(row.authority for row in visible.values())
    reasons = {
        n: _stays(visible[i], claims_something=i in claiming, is_person=is_person, lowest=lowest)
        for n, i in enumerate(ids)
    }
    if refused := {number: why for number, why in reasons.items() if why}:
        raise CannotDigest(refused)
    return sorted(visible.values(), key=lambda row: (row.created_at, row.id))


def _refuse_stronger(ids: Sequence[uuid.UUID], members: Sequence[Fragment]) -> None:
    """Raise CannotDigest for what a model's digest, an inference, would be weaker than."""
    above = {row.id for row in members if row.authority > INFERRED}
    if above:
        why = "A language model's digest is an inference: weaker than this memory. Use extractive."
        raise CannotDigest({n: why for n, i in enumerate(ids) if i in above})


def _stays(row: Any, *, claims_something: bool, is_person: bool, lowest: int) -> str:
    """Return why a memory may not go into a digest, or nothing; the conditions are those of the digest phase."""
    conditions = {
        f"It is {row.status}, not active.": row.status != Status.ACTIVE,
        "It is a digest already.": row.category == DIGEST,
        "It is pinned.": row.is_pinned,
        "It is an anchor.": row.is_anchor,
        "It has a key of its own.": bool(row.key),
        f"Its text was shortened ({row.compression}).": row.compression not in WITH_SENTENCES,
        "It claims something that is believed.": claims_something,
        "It is what the user said: only a person may digest it.": row.authority == USERS_OWN and not is_person,
        "A person chose it: only a person may digest it.": row.ruled > 0 and not is_person,
        "It has more authority than the weakest of them, and so than their digest.": row.authority > lowest,
    }
    return next((why for why, holds in conditions.items() if holds), "")
