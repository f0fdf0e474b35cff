"""Conflict check: what comes back and would oppose what is believed here passes the gate, at its original authority."""

import datetime
import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import Any

from conflicts.public import Admission, ClaimDraft, Disputed, Newcomer, admissible_unchanged, readmit
from memories.backups.restoration.auxiliary_tables import KEPT
from memories.backups.restoration.insertion import NEWER
from memories.extraction import certain_claims
from memories.models import Claim, Fragment
from memories.models.enums import Status
from memories.models.sql import execute, fetch

STANDING = "('active', 'disputed')"
COMING = f"""FROM staged_fragment s JOIN staged_verdict v ON v.id = s.id AND v.verdict IN ({NEWER})
    LEFT JOIN staged_claim c ON c.fragment_id = s.id LEFT JOIN staged_digest d ON d.claim_id = c.id
    WHERE s.namespace_id = %(there)s AND s.status IN {STANDING}"""
CLAIMED = (
    *("position", "subject", "predicate", "value", "exclusive", "scope", "session_id", "slot", "valid_from"),
    *("valid_until", "authority", "verdict", "superseded_by_id", "span_start", "span_end"),
)
DIGESTS = ("subject_digest", "predicate_digest", "key_digest", "value_digest")
# Two of the bundle's own that could not both stand: no honest one holds such a pair.
AT_ODDS = f"""SELECT DISTINCT one.fragment_id FROM staged_claim one
    JOIN staged_digest d ON d.claim_id = one.id
    JOIN staged_digest e ON e.key_digest = d.key_digest AND e.claim_id <> d.claim_id
    JOIN staged_claim two ON two.id = e.claim_id AND two.namespace_id = one.namespace_id
        AND two.session_id = one.session_id AND two.slot = one.slot
        AND tstzrange(two.valid_from, two.valid_until) && tstzrange(one.valid_from, one.valid_until)
    WHERE one.namespace_id = %(there)s AND one.exclusive AND two.exclusive
        AND one.status IN {STANDING} AND two.status IN {STANDING}"""

# What stands here, and yields in the bundle to somebody whose claim of the key, or whose text, is weaker.
OVERRULED = f"""UPDATE staged_verdict v SET verdict = 'skipped_stale', reason = 'stronger'
    FROM memories_claim c, staged_claim s JOIN staged_digest d ON d.claim_id = s.id
        JOIN staged_fragment f ON f.id = s.fragment_id
        JOIN staged_fragment w ON w.id = coalesce(s.superseded_by_id, f.superseded_by_id)
    WHERE v.verdict = 'update' AND v.id = f.id AND f.namespace_id = %(there)s AND s.status NOT IN {STANDING}
        AND c.project_id = %(project)s AND c.namespace_id = %(here)s AND c.fragment_id = f.id
        AND c.key_digest = d.key_digest AND c.status IN {STANDING}
        AND c.authority > coalesce((SELECT max(o.authority) FROM staged_claim o
            JOIN staged_digest e ON e.claim_id = o.id WHERE o.fragment_id = w.id AND e.key_digest = d.key_digest),
            w.authority)
        AND NOT EXISTS (SELECT FROM conflicts_ruling r WHERE r.project_id = c.project_id
            AND r.namespace_id = c.namespace_id AND r.replaced_by_id IS NULL AND w.id = ANY (r.chosen_fragments))
        AND NOT EXISTS (SELECT FROM staged_ruling r WHERE w.id = ANY (r.chosen_fragments) AND {KEPT.format("r")})"""
REPLACED = "s.kind = 'supersedes' AND v.id = s.other_id AND v.reason = 'stronger'"


@dataclass(frozen=True, slots=True)
class Contested:
    """One that has to be heard, and the status that it comes with."""

    newcomer: Newcomer
    status: str


def find_contested(
    project_id: uuid.UUID, *, there: uuid.UUID, here: uuid.UUID, now: datetime.datetime
) -> dict[uuid.UUID, Contested]:
    """Return which staged fragments may not simply stand again, in the order of their birth.

    The caller holds the namespace. Those that are to be replaced by newer versions lie in the archive afterwards.
    """
    values = {"project": project_id, "there": there, "here": here}
    at_odds = {row[0] for row in fetch(AT_ODDS, values)}
    if not _anybody_stands(values):
        coming = _load_newcomers(values) if at_odds else []
        return {one.fragment.id: Contested(one, one.fragment.status) for one, _ in coming if one.fragment.id in at_odds}
    execute(
        f"""UPDATE memories_fragment f SET status = 'archived' FROM staged_verdict v
            WHERE f.project_id = %(project)s AND f.id = v.id AND v.verdict = 'update' AND f.status IN {STANDING}""",
        values,
    )
    coming = _load_newcomers(values)
    contested = {one.fragment.id: Contested(one, one.fragment.status) for one, _ in coming}
    agreed = admissible_unchanged(coming, now=now) - at_odds  # which notes what the gate would make of them
    return {which: each for which, each in contested.items() if which not in agreed}


def keep_stronger(project_id: uuid.UUID, *, there: uuid.UUID, here: uuid.UUID) -> int:
    """Let stand what a weaker memory of the bundle would replace by no ruling, neither here nor there; how many.

    The weaker one passes the gate then.
    """
    kept = execute(OVERRULED, {"project": project_id, "there": there, "here": here})
    if kept:
        execute(f"DELETE FROM staged_links s USING staged_verdict v WHERE {REPLACED}", {})
    return kept


def _anybody_stands(values: Mapping[str, Any]) -> bool:
    """Return whether a claim stands here that does not itself come from the bundle, or is replaced by it."""
    ((found,),) = fetch(
        f"""SELECT EXISTS (SELECT FROM memories_claim c
            LEFT JOIN staged_verdict v ON v.id = c.fragment_id AND v.verdict = 'update'
            WHERE c.project_id = %(project)s AND c.namespace_id = %(here)s AND c.status IN {STANDING}
                AND v.id IS NULL)""",
        values,
    )
    return bool(found)


def _load_newcomers(values: Mapping[str, Any]) -> list[tuple[Newcomer, Sequence[Claim]]]:
    own = ("id", "content", "extra", "compression", "authority", "status", "source", "owner_id", "created_at")
    names = [*(f"s.{name}" for name in own), *(f"c.{name}" for name in CLAIMED), *(f"d.{name}" for name in DIGESTS)]
    rows = fetch(f"SELECT {', '.join(names)} {COMING} ORDER BY s.created_at, s.id, c.position", values)
    found: list[tuple[Newcomer, Sequence[Claim]]] = []
    for _, group in groupby(rows, key=itemgetter(0)):
        group_rows = list(group)
        place = {"project_id": values["project"], "namespace_id": values["here"]}
        fragment = Fragment(**place, **dict(zip(own, group_rows[0], strict=False)))
        fragment.extra = json.loads(fragment.extra)
        claimed = [dict(zip((*CLAIMED, *DIGESTS), row[len(own) :], strict=True)) for row in group_rows]
        claims = [
            Claim(fragment=fragment, status=fragment.status, **place, **c) for c in claimed if c["subject"] is not None
        ]
        drafts = [ClaimDraft.of(claim) for claim in claims]
        found.append((Newcomer(fragment, None, drafts, certain_claims(fragment.content, fragment.extra)), claims))
    return found


def admit_contested(
    project_id: uuid.UUID, waiting: Mapping[uuid.UUID, Contested], *, now: datetime.datetime
) -> dict[str, int]:
    """Let each pass the gate; what became of them, by status. They lie in the archive so far."""
    counts: dict[str, int] = {}
    for fragment_id, each in waiting.items():
        rows = Fragment.objects.within(project_id).select_for_update(of=("self",))
        fragment = rows.filter(id=fragment_id).first()
        if fragment is None:
            continue
        fragment.updated_at = now
        admission = _admit(replace(each.newcomer, fragment=fragment), status=each.status, now=now)
        counts[str(admission.fragment.status)] = counts.get(str(admission.fragment.status), 0) + 1
    return counts


def _admit(newcomer: Newcomer, *, status: str, now: datetime.datetime) -> Admission:
    try:
        return readmit(newcomer, now=now, returning=True, at_best=Status(status))
    except Disputed:  # it replaces nothing; in the archive it can be read
        newcomer.fragment.refresh_from_db()
        return Admission(newcomer.fragment)
