"""Rollback of belief: claims, votes, conflicts and rulings of some namespaces become what they were at a point in time.

What they were is read from row history, words from the revisions that kept them. The namespaces are held.
"""

import datetime
import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from conflicts.claim_wordings import Words, wordings, words_of_event
from conflicts.keys import digests_of, naming
from conflicts.models import PendingConflict, Predicate, Ruling
from memories.models import Claim, Fragment
from memories.models.claim import MOST_CLAIMS
from memories.models.claim import claim_id as claim_id_at
from memories.models.enums import ClaimScope
from memories.models.fragment import CONTAINED
from memories.models.history import events_of, stage_former
from memories.models.namespace import roots_of
from memories.models.sql import execute, fetch

CLAIM = (
    *("fragment_id", "key_digest", "value_digest", "exclusive", "scope", "slot", "valid_from", "valid_until"),
    "status",
)
DECISION = ("reason", "newcomer_id", "existing_id", "new_authority", "existing_authority")
OUTCOME = ("resolution", "resolved_by", "resolved_at")
RULING = (
    *("chosen", "ruled_out", "authority", "decided_by", "decided_at", "edited", "replaced_by_id", "conflict_id"),
    *("fragment_id", "valid_from", "valid_until"),
)
# A claim's own verdict may go with its memory's status, which history does not tell of the claim.
OF_CHANGED = """
    SELECT c.id FROM memories_claim c JOIN former_fragment f ON f.id = c.fragment_id
    WHERE c.project_id = %(project)s"""
# Of a memory that becomes what it was: `former_fragment` has all that changed, `kept_fragment` those that are let be.
NOT_KEPT = "NOT EXISTS (SELECT FROM kept_fragment k WHERE k.id = {fragment})"
SAME_WORDS = "(c.key_digest, c.value_digest) = (t.key_digest, t.value_digest)"
# Of a claim among several who took its place: what came to stand on its key in the transaction in which it fell.
SUCCESSOR = """
    CASE WHEN t.status = 'superseded' AND EXISTS (SELECT FROM memories_claim o
        WHERE o.project_id = f.project_id AND o.fragment_id = f.id AND o.id <> t.id)
    THEN coalesce((
        SELECT w.fragment_id FROM memories_claimevent e JOIN memories_claimevent w ON w.project_id = e.project_id
            AND w.recorded_in = e.recorded_in AND w.key_digest = e.key_digest AND w.fragment_id <> e.fragment_id
        WHERE e.project_id = f.project_id AND e.pgh_id = t.event AND w.status IN ('active', 'disputed')
        ORDER BY w.pgh_id DESC LIMIT 1), (
        SELECT o.superseded_by_id FROM memories_claim o WHERE o.project_id = f.project_id AND o.id = t.id
            AND NOT EXISTS (SELECT FROM former_fragment n WHERE n.id = o.superseded_by_id AND NOT n.was_there)))
    END"""
# Rules of predicates stay as they are: where one changed since, claims follow it.
EXCLUSIVE, SLOT = (f"CASE WHEN %(rules)s THEN c.{name} ELSE t.{name} END" for name in ("exclusive", "slot"))
# A verdict is a claim's own where it stood otherwise than its fragment.
CLAIMS_AS_THEY_WERE = f"""
    UPDATE memories_claim c SET exclusive = {EXCLUSIVE}, slot = {SLOT}, valid_from = t.valid_from,
        valid_until = t.valid_until, verdict = t.verdict, scope = t.scope,
        superseded_by_id = t.successor
    FROM (
        SELECT t.*, CASE WHEN t.status <> f.status AND t.status IN ('quarantined', 'superseded', 'archived')
            THEN t.status ELSE '' END AS verdict, {SUCCESSOR} AS successor
        FROM former_claim t JOIN memories_fragment f ON f.project_id = %(project)s AND f.id = t.fragment_id
        WHERE t.was_there AND {NOT_KEPT.format(fragment="t.fragment_id")}) AS t
    WHERE c.project_id = %(project)s AND c.id = t.id AND {SAME_WORDS}
        AND (t.successor IS NULL OR EXISTS (  -- whom something replaced that was forgotten or is contained is let be
            SELECT FROM memories_fragment s WHERE s.project_id = %(project)s AND s.id = t.successor
                AND s.archived_reason <> '{CONTAINED}'))
        AND (t.scope = 'session') = (c.scope = 'session')  -- whose session it was history does not tell
        AND (c.exclusive, c.slot, c.valid_from, c.valid_until, c.verdict, c.scope, c.superseded_by_id)
            IS DISTINCT FROM ({EXCLUSIVE}, {SLOT}, t.valid_from, t.valid_until, t.verdict, t.scope, t.successor)
    RETURNING c.fragment_id"""
# Claims that said something else, or are gone; and those that were not there, of memories that were.
REWORDED = f"""
    SELECT t.fragment_id, t.id, t.event FROM former_claim t
    JOIN memories_fragment f ON f.project_id = %(project)s AND f.id = t.fragment_id
    LEFT JOIN memories_claim c ON c.project_id = %(project)s AND c.id = t.id
    WHERE t.was_there AND {NOT_KEPT.format(fragment="t.fragment_id")} AND {SAME_WORDS} IS NOT TRUE
    ORDER BY t.fragment_id, t.id"""
ADDED_CLAIMS = f"""
    DELETE FROM memories_claim c USING former_claim t
    WHERE c.project_id = %(project)s AND c.id = t.id AND NOT t.was_there AND {NOT_KEPT.format(fragment="c.fragment_id")}
        AND NOT EXISTS (SELECT FROM former_fragment f WHERE f.id = c.fragment_id AND NOT f.was_there)
    RETURNING c.fragment_id"""
CAST_SINCE = f"""
    DELETE FROM conflicts_vote v USING memories_fragment f
    WHERE v.project_id = %(project)s AND v.created_at > %(at)s AND f.project_id = v.project_id
        AND f.id = v.fragment_id AND f.namespace_id = ANY (%(namespaces)s)
        AND {NOT_KEPT.format(fragment="f.id")}
        AND NOT EXISTS (SELECT FROM former_fragment t WHERE t.id = f.id AND NOT t.was_there)
    RETURNING v.fragment_id"""
# Votes that a change of the words let count no more count again where as many counted then; the former words are back.
COUNT_AGAIN = f"""
    UPDATE conflicts_vote v SET counted = true FROM former_fragment t
    WHERE v.project_id = %(project)s AND v.fragment_id = t.id AND t.was_there AND NOT v.counted
        AND v.ballot IN ('reinforce', 'corroborate') AND {NOT_KEPT.format(fragment="t.id")}
        AND (SELECT count(*) FROM conflicts_vote a WHERE a.project_id = v.project_id AND a.fragment_id = v.fragment_id
            AND a.ballot = v.ballot) = CASE v.ballot WHEN 'reinforce' THEN t.reinforcements ELSE t.corroboration - 1 END
        AND NOT EXISTS (SELECT FROM memories_containment c WHERE c.project_id = v.project_id AND c.undone_at IS NULL
            AND jsonb_exists(c.journal -> 'votes', v.id::text))
    RETURNING v.fragment_id"""
COUNTED = """
    UPDATE memories_fragment f SET reinforcements = n.reinforced, disputes = n.disputed,
        corroboration = 1 + n.corroborated
    FROM (
        SELECT i.id, count(*) FILTER (WHERE v.ballot = 'reinforce') AS reinforced,
            count(*) FILTER (WHERE v.ballot = 'dispute') AS disputed,
            count(*) FILTER (WHERE v.ballot = 'corroborate') AS corroborated
        FROM unnest(%(ids)s::uuid[]) AS i (id)
        LEFT JOIN conflicts_vote v ON v.project_id = %(project)s AND v.fragment_id = i.id AND v.counted
        GROUP BY i.id) AS n
    WHERE f.project_id = %(project)s AND f.id = n.id"""
# What is about a memory that is let be, or is gone, is let be too.
ABOUT = f"""{NOT_KEPT.format(fragment="p.newcomer_id")} AND {NOT_KEPT.format(fragment="p.existing_id")}"""
OPENED_SINCE = f"""
    UPDATE conflicts_pendingconflict p SET resolution = 'obsolete', resolved_at = %(now)s, resolved_by = NULL,
        keep = '', note = '', before = NULL, revision = p.revision + 1
    FROM former_conflict t
    WHERE p.project_id = %(project)s AND p.id = t.id AND NOT t.was_there AND p.resolution <> 'obsolete' AND {ABOUT}
    RETURNING p.id"""
THERE = """(t.{side} IS NULL OR EXISTS (
    SELECT FROM memories_fragment f WHERE f.project_id = %(project)s AND f.id = t.{side}))"""
DECIDED_AS_THEN = (
    "(p.resolution, p.resolved_by, p.resolved_at) IS NOT DISTINCT FROM (t.resolution, t.resolved_by, t.resolved_at)"
)
FACED_AS_THEN = "p.existing_id IS NOT DISTINCT FROM t.existing_id"
AS_THEN = f"""{ABOUT} AND {THERE.format(side="newcomer_id")} AND {THERE.format(side="existing_id")}
    AND NOT ({DECIDED_AS_THEN} AND {FACED_AS_THEN} AND p.newcomer_id IS NOT DISTINCT FROM t.newcomer_id)"""
# Two that exchange their opponents would be the same for a moment, which may not be.
SET_DOWN = f"""
    UPDATE conflicts_pendingconflict p SET resolution = 'obsolete', resolved_at = %(now)s FROM former_conflict t
    WHERE p.project_id = %(project)s AND p.id = t.id AND t.was_there AND p.resolved_at IS NULL AND {AS_THEN}"""
CONFLICTS_AS_THEY_WERE = f"""
    UPDATE conflicts_pendingconflict p SET reason = t.reason, newcomer_id = t.newcomer_id, existing_id = t.existing_id,
        new_authority = t.new_authority, existing_authority = t.existing_authority,
        existing_claim = CASE WHEN {FACED_AS_THEN} THEN p.existing_claim ELSE (
            SELECT c.id FROM memories_claim c WHERE c.project_id = p.project_id AND c.fragment_id = t.existing_id
            ORDER BY c.key_digest <> p.key_digest, c.position LIMIT 1) END,
        resolution = t.resolution, resolved_by = t.resolved_by, resolved_at = t.resolved_at,
        keep = CASE WHEN {DECIDED_AS_THEN} THEN p.keep ELSE '' END,
        note = CASE WHEN {DECIDED_AS_THEN} THEN p.note ELSE '' END,
        before = CASE WHEN {DECIDED_AS_THEN} THEN p.before END, revision = p.revision + 1
    FROM former_conflict t
    WHERE p.project_id = %(project)s AND p.id = t.id AND t.was_there AND {AS_THEN}
    RETURNING p.id, t.resolution = ''"""
# A ruling's former columns are kept with a memory that it is about, and are forgotten with that.
WITNESS = """
    SELECT f.id FROM memories_fragment f
    LEFT JOIN conflicts_pendingconflict p ON p.project_id = r.project_id AND p.id = r.conflict_id
    WHERE f.project_id = r.project_id AND f.id = ANY (
        r.chosen_fragments || r.ruled_out_fragments || ARRAY[r.fragment_id, p.newcomer_id, p.existing_id])
    ORDER BY f.id LIMIT 1"""
LOGGED = f"""
    INSERT INTO memories_runchange (id, project_id, operation_id, fragment_id, place, row_id, before, after)
    SELECT gen_random_uuid(), r.project_id, %(operation)s, w.id, 'conflicts_ruling', r.id, {{before}}, ''
    FROM conflicts_ruling r JOIN former_ruling t ON t.id = r.id AND {{which}}
    CROSS JOIN LATERAL ({WITNESS}) AS w
    WHERE r.project_id = %(project)s
    RETURNING row_id"""
RULED = ("chosen", "ruled_out", "valid_from", "valid_until", "replaced_by_id")
OTHERWISE = "t.was_there AND ({}) IS DISTINCT FROM ({})".format(
    ", ".join(f"r.{name}" for name in RULED), ", ".join(f"t.{name}" for name in RULED)
)
RULINGS_AS_THEY_WERE = f"""
    UPDATE conflicts_ruling r SET {", ".join(f"{name} = t.{name}" for name in RULED)}
    FROM former_ruling t WHERE r.project_id = %(project)s AND r.id = t.id AND r.id = ANY (%(ids)s)"""
# Taken back since: by its conflict it is known what it was on.
RULED_AGAIN = """
    INSERT INTO conflicts_ruling (id, project_id, namespace_id, conflict_id, fragment_id, subject_digest,
        predicate_digest, key_digest, scope, session_id, valid_from, valid_until, chosen, ruled_out, chosen_fragments,
        ruled_out_fragments, authority, decided_by, decided_at, note, edited, repeats, replaced_by_id)
    SELECT t.id, p.project_id, p.namespace_id, p.id, t.fragment_id, p.subject_digest, p.predicate_digest,
        p.key_digest, p.scope, p.session_id, t.valid_from, t.valid_until, t.chosen, t.ruled_out,
        {chosen}, {ruled_out}, t.authority, t.decided_by, t.decided_at, '', t.edited, 0,
        (SELECT o.id FROM conflicts_ruling o WHERE o.project_id = p.project_id AND o.id = t.replaced_by_id)
    FROM former_ruling t JOIN conflicts_pendingconflict p ON p.project_id = %(project)s AND p.id = t.conflict_id
    WHERE t.was_there AND NOT EXISTS (SELECT FROM conflicts_ruling r WHERE r.project_id = %(project)s AND r.id = t.id)
        AND {there}
    RETURNING id, (SELECT f.id FROM memories_fragment f WHERE f.project_id = conflicts_ruling.project_id
        AND f.id = ANY (chosen_fragments || ruled_out_fragments || fragment_id) ORDER BY f.id LIMIT 1)""".format(
    there=THERE.format(side="fragment_id"),
    **{
        side: f"""ARRAY(SELECT c.fragment_id FROM memories_claim c WHERE c.project_id = p.project_id
            AND c.fragment_id IN (p.newcomer_id, p.existing_id) AND c.key_digest = p.key_digest
            AND encode(c.value_digest, 'hex') = ANY (t.{side}) GROUP BY 1 ORDER BY c.fragment_id <> p.newcomer_id, 1)"""
        for side in ("chosen", "ruled_out")
    },
)
AGAIN_LOGGED = """
    INSERT INTO memories_runchange (id, project_id, operation_id, fragment_id, place, row_id, before, after)
    SELECT gen_random_uuid(), %(project)s, %(operation)s, t.about, 'conflicts_ruling', t.id, NULL, ''
    FROM unnest(%(ids)s::uuid[], %(about)s::uuid[]) AS t (id, about) WHERE t.about IS NOT NULL"""


@dataclass(slots=True)
class BeliefRollback:
    """What a rollback changed of belief: memories by what changed of them, conflicts and rulings."""

    claims: set[uuid.UUID] = field(default_factory=set)
    votes: set[uuid.UUID] = field(default_factory=set)
    reopened: set[uuid.UUID] = field(default_factory=set)
    closed: set[uuid.UUID] = field(default_factory=set)
    withdrawn: set[uuid.UUID] = field(default_factory=set)
    ruled_again: set[uuid.UUID] = field(default_factory=set)
    # Memories of which nobody kept what they claimed.
    words_lost: set[uuid.UUID] = field(default_factory=set)


def stage_belief(project_id: uuid.UUID, namespace_ids: Sequence[uuid.UUID], at: datetime.datetime) -> None:
    """Read how claims, conflicts and rulings stood, once memories are read, into temporary tables."""
    stage = partial(stage_former, project_id=project_id, namespace_ids=namespace_ids, at=at)
    stage(Claim, "claim", CLAIM, also=OF_CHANGED)
    stage(PendingConflict, "conflict", (*DECISION, *OUTCOME))
    stage(Ruling, "ruling", RULING)


def roll_back_belief(
    project_id: uuid.UUID,
    namespace_ids: Sequence[uuid.UUID],
    *,
    at: datetime.datetime,
    operation_id: uuid.UUID,
    now: datetime.datetime,
) -> BeliefRollback:
    """Let belief be as it was staged, for memories that have their former status already.

    `former_fragment` and `kept_fragment` are staged, too: what changed, and what is let be.
    """
    values: dict[str, Any] = {"project": project_id, "namespaces": list(namespace_ids), "at": at, "now": now}
    values |= {"operation": operation_id, "rules": _rules_changed(project_id, namespace_ids, at)}
    done = BeliefRollback()
    done.votes = {i for (i,) in fetch(CAST_SINCE, values)}
    done.votes |= {i for (i,) in fetch(COUNT_AGAIN, values)}
    execute(COUNTED, {**values, "ids": list(done.votes)})
    done.claims = {i for (i,) in fetch(ADDED_CLAIMS, values)}
    _reword(project_id, done, rules=bool(values["rules"]))
    done.claims |= {i for (i,) in fetch(CLAIMS_AS_THEY_WERE, values)}
    done.closed = {i for (i,) in fetch(OPENED_SINCE, values)}
    execute(SET_DOWN, values)
    for conflict_id, waits in fetch(CONFLICTS_AS_THEY_WERE, values):
        (done.reopened if waits else done.closed).add(conflict_id)
    _rule_as_then(values, done)
    return done


def _rule_as_then(values: Mapping[str, Any], done: BeliefRollback) -> None:
    former = "jsonb_build_object({})".format(", ".join(f"'{name}', r.{name}" for name in RULED))
    changed = [i for (i,) in fetch(LOGGED.format(before=former, which=OTHERWISE), values)]
    execute(RULINGS_AS_THEY_WERE, {**values, "ids": changed})
    made = fetch(LOGGED.format(before="to_jsonb(r)", which="NOT t.was_there"), values)
    done.withdrawn = {i for (i,) in made}
    Ruling.objects.within(values["project"]).filter(id__in=done.withdrawn).delete()
    again = fetch(RULED_AGAIN, values)
    execute(AGAIN_LOGGED, {**values, "ids": [i for i, _ in again], "about": [about for _, about in again]})
    done.ruled_again = {i for i, _ in again} | set(changed)


def _rules_changed(project_id: uuid.UUID, namespace_ids: Sequence[uuid.UUID], at: datetime.datetime) -> bool:
    """Return whether a rule of a predicate that holds in these namespaces changed since."""
    roots = set(roots_of(project_id, namespace_ids).values())
    events = events_of(Predicate).objects.filter(project=project_id, namespace__in=roots, pgh_created_at__gt=at)
    return bool(events.exists())


def _reword(project_id: uuid.UUID, done: BeliefRollback, *, rules: bool) -> None:
    """Give claims the words back that they had."""
    rows = fetch(REWORDED, {"project": project_id})
    if not rows:
        return
    fragments = list(Fragment.objects.within(project_id).filter(id__in={row[0] for row in rows}))
    names = naming(project_id, {fragment.namespace_id for fragment in fragments})
    words = wordings(project_id, fragments, names)
    events = events_of(Claim).objects.filter(project=project_id).in_bulk([event for *_, event in rows])
    by_id = {fragment.id: fragment for fragment in fragments}
    here = Claim.objects.in_bulk([claim_id for _, claim_id, _ in rows])
    by_place = defaultdict(list)
    for fragment_id, claim_id, event_id in rows:
        said = words_of_event(events[event_id], words[fragment_id])
        # History does not tell whose session it was.
        unnamed = ClaimScope.SESSION in (events[event_id].scope, here[claim_id].scope if claim_id in here else "")
        if unnamed or said is None or said.value_digest != bytes(events[event_id].value_digest):
            done.words_lost.add(fragment_id)
            continue
        by_place[by_id[fragment_id].namespace_id].append((fragment_id, claim_id, events[event_id], said))
    for place, found in by_place.items():
        digests = digests_of(project_id, place, [(s.subject, s.predicate, s.value) for *_, s in found])
        for (fragment_id, claim_id, event, said), given in zip(found, digests, strict=True):
            claim = here.get(claim_id) or _claim(by_id[fragment_id], claim_id, event)
            _say(claim, said, given)
            if not (rules and claim_id in here):
                claim.exclusive, claim.slot = event.exclusive, event.slot
            claim.valid_from, claim.valid_until = event.valid_from, event.valid_until
            claim.save(force_insert=claim_id not in here)
            done.claims.add(fragment_id)


def _claim(fragment: Fragment, claim_id: uuid.UUID, event: Any) -> Claim:
    """Return a claim that is gone, to be worded."""
    place = next(n for n in range(MOST_CLAIMS) if claim_id_at(fragment.id, n) == claim_id)
    return Claim(
        id=claim_id,
        position=place,
        fragment=fragment,
        project_id=fragment.project_id,
        namespace_id=fragment.namespace_id,
        scope=event.scope,
        authority=event.authority,
        status=event.status,
    )


def _say(claim: Claim, said: Words, digests: tuple[bytes, bytes, bytes, bytes]) -> None:
    claim.subject, claim.predicate, claim.value = said.subject, said.predicate, said.value
    claim.subject_digest, claim.predicate_digest, claim.key_digest, claim.value_digest = digests
    claim.span_start, claim.span_end = None, None
