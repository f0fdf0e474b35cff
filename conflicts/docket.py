"""The docket: the newcomers of one transaction, heard in order against the ledgers of their keys."""

import datetime
import uuid
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from django.db import connection

from conflicts.claims import ClaimDraft, Statement, claim_of, free_stance, stance_of
from conflicts.contradictions import agrees
from conflicts.gate import Stance, objection
from conflicts.ledger import Ledger, Verdict, is_ruled_by_another
from conflicts.locking import Place, lock_keys, lock_namespaces
from conflicts.models import PendingConflict, Ruling
from conflicts.naming import Naming, naming
from conflicts.rulings import binding_of
from conflicts.shadows import standing_of
from conflicts.words import Kind, Policy
from memories.models import Claim, Fragment
from memories.models.namespace import roots_of
from memories.models.words import OPEN, Status


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A statement of a free text, and the standing claims of more authority that say otherwise."""

    statement: Statement
    key: Place
    value: bytes
    opponents: tuple[Stance, ...]


@dataclass(slots=True)
class Case:
    """A newcomer with its claim as a row, and what was decided."""

    fragment: Fragment
    claim: Claim | None
    statements: Sequence[Statement] = ()
    policy: str = Policy.REVIEW
    verdict: Verdict | None = None
    contradictions: list[Contradiction] = field(default_factory=list)

    @property
    def repeats(self) -> uuid.UUID | None:
        """The fragment that says the same already."""
        return self.verdict.twin if self.verdict else None

    @property
    def superseded(self) -> tuple[uuid.UUID, ...]:
        """Whom it replaced."""
        return self.verdict.superseded if self.verdict else ()

    @property
    def replaces(self) -> bool:
        """Whether somebody yields to it, or ends where it begins."""
        return bool(self.verdict and (self.verdict.superseded or self.verdict.closed))


class Docket:
    """Names, locks and reads once, before anything is decided."""

    def __init__(
        self, project_id: uuid.UUID, namespace_ids: Iterable[uuid.UUID], *, claims: int, now: datetime.datetime
    ) -> None:
        self.project_id, self.now = project_id, now
        # `claims`: how many keys will be decided on.
        places = set(namespace_ids)
        roots = set(roots_of(project_id, places).values()) - places
        self.alone = bool(claims) and lock_namespaces(places, claims=claims, roots=roots)
        self.namings: dict[uuid.UUID, Naming] = naming(project_id, places)
        self.ledgers: dict[Place, Ledger] = {}
        # The claims of all that stands or waits on the keys, their fragments at hand.
        self.claims: dict[uuid.UUID, Claim] = {}
        self.pending: dict[uuid.UUID, list[PendingConflict]] = defaultdict(list)
        # Conflicts that got another opponent and are not saved yet.
        self.faced: list[PendingConflict] = []

    def case(self, fragment: Fragment, draft: ClaimDraft | None, statements: Sequence[Statement]) -> Case:
        """A newcomer, named."""
        if draft is None:
            return Case(fragment, None, statements)
        names = self.namings[fragment.namespace_id]
        claim = claim_of(draft, fragment, naming=names, now=self.now)
        return Case(fragment, claim, statements, policy=names.rule(draft.predicate).policy)

    def open(self, cases: Sequence[Case], *, also: Iterable[Place] = ()) -> None:
        """Locks and reads the keys of these cases, and others that they touch.

        What a free text is compared with needs no lock: whichever was first, both orders are right.
        """
        own = {place_of(case.claim) for case in cases if case.claim} | set(also)
        own |= {place for case in cases for place, said in self._said(case) if said.retracts}
        if not self.alone:
            lock_keys(own)
        self.read(own, hold=True)
        said = {place for case in cases for place, _ in self._said(case)} - own
        self._keep_from_going(said)
        self.read(said)

    def look(self, cases: Sequence[Case], *, hold: bool) -> None:
        """As `open`, for who holds the whole namespace or (without `hold`) only looks: takes no lock of keys."""
        own = {place_of(case.claim) for case in cases if case.claim}
        own |= {place for case in cases for place, said in self._said(case) if said.retracts}
        self.read(own, hold=hold)
        self.read({place for case in cases for place, _ in self._said(case)} - own)

    def _keep_from_going(self, places: set[Place]) -> None:
        """What a free text may contradict is not forgotten meanwhile; it may change, for both orders are right."""
        if places:
            with connection.cursor() as cursor:
                cursor.execute(
                    """SELECT f.id FROM memories_fragment f
                       JOIN memories_claim c ON c.project_id = f.project_id AND c.fragment_id = f.id
                       WHERE c.project_id = %s AND c.namespace_id = ANY (%s) AND c.key_digest = ANY (%s)
                           AND c.status IN ('active', 'disputed')
                       ORDER BY f.id FOR KEY SHARE OF f""",
                    [self.project_id, list({n for n, _ in places}), list({key for _, key in places})],
                )

    def read(self, places: set[Place], *, hold: bool = False) -> None:
        """Reads the ledgers of these places as they stand now; `hold` keeps what stands there from changing."""
        self.ledgers |= {place: Ledger() for place in places}
        if not places:
            return
        here = {
            "namespace__in": {namespace_id for namespace_id, _ in places},
            "key_digest__in": {key for _, key in places},
        }
        for row in Ruling.objects.within(self.project_id).in_force().filter(**here).order_by("decided_at", "id"):
            if ledger := self.ledgers.get((row.namespace_id, bytes(row.key_digest))):
                ledger.bindings.append(binding_of(row))
        rows = Claim.objects.within(self.project_id).filter(status__in=OPEN, fragment__status__in=OPEN, **here)
        rows = rows.select_related("fragment")
        for claim in rows.select_for_update(no_key=True, of=("fragment",)).order_by("fragment") if hold else rows:
            if ledger := self.ledgers.get(place_of(claim)):
                self.claims[claim.fragment_id] = claim
                book = ledger.waiting if claim.fragment.status == Status.QUARANTINED else ledger.standing
                book[claim.fragment_id] = ledger.under_rulings(stance_of(claim))
        conflicts = PendingConflict.objects.within(self.project_id).pending().filter(newcomer__isnull=False, **here)
        for conflict in conflicts.order_by("created_at", "id"):
            self.pending[conflict.newcomer_id].append(conflict)
            ledger = self.ledgers.get((conflict.namespace_id, bytes(conflict.key_digest)))
            if ledger and conflict.kind == Kind.CLAIM and conflict.newcomer_id in ledger.standing:
                ledger.contesting.add(conflict.newcomer_id)

    def hear(self, case: Case, *, by_a_person: bool = False, returning: bool = False) -> Verdict:
        """Decides on a case and enters it into the ledgers. What returns from the archive is no newer than others."""
        fragment, claim = case.fragment, case.claim
        if claim is None:
            verdict = Verdict(free_stance(fragment, b"", now=self.now), Status.ACTIVE)
        else:
            ledger = self.ledgers[place_of(claim)]
            stance = stance_of(claim)
            if returning:
                stance = replace(stance, owner_id=uuid.uuid4())
            policy = Policy.REVIEW if returning and case.policy == Policy.NEWEST else case.policy
            verdict = ledger.judge(stance, policy=policy, by_a_person=by_a_person)
        if verdict.twin is None and verdict.status == Status.ACTIVE:
            case.contradictions = list(self._contradictions(case))
            if self._only_rulings_oppose(case):
                verdict = replace(verdict, contests=True)
            elif case.contradictions:
                bars = [] if by_a_person else [bar for c in case.contradictions if (bar := self._bar(case, c))]
                verdict = Verdict(
                    verdict.stance,
                    Status.ARCHIVED if bars else Status.QUARANTINED,
                    why="precedent_rejected" if bars else "",
                    ruling_id=bars[0] if bars else None,
                )
            elif retracted := self._retracted(case):
                verdict = replace(verdict, superseded=(*verdict.superseded, *retracted))
        if claim is not None:
            self.ledgers[place_of(claim)].enter(verdict)
            claim.slot, claim.status = verdict.stance.slot, verdict.status
            claim.valid_from, claim.valid_until = verdict.stance.period.start, verdict.stance.period.end
            if verdict.twin is None:
                self.claims[fragment.id] = claim
        fragment.status = verdict.status
        fragment.archived_reason = verdict.why
        case.verdict = verdict
        return verdict

    def answers(self, places: Iterable[Place]) -> dict[uuid.UUID, uuid.UUID]:
        """Who waits there although by now something stronger says the same, and what that is."""
        return {
            fragment_id: stronger.fragment_id
            for place in places
            for fragment_id, waiting in self.ledgers[place].waiting.items()
            if (stronger := self.ledgers[place].replaced_by(waiting))
        }

    def _said(self, case: Case) -> list[tuple[Place, Statement]]:
        """Where the statements of a text belong, but for what its claim says itself."""
        names = self.namings[case.fragment.namespace_id]
        own = (bytes(case.claim.key_digest), bytes(case.claim.value_digest)) if case.claim else None
        found = []
        for said in case.statements:
            key = names.key(said.subject, said.predicate).both
            if said.negated or (key, names.value(said.predicate, said.value)) != own:
                found.append(((case.fragment.namespace_id, key), said))
        return found

    def _contradictions(self, case: Case) -> Iterable[Contradiction]:
        names = self.namings[case.fragment.namespace_id]
        for place, said in self._said(case):
            value = names.value(said.predicate, said.value)
            stance = free_stance(case.fragment, value, now=self.now)
            opponents = self.ledgers[place].contradicted(stance, negated=said.negated)
            others = tuple(o for o in opponents if said.negated or not self._agrees(said, o, names))
            if others:
                yield Contradiction(said, place, value, others)

    def _only_rulings_oppose(self, case: Case) -> bool:
        """Whether the user's own words are only against what somebody else ruled: both are served until one decides."""
        said = free_stance(case.fragment, b"", now=self.now)
        opponents = [other for contradiction in case.contradictions for other in contradiction.opponents]
        return bool(opponents) and said.attested and all(is_ruled_by_another(other, said) for other in opponents)

    def _agrees(self, said: Statement, other: Stance, names: Naming) -> bool:
        """Whether a text only says in other words what a claim does: March 31, and 2026-03-31."""
        return agrees(said.value, standing_of(self.claims[other.fragment_id], names))

    def _retracted(self, case: Case) -> list[uuid.UUID]:
        """What a person takes back who may: claims of less authority, or of as much and their own."""
        found = []
        for place, said in self._said(case):
            if said.retracts:
                value = self.namings[case.fragment.namespace_id].value(said.predicate, said.value)
                stance = free_stance(case.fragment, value, now=self.now)
                for other in self.ledgers[place].standing.copy().values():
                    same = other.value == value and stance.meets(other)
                    if same and not objection(stance, other):
                        self.ledgers[place].forget(other.fragment_id)
                        found.append(other.fragment_id)
        return found

    def _bar(self, case: Case, contradiction: Contradiction) -> uuid.UUID | None:
        """The ruling that keeps out what a text states; one that ruled a value out says nothing of its denial."""
        if contradiction.statement.negated:
            return None
        found = self.ledgers[contradiction.key].bar(free_stance(case.fragment, contradiction.value, now=self.now))
        return found.ruling_id if found else None


def place_of(claim: Claim) -> Place:
    """Where a claim belongs."""
    return claim.namespace_id, bytes(claim.key_digest)
