"""Free text: what free texts say against standing claims without naming them as claims (docs/spec.md §4.4).

The claims that a text may speak of are found by their keys, in one statement for all texts of a transaction; whether
it contradicts them is for `contradictions` to say.
"""

import datetime
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.db.models import Q

from conflicts.authority import USER_RANK
from conflicts.claim_drafts import ClaimDraft, Statement
from conflicts.free_text.contradictions import (
    Contrary,
    Standing,
    agrees,
    cues_of,
    find_contradiction,
    find_difference,
    read,
)
from conflicts.free_text.cues import CUES
from conflicts.free_text.mentions import mentions_of
from conflicts.free_text.own_words import is_said_plainly, said_of_own
from conflicts.free_text.passages import Passage, stems_of
from conflicts.gate import Period
from conflicts.keys import Naming, naming
from conflicts.models import Ruling
from memories.models import Claim, Fragment
from memories.models.enums import MATERIAL, STANDING, SourceClass

AT_ONCE = 20_000  # keys asked for in one statement
# Up to so many texts the keys of which they speak are looked up, hundreds for each; of more texts the claims are held
# against what they speak of, as long as these are no more than can be read at once.
FEW_TEXTS, AT_HAND = 10, 5_000
LONGEST_VALUE = 1000


@dataclass(frozen=True, slots=True)
class Shadow:
    """What a text was found to say: statements against what stands, and the claim by which an owner changes one."""

    statements: tuple[Statement, ...] = ()
    claim: ClaimDraft | None = None
    # The keys of stronger claims that it does not surely contradict, whatever else was read in it.
    unsure: frozenset[bytes] = frozenset()
    # What it says where a ruling ruled values out, whoever stands there; only these may bar it.
    under_rulings: tuple[Statement, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether it replaces or takes back what stands."""
        return self.claim is not None or any(statement.retracts for statement in self.statements)


@dataclass(frozen=True, slots=True)
class ClaimedKeys:
    """The keys that are claimed in a namespace, and their predicates, so that texts are held against them."""

    names: Naming
    keys: set[bytes] = field(default_factory=set)
    predicates: set[str] = field(default_factory=set)

    def spoken_of(self, passages: Sequence[Passage]) -> set[bytes]:
        """Return those of which a text speaks."""
        return self.keys & mentions_of(passages, self.names, wanted=self.predicates).digests(salt=self.names.salt)


def claimed_keys(project_id: uuid.UUID, namings: Mapping[uuid.UUID, Naming]) -> Mapping[uuid.UUID, ClaimedKeys] | None:
    """Return the keys that are claimed in these namespaces; None where there are too many claims to read at once."""
    rows = Claim.objects.within(project_id).filter(namespace__in=namings, status__in=STANDING, session_id="")
    claims = rows.values_list("namespace_id", "predicate", "key_digest")[: AT_HAND + 1]
    if len(claims) > AT_HAND:
        return None
    found = {place: ClaimedKeys(names) for place, names in namings.items()}
    for place, predicate, key in claims:
        found[place].keys.add(bytes(key))
        found[place].predicates.add(namings[place].canonical(predicate))
    return found


def read_statements(
    fragments: Sequence[Fragment],
    namings: Mapping[uuid.UUID, Naming],
    *,
    beside: Sequence[Sequence[ClaimDraft]] = (),
    stated: Sequence[Sequence[Statement]] = (),
    claimed: set[uuid.UUID] | None = None,
    now: datetime.datetime,
) -> list[Shadow]:
    """Return what each text says against claims that are stronger, by a ruling too, or its owner's own and no stronger.

    One's own are changed only by what each text was read to state for certain (`stated`), said plainly, in the first
    person: what somebody pastes, quotes, plans or remarks is not their word. The claims `beside` each text tell of what
    its words leave open. `claimed` are the namespaces in which a claim stands, where that was read in this transaction.
    """
    project_id = fragments[0].project_id
    if claimed is None:
        claimed = Claim.objects.watched({f.namespace_id for f in fragments}, above=0)
    statements = [read(f.wording) if f.namespace_id in claimed else [] for f in fragments]
    keys = _keys_of(statements, fragments, namings, claimed)
    for fragment, spoken, told in zip(fragments, keys, stated, strict=False):
        if told and fragment.namespace_id in claimed and is_said_plainly(fragment.wording):
            names = namings[fragment.namespace_id]
            spoken.update(names.key(one.subject, one.predicate).both for one in told)
    found = _standing(project_id, claimed, sorted(set().union(*keys)), now=now)
    ruled, barred = _ruled(project_id, [claim for claims in found.values() for claim in claims])
    against = [
        [claim for key in keys_of_text for claim in found.get((fragment.namespace_id, key), ())]
        for fragment, keys_of_text in zip(fragments, keys, strict=True)
    ]
    nothing: Sequence[Any] = [()] * len(fragments)
    return [
        _shadow_of(fragment, passages, claims, namings, ruled=ruled, barred=barred, beside=drafts, stated=told)
        if claims
        else Shadow()
        for fragment, passages, claims, drafts, told in zip(
            fragments, statements, against, beside or nothing, stated or nothing, strict=True
        )
    ]


def contradicting(fragments: Sequence[Fragment], *, now: datetime.datetime) -> set[uuid.UUID]:
    """Return the ids of those whose text surely says otherwise than a stronger claim that stands by now."""
    if not fragments:
        return set()
    found = read_statements(fragments, naming(fragments[0].project_id, {f.namespace_id for f in fragments}), now=now)
    against = zip(fragments, found, strict=True)
    return {f.id for f, shadow in against if any(not statement.retracts for statement in shadow.statements)}


def speaking_of_claims(project_id: uuid.UUID, namespace_id: uuid.UUID) -> Callable[[str], bool]:
    """Return what tells whether a text speaks of anything that is claimed in a namespace now, or may."""
    keys = claimed_keys(project_id, naming(project_id, [namespace_id]))
    if keys is None:
        return lambda _: True
    here = keys[namespace_id]
    return lambda text: bool(here.keys) and bool(here.spoken_of(read(text)))  # where nothing is claimed, none is read


def words_of(claims: Sequence[Claim]) -> str:
    """Return a regular expression that finds the texts that may speak of the keys of these claims; empty for none."""
    names = naming(claims[0].project_id, {claim.namespace_id for claim in claims}) if claims else {}
    cues = {cue.stems[0] for c in claims for cue in cues_of(standing_of(c, names[c.namespace_id]))}
    return rf"\m({'|'.join(sorted(map(re.escape, cues)))})" if cues else ""


def _keys_of(
    statements: Sequence[Sequence[Passage]],
    fragments: Sequence[Fragment],
    namings: Mapping[uuid.UUID, Naming],
    claimed: set[uuid.UUID],
) -> list[set[bytes]]:
    """Return the digests of the keys of which each text speaks: of many texts only those that are claimed at all."""
    places = {f.namespace_id: namings[f.namespace_id] for f in fragments if f.namespace_id in claimed}
    many = bool(places) and len(fragments) > FEW_TEXTS
    at_hand = claimed_keys(fragments[0].project_id, places) if many else None

    def keys(passages: Sequence[Passage], place: uuid.UUID) -> set[bytes]:
        if not passages:
            return set()
        names = namings[place]
        return at_hand[place].spoken_of(passages) if at_hand else mentions_of(passages, names).digests(salt=names.salt)

    return [keys(passages, f.namespace_id) for passages, f in zip(statements, fragments, strict=True)]


def _standing(
    project_id: uuid.UUID, places: set[uuid.UUID], keys: Sequence[bytes], *, now: datetime.datetime
) -> dict[tuple[uuid.UUID, bytes], list[Claim]]:
    """Return the claims of everybody's sessions that hold now under these keys."""
    found: dict[tuple[uuid.UUID, bytes], list[Claim]] = {}
    rows = Claim.objects.within(project_id).filter(
        Q(valid_until=None) | Q(valid_until__gt=now),
        Q(valid_from=None) | Q(valid_from__lte=now),
        namespace__in=places,
        status__in=STANDING,
        session_id="",
    )
    for start in range(0, len(keys), AT_ONCE):
        for claim in rows.filter(key_digest__in=keys[start : start + AT_ONCE]).select_related("fragment"):
            found.setdefault((claim.namespace_id, bytes(claim.key_digest)), []).append(claim)
    return found


def _ruled(
    project_id: uuid.UUID, claims: Sequence[Claim]
) -> tuple[dict[uuid.UUID, int], dict[tuple[uuid.UUID, bytes], int]]:
    """Return the authority of the rulings that chose what these claims say, and of those that ruled a value out.

    By claim, and by key.
    """
    if not claims:
        return {}, {}
    rulings = Ruling.objects.within(project_id).in_force()
    chosen: dict[tuple[uuid.UUID, bytes, str], int] = {}
    barred: dict[tuple[uuid.UUID, bytes], int] = {}
    keys = {bytes(claim.key_digest) for claim in claims}
    places = {claim.namespace_id for claim in claims}
    for row in rulings.filter(namespace__in=places, key_digest__in=keys, session_id=""):
        for value in row.chosen:
            there = (row.namespace_id, bytes(row.key_digest), value)
            chosen[there] = max(row.authority, chosen.get(there, 0))
        if row.ruled_out:
            key = (row.namespace_id, bytes(row.key_digest))
            barred[key] = max(row.authority, barred.get(key, 0))
    values = {c.id: (c.namespace_id, bytes(c.key_digest), bytes(c.value_digest).hex()) for c in claims}
    return {claim_id: chosen[value] for claim_id, value in values.items() if value in chosen}, barred


def standing_of(claim: Claim, names: Naming) -> Standing:
    """Return a claim with what its predicate's rule says."""
    rule = names.rule(claim.predicate)
    return Standing(claim.subject, rule.name, claim.value, rule.normaliser, rule.aliases)


def _shadow_of(
    fragment: Fragment,
    passages: Sequence[Passage],
    claims: Sequence[Claim],
    namings: Mapping[uuid.UUID, Naming],
    *,
    ruled: Mapping[uuid.UUID, int],
    barred: Mapping[tuple[uuid.UUID, bytes], int],
    beside: Sequence[ClaimDraft],
    stated: Sequence[Statement],
) -> Shadow:
    statements, under_rulings, change, unsure = [], list[Statement](), None, set()
    plainly = is_said_plainly(fragment.wording) and not fragment.extra.get(MATERIAL)
    # The user's own words reach what was ruled, too: both are served until somebody decides.
    is_heard = fragment.authority == USER_RANK and fragment.source == SourceClass.USER_EXPLICIT
    for claim in claims:
        own = claim.fragment.owner_id == fragment.owner_id and claim.authority <= fragment.authority and plainly
        ruling = ruled.get(claim.id, 0)
        is_held = max(claim.authority, ruling) > fragment.authority or (is_heard and ruling >= fragment.authority)
        is_barred = not is_heard and barred.get((claim.namespace_id, bytes(claim.key_digest)), 0) >= fragment.authority
        if claim.fragment_id == fragment.id or not (is_held or own or is_barred):
            continue
        names = namings[claim.namespace_id]
        standing = standing_of(claim, names)
        own_word = said_of_own(fragment.wording, passages, claim, standing, stated=stated, names=names) if own else None
        against = own_word or (find_contradiction(passages, standing) if is_held or is_barred else None)
        if is_barred and against and against.sure and not against.negated:
            under_rulings.append(_statement(claim, against, takes_back=False))
        if not (is_held or own):
            continue
        if not own and not (against and against.sure):
            against = _told_beside(passages, standing, beside, names) or against
        if not own and not (against and against.sure) and standing.predicate in CUES:
            unsure.add(bytes(claim.key_digest))
        if against is None or not (claim.exclusive or against.negated) or not against.sure:
            continue
        if _is_kept_beside(against, claim, claims, names) or _claims_otherwise(claim, beside, names):
            continue
        statements.append(_statement(claim, against, takes_back=own))
        if own and not against.negated:
            change = ClaimDraft(claim.subject, claim.predicate, against.value)
    return Shadow(tuple(statements), change, frozenset(unsure), tuple(under_rulings))


def _told_beside(
    passages: Sequence[Passage], standing: Standing, beside: Sequence[ClaimDraft], names: Naming
) -> Contrary | None:
    """Return what a text may say against a claim, where a claim beside it has that value under a key of no text.

    A name that the text itself does not know is another spelling of what the text speaks of (ADR 0110).
    """
    against = find_difference(passages, standing)
    if against is None or against.negated:
        return None
    value = names.value(standing.predicate, against.value)
    is_told_beside = any(
        names.value(standing.predicate, draft.value) == value and _is_another_spelling(draft, passages, standing, names)
        for draft in beside
    )
    return replace(against, sure=True) if is_told_beside else None


def _is_another_spelling(draft: ClaimDraft, passages: Sequence[Passage], standing: Standing, names: Naming) -> bool:
    """Whether a claim's key differs from a standing one's only in what no word of the text names and no rule knows."""
    strange = []
    if names.subject(draft.subject) != names.subject(standing.subject):
        strange.append(draft.subject)
    if names.predicate(draft.predicate) != names.predicate(standing.predicate):
        if names.registers(draft.predicate):
            return False
        strange.append(draft.predicate)
    stems = {word.stem for passage in passages for word in passage.words}
    return bool(strange) and not any(set(stems_of(name)) <= stems for name in strange)


def _is_kept_beside(against: Contrary, claim: Claim, claims: Sequence[Claim], names: Naming) -> bool:
    """Return whether a claim that somebody kept beside this one has the value that is said."""
    others = [c for c in claims if bytes(c.key_digest) == bytes(claim.key_digest) and c.id != claim.id]
    return not against.negated and any(agrees(against.value, standing_of(other, names)) for other in others)


def _claims_otherwise(claim: Claim, beside: Sequence[ClaimDraft], names: Naming) -> bool:
    """Return whether a text claims another value there, at that time: that is for the gate to hear.

    What claims the very value against which it speaks only borrows it.
    """
    key, period = bytes(claim.key_digest), Period(claim.valid_from, claim.valid_until)
    values = {
        names.value(draft.predicate, draft.value)
        for draft in beside
        if names.key(draft.subject, draft.predicate).both == key
        and not draft.session_id
        and period.overlaps(Period(draft.valid_from, draft.valid_until))
    }
    return bool(values) and bytes(claim.value_digest) not in values


def _statement(claim: Claim, against: Contrary, *, takes_back: bool) -> Statement:
    """Against a stronger claim what was said; one's own is not so any more."""
    if takes_back:
        return Statement(claim.subject, claim.predicate, claim.value, negated=True, retracts=True)
    return Statement(claim.subject, claim.predicate, against.value[:LONGEST_VALUE], against.negated)
