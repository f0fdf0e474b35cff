"""Rulings: what a decision leaves on a key, so that it holds; and what of it is undone with it (docs/spec.md §4.5)."""

import datetime
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from types import MappingProxyType
from typing import Any

from django.db.models import F, Max, Q, SmallIntegerField
from django.db.models.expressions import RawSQL
from django.db.models.functions import Coalesce, Greatest

from conflicts.authority import rank_of
from conflicts.enums import ConflictKind, Policy, Resolution
from conflicts.gate import Binding, Period
from conflicts.keys import Naming, naming
from conflicts.models import PendingConflict, Ruling
from memories import access
from memories.access import NotPermitted, Principal
from memories.models import Claim, Fragment, Namespace, Owner
from memories.models.sql import execute, fetch


def claim_ruled(claim: str) -> str:
    """Return as SQL the authority of the rulings that chose the value of a statement's claim; null without any."""
    return f"""(SELECT max(r.authority) FROM conflicts_ruling r
        WHERE r.project_id = {claim}.project_id AND r.namespace_id = {claim}.namespace_id
            AND r.key_digest = {claim}.key_digest AND r.session_id = {claim}.session_id AND r.replaced_by_id IS NULL
            AND encode({claim}.value_digest, 'hex') = ANY (r.chosen))"""


def text_ruled(fragment: str) -> str:
    """Return as SQL the authority of the rulings that chose a statement's fragment for its text; null without any."""
    return f"""(SELECT max(r.authority) FROM conflicts_ruling r
        WHERE r.project_id = {fragment}.project_id AND r.fragment_id = {fragment}.id AND r.replaced_by_id IS NULL
            AND {fragment}.id = ANY (r.chosen_fragments))"""


# By namespace and memory the authority of the rulings in force that chose it, worked out once for a statement: every
# ruling of its namespace would be read for each memory.
CHOSEN = """(SELECT jsonb_object_agg(c.key, c.authority) FROM (
        SELECT concat(r.namespace_id, i.id) AS key, max(r.authority) AS authority
        FROM conflicts_ruling r CROSS JOIN LATERAL unnest(r.chosen_fragments) AS i (id)
        WHERE r.project_id = nova_project() AND r.replaced_by_id IS NULL GROUP BY 1
    ) AS c)"""


def fragment_chosen(fragment: str) -> str:
    """Return as SQL whether a ruling in force chose a statement's fragment."""
    return f"coalesce(jsonb_exists({CHOSEN}, concat({fragment}.namespace_id, {fragment}.id)), false)"


def fragment_ruled(fragment: str) -> str:
    """Return as SQL the authority of the rulings that chose a statement's fragment; null without any."""
    return f"({CHOSEN} ->> concat({fragment}.namespace_id, {fragment}.id))::smallint"


def with_protection(fragments: Any) -> Any:
    """Return the fragments with `ruled`, the authority of what chose each (0 without), and `rank`: that or its own."""
    ruled = Coalesce(RawSQL(fragment_ruled("memories_fragment"), [], SmallIntegerField(null=True)), 0)
    return fragments.annotate(ruled=ruled, rank=Greatest(F("authority"), F("ruled")))


def with_rank(claims: Any) -> Any:
    """Return the claims with `ruled`, the authority of what chose each (0 without), and `rank`: that or its own."""
    ruled = Coalesce(RawSQL(claim_ruled("memories_claim"), [], SmallIntegerField(null=True)), 0)
    return claims.annotate(ruled=ruled, rank=Greatest(F("authority"), F("ruled")))


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision as it was carried out: what stands by it, who had to yield or is kept beside, who decided, and why.

    `newcomer` is what was challenged with, `made` what a person typed in its place; `protects` says that what
    stood is chosen where the newcomer is rejected.
    """

    action: str
    newcomer: uuid.UUID | None
    opponents: Sequence[uuid.UUID]
    by: Principal
    note: str
    asked_for: bool
    made: uuid.UUID | None = None
    protects: bool = False

    @property
    def winner(self) -> uuid.UUID | None:
        """What stands by it."""
        return self.made or self.newcomer


def binding_of(row: Ruling) -> Binding:
    """Return a ruling as the gate sees it."""
    chosen, ruled_out = (frozenset(map(bytes.fromhex, digests)) for digests in (row.chosen, row.ruled_out))
    period = Period(row.valid_from, row.valid_until)
    return Binding(row.id, row.authority, row.decided_by, chosen, ruled_out, row.session_id, period, row.decided_at)


def record(
    conflicts: Sequence[PendingConflict], decided: Decided, names: Naming, *, now: datetime.datetime
) -> list[Ruling]:
    """Leave the ruling of a decision on each key that it was about; the first of the conflicts stands for a key."""
    made = []
    for conflict in _by_key(conflicts).values():
        row = _ruling(conflict, decided, now=now)
        if row is not None and (decided.asked_for or not _takes_the_newest(conflict, names)):
            made.append(_store_ruling(row))
    return made


def ruled_keys(conflicts: Sequence[PendingConflict], names: Naming, *, asked_for: bool) -> frozenset[bytes]:
    """Return the keys on which a decision for one value will leave a ruling."""
    by_key = _by_key(conflicts)
    return frozenset(key for key, conflict in by_key.items() if asked_for or not _takes_the_newest(conflict, names))


def _by_key(conflicts: Sequence[PendingConflict]) -> dict[bytes, PendingConflict]:
    return {bytes(conflict.key_digest): conflict for conflict in reversed(conflicts)}


def _takes_the_newest(conflict: PendingConflict, names: Naming) -> bool:
    """Return whether the predicate is one of readings or states, which the newest value answers."""
    if conflict.kind == ConflictKind.DISPUTE:
        return False
    claims = Claim.objects.within(conflict.project_id).filter(id__in=[conflict.challenger, conflict.challenged])
    predicates = [conflict.statement["predicate"]] if conflict.statement else claims.values_list("predicate", flat=True)
    return any(names.rule(predicate).policy == Policy.NEWEST for predicate in predicates)


def _ruling(conflict: PendingConflict, decided: Decided, *, now: datetime.datetime) -> Ruling | None:
    if conflict.kind == ConflictKind.RESTORE:
        return None
    row = Ruling(
        project_id=conflict.project_id,
        namespace_id=conflict.namespace_id,
        conflict=conflict,
        subject_digest=conflict.subject_digest,
        predicate_digest=conflict.predicate_digest,
        key_digest=conflict.key_digest,
        scope=conflict.scope,
        session_id=conflict.session_id,
        authority=rank_of(decided.by),
        decided_by=decided.by.owner_id,
        decided_at=now,
        note=decided.note,
        edited=decided.made is not None,
    )
    if conflict.kind == ConflictKind.DISPUTE:
        row.fragment_id = conflict.existing_id
        if decided.action == Resolution.SUPERSEDE:
            row.ruled_out_fragments = _known([conflict.existing_id])
            claims = Claim.objects.within(row.project_id).filter(fragment=conflict.existing_id)
            on_key = claims.filter(key_digest=conflict.key_digest).values_list("value_digest", flat=True)
            row.ruled_out = sorted({bytes(value).hex() for value in on_key})
        return row
    if conflict.kind == ConflictKind.TEXT:
        row.fragment_id = decided.winner
    _weigh(row, conflict, decided)
    return row


def _weigh(row: Ruling, conflict: PendingConflict, decided: Decided) -> None:
    """Which values the decision chose, and which it ruled out."""
    sides = [i for i in (decided.newcomer, decided.made, *decided.opponents) if i]
    claims = Claim.objects.within(row.project_id).filter(fragment__in=sides, key_digest=conflict.key_digest)
    found = {claim.fragment_id: claim for claim in claims.order_by("-position")}
    values = {i: bytes(claim.value_digest).hex() for i, claim in found.items()}
    if decided.newcomer and (conflict.newcomer_claim or (conflict.statement and not conflict.negates)):
        values[decided.newcomer] = bytes(conflict.value_digest).hex()
    chosen: list[uuid.UUID | None]
    ruled_out: list[uuid.UUID | None]
    if decided.action == Resolution.REJECT:
        chosen, ruled_out = [*decided.opponents] if decided.protects else [], [decided.newcomer]
    elif decided.action == Resolution.KEEP_BOTH:
        chosen, ruled_out = [decided.newcomer, *decided.opponents], []
    else:
        chosen, ruled_out = [decided.winner], [*decided.opponents, *([decided.newcomer] if decided.made else [])]
    row.chosen_fragments, row.ruled_out_fragments = _known(chosen), _known(ruled_out)
    row.chosen = sorted({values[i] for i in row.chosen_fragments if i in values})
    row.ruled_out = sorted({values[i] for i in row.ruled_out_fragments if i in values} - set(row.chosen))
    winner = found.get(decided.winner) if decided.winner else None
    if winner and decided.action == Resolution.SUPERSEDE:
        row.valid_from, row.valid_until = winner.valid_from, winner.valid_until


def _known(ids: Iterable[uuid.UUID | None]) -> list[uuid.UUID]:
    return [i for i in dict.fromkeys(ids) if i]


def _store_ruling(row: Ruling) -> Ruling:
    """Store a ruling; what it contradicts is replaced by it, and what that said besides is said by it."""
    chosen, ruled_out = set(row.chosen), set(row.ruled_out)
    former = [other for other in _beside(row) if chosen & set(other.ruled_out) or ruled_out & set(other.chosen)]
    cleared = set(row.chosen_fragments)  # whose words are ruled out no more
    for other in former:
        row.ruled_out = sorted({*row.ruled_out, *other.ruled_out} - chosen)
        row.chosen = sorted({*row.chosen, *other.chosen} - ruled_out)
        fallen = set(row.ruled_out_fragments) | _claimants(row, other.chosen_fragments, ruled_out)
        row.chosen_fragments = _known([*row.chosen_fragments, *(set(other.chosen_fragments) - fallen)])
        cleared |= {*row.chosen_fragments, *_claimants(row, other.ruled_out_fragments, chosen)}
        row.ruled_out_fragments = _known([*row.ruled_out_fragments, *(set(other.ruled_out_fragments) - cleared)])
    former_prints = {each for other in former for each in other.ruled_out_prints}
    prints = former_prints | _prints_of(row.project_id, row.ruled_out_fragments)
    row.ruled_out_prints = sorted(prints - _prints_of(row.project_id, cleared))
    row.save()
    Ruling.objects.within(row.project_id).filter(id__in=[other.id for other in former]).update(replaced_by=row)
    return row


def _claimants(row: Ruling, fragment_ids: Sequence[uuid.UUID], values: Collection[str]) -> set[uuid.UUID]:
    """Return those that claim one of these values of a ruling's key."""
    claims = Claim.objects.within(row.project_id).filter(fragment__in=fragment_ids, key_digest=row.key_digest)
    return {i for i, value in claims.values_list("fragment", "value_digest") if bytes(value).hex() in values}


def _prints_of(project_id: uuid.UUID, fragment_ids: Collection[uuid.UUID]) -> set[str]:
    """Return the fingerprints by which the texts of these memories are known in every guise."""
    statement = """SELECT encode(nova_erasure_print(project_id, content), 'hex') FROM memories_fragment
        WHERE project_id = %s AND id = ANY (%s)"""
    return {each for (each,) in fetch(statement, [project_id, list(fragment_ids)])}


def fill_prints(project_id: uuid.UUID, *, namespace_id: uuid.UUID) -> None:
    """Fill in the fingerprints of rulings that came without, by the texts as they stand now."""
    execute("SELECT nova_print_ruled_out(%s, ARRAY[%s])", [project_id, namespace_id])


def _beside(row: Ruling) -> list[Ruling]:
    """Return the rulings in force on the same key, of the same session and time."""
    if not row.key_digest:
        return []
    same = {"namespace": row.namespace_id, "key_digest": row.key_digest, "session_id": row.session_id}
    rows = Ruling.objects.within(row.project_id).in_force().filter(**same).select_for_update().order_by("id")
    period = Period(row.valid_from, row.valid_until)
    return [other for other in rows if Period(other.valid_from, other.valid_until).overlaps(period)]


ON_TEXTS = """
    WITH said AS MATERIALIZED (
        SELECT t.id, t.place, t.rank, nova_fingerprints(%(project)s, t.content) AS prints, greatest(t.said_at,
            (SELECT max(v.recorded_at) FROM memories_revision v
                WHERE t.said_at IS NOT NULL AND v.project_id = %(project)s AND v.fragment_id = t.id)) AS said_at
        FROM unnest(%(ids)s::uuid[], %(places)s::uuid[], %(ranks)s::int[], %(texts)s::text[], %(said)s::timestamptz[])
            AS t (id, place, rank, content, said_at)
    )
    SELECT t.id, r.id FROM said t
    JOIN conflicts_ruling r ON r.project_id = %(project)s AND r.namespace_id = t.place AND r.replaced_by_id IS NULL
        AND r.session_id = '' AND r.authority >= t.rank AND r.decided_at > coalesce(t.said_at, '-infinity')
        AND t.id <> ALL (r.ruled_out_fragments)
        AND r.ruled_out_prints && ARRAY(SELECT encode(p.print, 'hex')::varchar FROM unnest(t.prints) AS p (print))
    ORDER BY r.authority, r.decided_at, r.id"""


def rulings_on_texts(
    project_id: uuid.UUID,
    fragments: Sequence[Fragment],
    *,
    said_at: Mapping[uuid.UUID, datetime.datetime] = MappingProxyType({}),
) -> dict[uuid.UUID, uuid.UUID]:
    """Return by fragment the strongest ruling that ruled another memory of the same words out, in every session.

    The words as they were said then: what became of that memory since does not count. Of those in `said_at` only a
    ruling from after that.
    """
    if not fragments:
        return {}
    given = {
        "project": project_id,
        "ids": [fragment.id for fragment in fragments],
        "places": [fragment.namespace_id for fragment in fragments],
        "ranks": [fragment.authority for fragment in fragments],
        "texts": [fragment.content for fragment in fragments],
        "said": [said_at.get(fragment.id) for fragment in fragments],
    }
    return dict(fetch(ON_TEXTS, given))


def withdraw(conflict_ids: Collection[uuid.UUID], project_id: uuid.UUID) -> None:
    """Take the rulings of a decision away; what they had replaced is in force again."""
    gone = Ruling.objects.within(project_id).filter(conflict__in=conflict_ids)
    ids = list(gone.values_list("id", flat=True))
    Ruling.objects.within(project_id).filter(replaced_by__in=ids).update(replaced_by=None)
    gone.delete()


def refuse_weaker(principal: Principal, rulings: Iterable[tuple[int, uuid.UUID | None]]) -> None:
    """Raise NotPermitted unless each ruling (authority, whose) is one's own, or of no higher a ceiling."""
    for authority, decided_by in rulings:
        if authority > rank_of(principal) and decided_by != principal.owner_id:
            raise NotPermitted("a reviewer with a higher ceiling ruled on this")


def count_repeats(project_id: uuid.UUID, ids: Iterable[uuid.UUID | None], *, now: datetime.datetime) -> None:
    """Count what was said again although a ruling had ruled it out."""
    for ruling_id in sorted(filter(None, ids)):
        row = Ruling.objects.within(project_id).filter(id=ruling_id)
        row.update(repeats=F("repeats") + 1, repeated_at=now)


def protection(project_id: uuid.UUID, fragment_id: uuid.UUID) -> int:
    """Return the authority of the strongest ruling that chose this memory or what it claims; 0 without one."""
    rows = Ruling.objects.within(project_id).in_force().filter(chosen_fragments__contains=[fragment_id])
    return int(rows.aggregate(rank=Max("authority"))["rank"] or 0)


def binding_on(rows: Sequence[PendingConflict]) -> dict[uuid.UUID, Ruling]:
    """By conflict that waits, the ruling that it opens again: the last one on its key or memory that chose a value."""
    if not rows:
        return {}
    keys = Q(key_digest__in={bytes(row.key_digest) for row in rows if row.key_digest})
    about = keys | Q(fragment__in={row.existing_id for row in rows if row.existing_id})
    found = (
        Ruling.objects.within(rows[0].project_id)
        .in_force()
        .filter(about)
        .select_related("namespace")
        .order_by("decided_at", "id")
    )
    bound: dict[uuid.UUID, Ruling] = {}
    for ruling in found:
        for row in rows:
            same = ruling.namespace_id == row.namespace_id and ruling.session_id == row.session_id
            on_key = row.key_digest and bytes(ruling.key_digest) == bytes(row.key_digest) and same
            if (on_key and ruling.chosen) or (row.existing_id and ruling.fragment_id == row.existing_id):
                bound[row.id] = ruling
    return bound


def held_when_challenged(row: PendingConflict) -> bool:
    """Return whether a person had chosen what a conflict challenges before its newcomer came."""
    chose = Q(chosen_fragments__contains=[row.existing_id])
    if row.old_claim:
        values = [bytes(row.old_claim.value_digest).hex()]
        chose |= Q(namespace=row.namespace_id, key_digest=row.old_claim.key_digest, chosen__contains=values)
    return bool(
        row.existing_id
        and row.newcomer
        and Ruling.objects.within(row.project_id).filter(chose, decided_at__lte=row.newcomer.created_at).exists()
    )


def with_words(principal: Principal, rows: Sequence[Any]) -> list[Any]:
    """The rulings with what they say and who decided at hand, in a fixed number of queries. Inside `access.enter`."""
    values = _values(principal.project_id, rows)
    names = names_of_deciders(principal.project_id, rows)
    for row in rows:
        row.by = names.get(row.decided_by)
        key = bytes(row.key_digest)
        row.said_chosen = [_statement_of(i, values, key, row.chosen) for i in row.chosen_fragments]
        row.said_ruled_out = [_statement_of(i, values, key, row.ruled_out) for i in row.ruled_out_fragments]
    return list(rows)


def names_of_deciders(project_id: uuid.UUID, rulings: Iterable[Ruling]) -> dict[uuid.UUID, str]:
    """Return who decided, by owner id."""
    ids = {row.decided_by for row in rulings if row.decided_by}
    owners = Owner.objects.within(project_id).filter(id__in=ids) if ids else ()
    return {owner.id: owner.name.removeprefix("user:") for owner in owners}


def _statement_of(
    fragment_id: uuid.UUID, words_by_fragment: Mapping[uuid.UUID, "_Words"], key: bytes, values: Sequence[str]
) -> dict[str, Any]:
    """What a memory says of the key of a ruling: of several claims the one that the ruling names, else the text."""
    words = words_by_fragment.get(fragment_id)
    return {"fragment_id": fragment_id, "value": words and words.of(key, values)}


@dataclass(frozen=True, slots=True)
class _Words:
    """What a memory says."""

    content: str
    claims: Sequence[Claim]

    def of(self, key: bytes, values: Sequence[str]) -> str:
        on_key = [claim for claim in self.claims if bytes(claim.key_digest) == key]
        named = [claim for claim in on_key if bytes(claim.value_digest).hex() in values]
        return next((str(claim.value) for claim in (*named, *on_key, *self.claims)), self.content)


def _values(project_id: uuid.UUID, rulings: Iterable[Ruling]) -> dict[uuid.UUID, _Words]:
    """Return what the memories that rulings name say. What was forgotten is left out."""
    ids = {i for row in rulings for i in (*row.chosen_fragments, *row.ruled_out_fragments)}
    rows = Fragment.objects.within(project_id).filter(id__in=ids).values_list("id", "content") if ids else ()
    claims = Claim.objects.by_fragment(project_id, ids) if ids else {}
    return {i: _Words(content, claims.get(i, [])) for i, content in rows}


def forget(project_id: uuid.UUID, fragment_ids: Sequence[uuid.UUID]) -> None:
    """No word of what is forgotten stays in a ruling about it."""
    conditions = Q(chosen_fragments__overlap=fragment_ids) | Q(ruled_out_fragments__overlap=fragment_ids)
    conditions |= Q(fragment__in=fragment_ids)
    Ruling.objects.within(project_id).filter(conditions).exclude(note="").update(note="")


def ruled_on(principal: Principal, fragment_ids: Collection[uuid.UUID]) -> dict[uuid.UUID, Ruling]:
    """Return by memory, the last ruling in force that chose it or ruled it out. Inside `access.enter`."""
    named = list(fragment_ids)
    conditions = Q(chosen_fragments__overlap=named) | Q(ruled_out_fragments__overlap=named) | Q(fragment__in=named)
    rows = Ruling.objects.within(principal.project_id).in_force().filter(conditions).order_by("decided_at", "id")
    found: dict[uuid.UUID, Ruling] = {}
    for row in rows.filter(namespace__in=access.readable_scopes(principal)):
        for about in {*row.chosen_fragments, *row.ruled_out_fragments, row.fragment_id} & set(named):
            found[about] = row
    return found


def rulings(
    principal: Principal, *, namespace: str | None = None, subject: str | None = None, predicate: str | None = None
) -> Any:
    """Return the rulings in force that the principal may read, narrowed down; keys in any spelling. Raise NotFound."""
    rows = Ruling.objects.within(principal.project_id).in_force()
    about = {"namespace": namespace, "subject": subject, "predicate": predicate}
    found = narrowed(rows, principal, **about, places=access.believed_scopes(principal, namespace))
    return found.select_related("namespace").annotate(created_at=F("decided_at"))


def narrowed(
    rows: Any,
    principal: Principal,
    *,
    namespace: str | None,
    subject: str | None,
    predicate: str | None,
    places: Sequence[Namespace] | None = None,
) -> Any:
    """Return those that the request looks at, or of these places, of a subject and a predicate, in any spelling.

    Each namespace has rules, hence names, of its own. Raise NotFound.
    """
    within = access.readable_scopes(principal, [namespace] if namespace else None) if places is None else places
    rows = rows.filter(namespace__in=within)
    if subject is None and predicate is None:
        return rows
    scopes = access.requested_scopes(principal, namespace) if places is None else places
    names = naming(principal.project_id, [place.id for place in scopes])
    if subject is not None:
        rows = rows.filter(subject_digest__in={name.subject(subject) for name in names.values()})
    if predicate is not None:
        by_digest: dict[bytes, list[uuid.UUID]] = {}
        for namespace_id, name in names.items():
            by_digest.setdefault(name.predicate(predicate), []).append(namespace_id)
        matches = [Q(predicate_digest=digest, namespace__in=ids) for digest, ids in by_digest.items()]
        rows = rows.filter(reduce(or_, matches, Q(pk__in=[])))
    return rows


def of_conflicts(project_id: uuid.UUID, conflict_ids: Collection[uuid.UUID]) -> Mapping[uuid.UUID, Ruling]:
    """Return the rulings that decisions left, by conflict."""
    rows = Ruling.objects.within(project_id).filter(conflict__in=conflict_ids)
    return {row.conflict_id: row for row in rows}
