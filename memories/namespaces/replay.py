"""Replay: what a branch wrote goes through the target's gate, in the order in which it was written."""

import dataclasses
import datetime
import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from django.db import transaction
from django.db.models import Q

from conflicts.bulk_changes import supersede_repeated
from conflicts.public import Admission, ClaimDraft, Newcomer, admit
from conflicts.rulings import with_protection
from conflicts.search_index import find_forgotten_texts
from memories import failpoints
from memories.extraction import certain_claims
from memories.ingest.external_keys import replace, words_of_claims
from memories.ingest.updates import claims_of
from memories.models import Claim, Embedding, EmbeddingModel, Fragment
from memories.models.enums import STANDING, SourceClass, Status
from memories.models.table_spec import made_columns
from memories.namespaces.copies import CopyRoute, new_id
from memories.namespaces.diff import BY_PEOPLE, BranchRival, relevances, rivals_of

BATCH = 500
ALIKE = 1e-9  # relevances that differ by less are equal
# Columns that a replayed memory does not keep: where it stands, and what the gate or a trigger decides.
DECIDED = {"id", "namespace", "status", "superseded_by", "archived_reason"}
KEPT = [f.attname for f in Fragment._meta.concrete_fields if f.name not in DECIDED | made_columns()]


@dataclass(slots=True)
class Replayed:
    """What became of what came: ids of the target, but for what was skipped."""

    added: list[uuid.UUID] = field(default_factory=list)
    # What ceased to stand, and what came in its place.
    superseded: dict[uuid.UUID, uuid.UUID] = field(default_factory=dict)
    conflicting: list[uuid.UUID] = field(default_factory=list)
    skipped: dict[uuid.UUID, str] = field(default_factory=dict)
    forgotten: list[uuid.UUID] = field(default_factory=list)
    # What a skipped one gives way to; what a conflicting one stands against.
    beside: dict[uuid.UUID, uuid.UUID] = field(default_factory=dict)
    # What each memory that came is now.
    now_is: dict[uuid.UUID, uuid.UUID] = field(default_factory=dict)
    # Those of them that were stored.
    stored: dict[uuid.UUID, uuid.UUID] = field(default_factory=dict)
    # What says by now, under its key, what another said.
    replaced: dict[uuid.UUID, uuid.UUID] = field(default_factory=dict)


def replay(
    way: CopyRoute,
    ids: Sequence[uuid.UUID],
    counterparts: Mapping[uuid.UUID, uuid.UUID],
    *,
    model: EmbeddingModel,
    now: datetime.datetime,
) -> Replayed:
    """Let memories of the source pass the target's gate at their own authority, batch by batch; the same each time.

    Of one source, and of one memory that changed on both sides, the most relevant of the highest authority stays. The
    caller holds both namespaces.
    """
    done = Replayed()
    order = _in_order(way, ids, set(counterparts))
    best = _best_of_each_source(way, order, done, now=now)
    for start in range(0, len(best), BATCH):
        _batch(way, best[start : start + BATCH], counterparts, done, model=model, now=now)
        failpoints.reach("branches.merge.replaying")
    return done


def _in_order(way: CopyRoute, ids: Sequence[uuid.UUID], changed: set[uuid.UUID]) -> list[uuid.UUID]:
    rows = Fragment.objects.within(way.source.project_id).filter(id__in=ids)
    rows_in_order = rows.values_list("id", "created_at", "updated_at")
    return [i for _, i in sorted((updated if i in changed else created, i) for i, created, updated in rows_in_order)]


def _best_of_each_source(
    way: CopyRoute, ids: list[uuid.UUID], done: Replayed, *, now: datetime.datetime
) -> list[uuid.UUID]:
    """Of several that come from one source one stays: of the highest authority the most relevant, then the last."""
    rows = Fragment.objects.within(way.source.project_id).filter(id__in=ids).exclude(source_id="")
    groups: dict[tuple[str, str], list[tuple[int, float, int, uuid.UUID]]] = defaultdict(list)
    worth, place = relevances(way, ids, now=now), {i: n for n, i in enumerate(ids)}
    for i, source, talk, authority in with_protection(rows).values_list("id", "source_id", "conversation_id", "rank"):
        groups[source, talk].append((authority, worth[i], place[i], i))
    for group in groups.values():
        *losers, (*_, winner) = sorted(group)
        for *_, loser in losers:
            done.skipped[loser], done.beside[loser] = "same_source", winner
    return [i for i in ids if i not in done.skipped]


def _batch(
    way: CopyRoute,
    ids: list[uuid.UUID],
    counterparts: Mapping[uuid.UUID, uuid.UUID],
    done: Replayed,
    *,
    model: EmbeddingModel,
    now: datetime.datetime,
) -> None:
    project_id = way.source.project_id
    found = {row.id: row for row in with_protection(Fragment.objects.within(project_id).filter(id__in=ids))}
    rivals, worth = rivals_of(way, ids, now=now), relevances(way, ids, now=now)
    there = _there_already(way, found.values())
    barred = _barred(way, found.values(), there)
    done.forgotten += sorted(barred)
    coming = []
    for i in ids:
        if i in barred:
            continue
        if why := why_not_replaced(found[i], found[i].rank, worth[i], rivals.get(i, [])):
            done.skipped[i], done.beside[i] = why, strongest(rivals[i]).id
        else:
            coming.append(found[i])
    if not coming:
        return
    newcomers = _newcomers(way, coming, {**counterparts, **done.now_is}, model=model)
    fresh = [n for n, row in enumerate(coming) if row.id not in there]
    admissions = admit([newcomers[n] for n in fresh], model=model, now=now)
    for n, admission in zip(fresh, admissions, strict=True):
        row, stands = coming[n], admission.fragment
        if admission.deduplicated and counterparts.get(row.id) == stands.id and row.wording != stands.wording:
            # The same claims in other words: its counterpart says them from now on.
            stands.refresh_from_db()
            _replace(row, stands, newcomers[n], done, model=model, now=now)
        else:
            _enter(way, row, admission, [r.id for r in rivals.get(row.id, [])], done, now=now)
    for row, newcomer in zip(coming, newcomers, strict=True):
        if row.id in there and row.key:
            _replace(row, there[row.id], newcomer, done, model=model, now=now)
        elif row.id in there:
            beside = [r.id for r in rivals.get(row.id, [])]
            _hear_again(way, row, there[row.id], newcomer, beside, done, model=model, now=now)


def _barred(way: CopyRoute, rows: Iterable[Fragment], there: Mapping[uuid.UUID, Fragment]) -> set[uuid.UUID]:
    """Which of these say what the target forgot; what is there already says it with no more authority than it has."""
    row_texts = [(row, text) for row in rows for text in (row.content, *row.procedure, *row.words_beside)]
    texts = [(way.target.id, text, min(row.authority, there.get(row.id, row).authority)) for row, text in row_texts]
    return {row_texts[n][0].id for n in find_forgotten_texts(way.source.project_id, texts)}


def _there_already(way: CopyRoute, rows: Iterable[Fragment]) -> dict[uuid.UUID, Fragment]:
    """Return what the target has of these already: what bears the same key, or else a copy of this very revision."""
    keys = {row.key: row.id for row in rows if row.key}
    copies = {new_id(row.id, way.target.id, row.revision): row.id for row in rows if not row.key}
    found = Fragment.objects.within(way.target.project_id).filter(namespace=way.target)
    found = found.filter(Q(key__in=keys) | Q(id__in=copies)).order_by("id").select_for_update(of=("self",))
    return {copies[row.id] if row.id in copies else keys[row.key]: row for row in found}


def _hear_again(
    way: CopyRoute,
    row: Fragment,
    copy: Fragment,
    newcomer: Newcomer,
    rivals: list[uuid.UUID],
    done: Replayed,
    *,
    model: EmbeddingModel,
    now: datetime.datetime,
) -> None:
    """Let a copy that went or was changed say again what it is a copy of; what may not stand stays as it was."""
    held = (*STANDING, Status.QUARANTINED)
    why = copy.archived_reason if copy.archived_reason in BY_PEOPLE else ""
    if copy.status in held and _says_the_same(row, copy, newcomer):
        why, done.beside[row.id] = "repeats", copy.id
    if not why:
        with transaction.atomic():
            admission = replace(copy, newcomer, model=model, now=now)
            if copy.status not in held:
                why = copy.archived_reason or "repeats"
                transaction.set_rollback(True)
    if why:
        done.skipped[row.id] = why
        return
    _enter(way, row, admission, rivals, done, now=now)
    # Its origin is known, and stays known when this is taken back.
    del done.stored[row.id]
    done.replaced[copy.id] = row.id


def _says_the_same(row: Fragment, copy: Fragment, newcomer: Newcomer) -> bool:
    said = words_of_claims(claims_of(copy)) == words_of_claims(newcomer.claims)
    return said and row.wording == copy.wording


def _replace(
    row: Fragment,
    standing: Fragment,
    newcomer: Newcomer,
    done: Replayed,
    *,
    model: EmbeddingModel,
    now: datetime.datetime,
) -> None:
    admission = replace(standing, newcomer, model=model, now=now)
    done.now_is[row.id], done.replaced[standing.id] = standing.id, row.id
    done.superseded |= dict.fromkeys(admission.superseded, standing.id)
    if standing.status == Status.QUARANTINED or admission.pending_conflicts:
        done.conflicting.append(standing.id)
    else:
        done.added.append(standing.id)


def why_not_replaced(row: Fragment, rank: int, relevance: float, rivals: Sequence[BranchRival]) -> str:
    """Why a memory may not take the place of those that are the same or of one source; nothing when it may. Pure.

    `rank` is its authority, or that of who chose it in the source.
    """
    if not rivals:
        return ""
    authority = strongest(rivals).authority
    if rank != authority:
        return "" if rank > authority else "authority"
    equal = [rival for rival in rivals if rival.authority == authority]
    ahead = relevance - max(rival.relevance for rival in equal)
    if row.source_id and abs(ahead) > ALIKE:
        return "" if ahead > 0 else "relevance"
    if all(rival.same_line for rival in equal):
        return "" if row.updated_at > max(rival.updated_at for rival in equal) else "older"
    return "same_source"


def strongest(rivals: Sequence[BranchRival]) -> BranchRival:
    """Return the one of the highest authority, of those the most relevant. Pure."""
    return max(rivals, key=lambda rival: (rival.authority, rival.relevance))


def _newcomers(
    way: CopyRoute, rows: Sequence[Fragment], elsewhere: Mapping[uuid.UUID, uuid.UUID], *, model: EmbeddingModel
) -> list[Newcomer]:
    ids = [row.id for row in rows]
    names = {**elsewhere, **{row.id: new_id(row.id, way.target.id, row.revision) for row in rows}}
    vectors = Embedding.objects.filter(
        project_id=way.source.project_id,
        root_id=way.source.root_id,
        namespace_id=way.source.id,
        fragment_id__in=ids,
        model=model,
    )
    vector_of = dict(vectors.values_list("fragment_id", "vector"))
    watched = Claim.objects.watched({way.target.id}, above=min(row.authority for row in rows))
    claims = Claim.objects.by_fragment(way.source.project_id, ids)
    reads = bool(watched or claims)
    return [
        Newcomer(
            _copy_of(way, row, names),
            vector_of.get(row.id),
            [_elsewhere(ClaimDraft.of(claim), names) for claim in claims.get(row.id, ())],
            certain_claims(row.content, row.extra) if reads else (),
            row.said_at() if row.source == SourceClass.USER_EXPLICIT else None,
        )
        for row in rows
    ]


def _copy_of(way: CopyRoute, row: Fragment, names: Mapping[uuid.UUID, uuid.UUID]) -> Fragment:
    """Return the memory as it is to stand in the target, its lineage in the target's names."""
    values = {name: getattr(row, name) for name in KEPT}
    lineage = {name: [names.get(i, i) for i in values[name]] for name in ("parents", "roots")}
    return Fragment(**{**values, **lineage}, id=names[row.id], namespace=way.target)


def _elsewhere(draft: ClaimDraft, names: Mapping[uuid.UUID, uuid.UUID]) -> ClaimDraft:
    """Return a claim of the source with what became of it; what waits there is decided here."""
    verdict = "" if draft.verdict == Status.QUARANTINED else draft.verdict
    successor = names.get(draft.superseded_by) if draft.superseded_by else None
    return dataclasses.replace(draft, verdict=verdict, superseded_by=successor)


def _enter(
    way: CopyRoute,
    row: Fragment,
    admission: Admission,
    rivals: list[uuid.UUID],
    done: Replayed,
    *,
    now: datetime.datetime,
) -> None:
    stands = admission.fragment
    done.now_is[row.id] = stands.id
    done.superseded |= dict.fromkeys(admission.superseded, stands.id)
    if admission.deduplicated:
        done.skipped[row.id], done.beside[row.id] = "repeats", stands.id
        return
    done.stored[row.id] = stands.id
    waits = stands.status == Status.QUARANTINED
    if waits or admission.pending_conflicts:
        done.conflicting.append(stands.id)
        against = sorted(c.existing_id for c in admission.pending_conflicts if c.existing_id)
        done.beside |= {stands.id: against[0]} if against else {}
    if waits:
        return
    if stands.status not in STANDING:
        done.skipped[row.id] = stands.archived_reason or str(stands.status)
        return
    if not admission.pending_conflicts:
        done.added.append(stands.id)
    still = Fragment.objects.within(way.target.project_id).filter(id__in=rivals, status__in=STANDING)
    yielding = list(still.exclude(id=stands.id).order_by("id").values_list("id", flat=True))
    in_its_place = dict.fromkeys(yielding, stands.id)
    supersede_repeated(way.target.project_id, way.target.id, in_its_place, now=now)
    done.superseded |= in_its_place
