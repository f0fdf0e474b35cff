"""The evaluation: the newcomers of one transaction, heard in order against the key states of their keys."""

import datetime
import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from django.db import connection

from conflicts.claim_drafts import ClaimDraft, Statement
from conflicts.claims import assertion_from, claim_of, free_assertion
from conflicts.enums import PRECEDENT_REJECTED, ConflictKind, Policy
from conflicts.free_text import agrees, standing_of
from conflicts.gate import Assertion, why_not_replaced
from conflicts.key_state import KeyState, Verdict, is_ruled_by_another
from conflicts.keys import Naming, naming
from conflicts.locks import Place, lock_keys, lock_namespaces
from conflicts.models import PendingConflict, Ruling
from conflicts.namespace_state import NamespaceState
from conflicts.rulings import binding_of, rulings_on_texts
from conflicts.verdicts import combined_status, set_verdicts
from memories.access import GoneMeanwhile
from memories.errors import NovaError
from memories.language.content_words import says_more
from memories.models import Claim, Fragment
from memories.models.claim import MOST_CLAIMS, claim_id
from memories.models.enums import OPEN, STANDING, Status
from memories.models.fragment import CONTAINED
from memories.models.namespace import roots_of


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A statement of a free text, and the standing claims of more authority that say otherwise."""

    statement: Statement
    key: Place
    value: bytes
    opponents: tuple[Assertion, ...]


class ClaimsDisagree(NovaError):
    """The claims of one text exclude each other, or belong to several sessions."""

    status = 400
    code = "claims_disagree"


@dataclass(slots=True)
class ClaimAssessment:
    """A claim of a newcomer as a row, and what was decided on it."""

    claim: Claim
    policy: str = Policy.REVIEW
    verdict: Verdict | None = None
    # The claim of another fragment that says the same, beside which it stands.
    twin: uuid.UUID | None = None

    @property
    def settled(self) -> bool:
        """Whether it was decided on before."""
        return bool(self.claim.verdict)


@dataclass(slots=True)
class Assessment:
    """A newcomer with its claims, and what was decided."""

    fragment: Fragment
    said: list[ClaimAssessment]
    statements: Sequence[Statement] = ()
    # What its text says where a ruling ruled values out.
    under_rulings: Sequence[Statement] = ()
    # Whether its claims are stored and only some of them are heard again.
    in_place: bool = False
    # When its words were said; None is when its fragment was made, or its text changed last.
    said_at: datetime.datetime | None = None
    contradictions: list[Contradiction] = field(default_factory=list)
    # What its text takes back.
    retracted: tuple[uuid.UUID, ...] = ()
    # The fragment that says all of it already; it is not stored then.
    repeats: uuid.UUID | None = None
    # The ruling that bars its text.
    ruling_id: uuid.UUID | None = None
    # Whom it replaced as wholes.
    fallen: list[uuid.UUID] = field(default_factory=list)

    @property
    def says_nothing(self) -> bool:
        """Whether nothing in it can oppose or repeat what stands."""
        return not (self.said or self.statements or self.under_rulings)

    @property
    def told_late(self) -> datetime.datetime | None:
        """When the words of a turn were said that is told afterwards; None for all others."""
        said_at = self.said_at or self.fragment.said_at()
        return said_at if said_at < self.fragment.created_at else None

    @property
    def claims(self) -> list[Claim]:
        """The rows."""
        return [assessment.claim for assessment in self.said]

    @property
    def places(self) -> set[Place]:
        """Where its claims belong."""
        return {place_of(claim) for claim in self.claims}

    @property
    def verdicts(self) -> list[Verdict]:
        """What was decided on its claims."""
        return [assessment.verdict for assessment in self.said if assessment.verdict]

    @property
    def superseded(self) -> tuple[uuid.UUID, ...]:
        """The claims that yield to it."""
        return (*(i for verdict in self.verdicts for i in verdict.superseded), *self.retracted)

    @property
    def twins(self) -> list[uuid.UUID]:
        """The claims that say already what it says."""
        return [assessment.twin for assessment in self.said if assessment.twin]

    @property
    def replaces(self) -> bool:
        """Whether somebody yields to it, or ends where it begins."""
        return bool(self.superseded or any(verdict.closed for verdict in self.verdicts))


class Evaluation:
    """Names, locks and reads once, before anything is decided."""

    def __init__(
        self,
        project_id: uuid.UUID,
        namespace_ids: Iterable[uuid.UUID],
        *,
        claims: int,
        now: datetime.datetime,
        states: Mapping[uuid.UUID, NamespaceState] | None = None,
    ) -> None:
        self.project_id, self.now = project_id, now
        # `claims`: how many keys will be decided on.
        places = set(namespace_ids)
        roots = set(roots_of(project_id, places).values()) - places
        self.alone = bool(claims) and lock_namespaces(places, claims=claims, roots=roots)
        # What was read before the namespaces were locked does not count.
        known = None if claims or states is None else {place: states[place].naming for place in places}
        self.namings: dict[uuid.UUID, Naming] = naming(project_id, places) if known is None else known
        if self.namings.keys() != places:  # who deleted one was waited for
            raise GoneMeanwhile
        self.key_states: dict[Place, KeyState] = {}
        # The claims that stand or wait on the keys, their fragments at hand.
        self.claims: dict[uuid.UUID, Claim] = {}
        # By the newcomer's claim, or its fragment where that claims nothing.
        self.pending: dict[uuid.UUID, list[PendingConflict]] = defaultdict(list)
        # Conflicts that got another opponent and are not saved yet.
        self.faced: list[PendingConflict] = []
        # The newcomers whose texts a person ruled out, by fragment, and the ruling.
        self.barred: Mapping[uuid.UUID, uuid.UUID] = {}

    def case(
        self,
        fragment: Fragment,
        drafts: Sequence[ClaimDraft],
        statements: Sequence[Statement],
        *,
        under_rulings: Sequence[Statement] = (),
        in_place: bool = False,
        said_at: datetime.datetime | None = None,
    ) -> Assessment:
        """Return a newcomer, named; `in_place` where its claims are stored and only some of them are heard again.

        Raise ClaimsDisagree; of claims that were read out of the text the first given one counts, and the text orders
        them.
        """
        names, assessments = self.namings[fragment.namespace_id], list[ClaimAssessment]()
        for draft in drafts:
            place = draft.position if in_place and draft.position is not None else len(assessments)
            claim = claim_of(draft, fragment, naming=names, now=self.now, position=place)
            if any(_disagree(claim, other.claim) for other in assessments):
                if draft.span is None:
                    raise ClaimsDisagree("The claims of one text may not exclude each other.")
            elif not any(_is_said(claim, other.claim) for other in assessments):
                assessments.append(ClaimAssessment(claim, names.rule(draft.predicate).policy))
        if all(one.claim.span_start is not None for one in assessments) and not in_place:
            assessments.sort(key=lambda one: (one.claim.span_start, one.claim.span_end))
            for number, one in enumerate(assessments):
                one.claim.position, one.claim.id = number, claim_id(fragment.id, number)
        return Assessment(fragment, assessments, statements, under_rulings, in_place, said_at)

    def open(self, cases: Sequence[Assessment], *, also: Iterable[Place] = ()) -> None:
        """Lock and read the keys of these cases, and others that they touch.

        What a free text is compared with needs no lock: whichever was first, both orders are right.
        """
        own = {place for case in cases for place in case.places} | set(also)
        own |= {place for case in cases for place, places in self._assess_statements(case) if places.retracts}
        if not self.alone:
            lock_keys(own)
        self.read(own, hold=True)
        places = {place for case in cases for place, _ in self._said(case)} - own
        self._keep_from_going(places)
        self.read(places)

    def read_bars(self, cases: Sequence[Assessment]) -> None:
        """Read which of these cases say, word for word, what a person ruled out; of the user's own words later."""
        attested = [case for case in cases if free_assertion(case.fragment, b"", now=self.now).attested]
        said_at = {case.fragment.id: case.said_at or case.fragment.created_at for case in attested}
        of_now = {fragment_id for fragment_id, at in said_at.items() if at >= self.now}
        texts = [case.fragment for case in cases if case.fragment.id not in of_now]
        self.barred = rulings_on_texts(self.project_id, texts, said_at=said_at)

    def look(self, cases: Sequence[Assessment], *, hold: bool) -> None:
        """As `open`, for who holds the whole namespace or (without `hold`) only looks: takes no lock of keys."""
        own = {place for case in cases for place in case.places}
        own |= {place for case in cases for place, assessment in self._assess_statements(case) if assessment.retracts}
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
        """Read the key states of these places as they stand now; `hold` keeps what stands there from changing."""
        self.key_states |= {place: KeyState() for place in places}
        if not places:
            return
        here = {
            "namespace__in": {namespace_id for namespace_id, _ in places},
            "key_digest__in": {key for _, key in places},
        }
        for row in Ruling.objects.within(self.project_id).in_force().filter(**here).order_by("decided_at", "id"):
            if key_state := self.key_states.get((row.namespace_id, bytes(row.key_digest))):
                key_state.bindings.append(binding_of(row))
        rows = Claim.objects.within(self.project_id).filter(status__in=OPEN, fragment__status__in=OPEN, **here)
        rows = rows.exclude(fragment__archived_reason=CONTAINED)
        rows = rows.select_related("fragment").order_by("fragment", "id")
        for claim in rows.select_for_update(no_key=True, of=("fragment",)) if hold else rows:
            if key_state := self.key_states.get(place_of(claim)):
                self.claims[claim.id] = claim
                waits = Status.QUARANTINED in (claim.status, claim.fragment.status)
                (key_state.waiting if waits else key_state.standing)[claim.id] = key_state.under_rulings(
                    assertion_from(claim)
                )
        conflicts = PendingConflict.objects.within(self.project_id).pending().filter(newcomer__isnull=False, **here)
        for conflict in conflicts.order_by("created_at", "id"):
            self.pending[conflict.challenger].append(conflict)
            key_state = self.key_states.get((conflict.namespace_id, bytes(conflict.key_digest)))
            if key_state and conflict.kind == ConflictKind.CLAIM and conflict.challenger in key_state.standing:
                key_state.contesting.add(conflict.challenger)

    def hear(self, case: Assessment, *, by_a_person: bool = False, returning: bool = False) -> None:
        """Decide on a case and enter it into the key states. What returns from the archive is no newer than others."""
        fragment = case.fragment
        if case.says_nothing and fragment.id not in self.barred:
            fragment.status, fragment.archived_reason = Status.ACTIVE, ""
            return
        for place in case.places:
            self.key_states[place].forget_fragment(fragment.id)
        self._judge_all(case, by_a_person=by_a_person, returning=returning)
        case.repeats = self._whole_twin(case)
        if case.repeats:
            return
        if not by_a_person:
            case.ruling_id = self.barred.get(fragment.id)
        self._judge_beside(case, by_a_person=by_a_person, returning=returning)
        status = combined_status([verdict.status for verdict in case.verdicts])
        why = next((verdict.why for verdict in case.verdicts if verdict.why), "")
        if case.ruling_id:
            status, why = Status.ARCHIVED, PRECEDENT_REJECTED
        elif status == Status.ACTIVE:
            status, why = self._read(case, by_a_person=by_a_person)
        self._enter(case, status, by_a_person=by_a_person, returning=returning)
        fragment.status = status
        fragment.archived_reason = why if status == Status.ARCHIVED else ""

    def hear_parts(self, case: Assessment) -> None:
        """Decide on those claims of a stored fragment that left by themselves, no newer than others, and enter them.

        What else it claims is as it was; with a text that waits all wait.
        """
        self._judge_all(case, by_a_person=False, returning=True)
        self._judge_beside(case, by_a_person=False, returning=True)
        self._enter_all(case, Status(case.fragment.status), by_a_person=False, returning=True)

    def _judge_all(self, case: Assessment, *, by_a_person: bool, returning: bool) -> None:
        for assessment in case.said:
            assessment.verdict = self._judge(case, assessment, by_a_person=by_a_person, returning=returning)
            assessment.twin = assessment.verdict.twin

    def _judge_beside(self, case: Assessment, *, by_a_person: bool, returning: bool) -> None:
        """Let claims that repeat others stand beside them, for their text is no repetition."""
        for assessment in case.said:
            if assessment.twin:
                assessment.verdict = self._judge(case, assessment, by_a_person=by_a_person, returning=returning)

    def _judge(self, case: Assessment, assessment: ClaimAssessment, *, by_a_person: bool, returning: bool) -> Verdict:
        """Return what is decided on a claim; one whose twin is known stands for itself."""
        assertion = assertion_from(assessment.claim)
        if assessment.settled:
            return Verdict(assertion, Status(assessment.claim.verdict))
        key_state, beside = self.key_states[place_of(assessment.claim)], assessment.twin is not None
        assertion = self._as_said(case, assertion, key_state)
        if returning:  # what a ruling chose comes with its authority
            assertion = key_state.under_rulings(replace(assertion, owner_id=uuid.uuid4()))
        policy = Policy.REVIEW if returning and assessment.policy == Policy.NEWEST else assessment.policy
        return key_state.judge(assertion, policy=policy, by_a_person=by_a_person, beside=beside, now=self.now)

    @staticmethod
    def _as_said(case: Assessment, assertion: Assertion, key_state: KeyState) -> Assertion:
        """Return an assertion with when it was said, which is looked up where that decides whether a ruling bars it."""
        if case.said_at is None and not (assertion.attested and key_state.bar(assertion)):
            return assertion
        return replace(assertion, said_at=case.said_at or case.fragment.said_at())

    def _whole_twin(self, case: Assessment) -> uuid.UUID | None:
        """Return the one fragment that says already all that a newcomer claims."""
        found = {assessment.twin and self.claims[assessment.twin].fragment_id for assessment in case.said}
        twin = found.pop() if len(found) == 1 else None
        return None if twin is None or self._says_more(case, case.said[0].twin) else twin

    def _says_more(self, case: Assessment, twin: uuid.UUID | None) -> bool:
        """Return whether a text out of which claims were read tells more than the text that claims the same."""
        if twin is None or not all(claim.span_start is not None for claim in case.claims):
            return False
        claim = self.claims[twin]
        if claim.id in self.key_states[place_of(claim)].waiting:  # who decides on it reads it once
            return False
        named = f"{claim.subject} {claim.predicate} {claim.value}".replace("_", " ")
        values = " ".join(own.value for own in case.claims)
        return says_more(case.fragment.content, f"{claim.fragment.content} {named}", values=values)

    def _read(self, case: Assessment, *, by_a_person: bool) -> tuple[Status, str]:
        """What a newcomer's text makes of it, whose claims may stand: where it contradicts what stands it waits."""
        case.ruling_id = None if by_a_person else self._keep_out(case)
        if case.ruling_id:
            return Status.ARCHIVED, PRECEDENT_REJECTED
        case.contradictions = list(self._contradictions(case))
        if not case.contradictions or self._only_rulings_oppose(case):
            case.retracted = tuple(self._retracted(case))
            return Status.ACTIVE, ""
        return Status.QUARANTINED, ""

    def _keep_out(self, case: Assessment) -> uuid.UUID | None:
        """Return the ruling that bars a text; beside claims that stand, what it states is a claim that is rejected.

        It bars the text where it may not have that claim, too.
        """
        made = list[ClaimAssessment]()
        for statement, bar in list(self.bars(case)):
            draft = ClaimDraft(statement.subject, statement.predicate, statement.value)
            position, names = len(case.said) + len(made), self.namings[case.fragment.namespace_id]
            claim = claim_of(draft, case.fragment, naming=names, now=self.now, position=position)
            if any(_is_said(claim, one.claim) for one in made):
                continue
            if not case.said or case.in_place or position >= MOST_CLAIMS or _is_refused(claim, case.claims):
                return bar
            verdict = Verdict(assertion_from(claim), Status.ARCHIVED, why=PRECEDENT_REJECTED, ruling_id=bar)
            made.append(ClaimAssessment(claim, verdict=verdict))
        case.said += made
        return None

    def _enter(self, case: Assessment, status: Status, *, by_a_person: bool, returning: bool) -> None:
        """Enter the claims, and let those have a verdict that are not as their fragment."""
        self._enter_all(case, status, by_a_person=by_a_person, returning=returning)
        set_verdicts(case.claims, [verdict.status for verdict in case.verdicts], fragment_status=status)
        for assessment in case.said:
            assessment.claim.status = assessment.claim.verdict or status

    def _enter_all(self, case: Assessment, status: Status, *, by_a_person: bool, returning: bool) -> None:
        """Enter the claims one by one, for two of one key need a slot each; with a text that waits all wait."""
        for number, assessment in enumerate(case.said):
            assert assessment.verdict is not None
            if number and assessment.verdict.status == Status.ACTIVE and not assessment.settled:
                assessment.verdict = self._judge(case, assessment, by_a_person=by_a_person, returning=returning)
            if status not in STANDING and assessment.verdict.status == Status.ACTIVE:
                assessment.verdict = Verdict(assessment.verdict.assertion, status)
            verdict, claim = assessment.verdict, assessment.claim
            self.key_states[place_of(claim)].enter(verdict)
            claim.slot = verdict.assertion.slot
            claim.valid_from, claim.valid_until = verdict.assertion.period.start, verdict.assertion.period.end
            self.claims[claim.id] = claim

    def answers(self, places: Iterable[Place]) -> dict[uuid.UUID, uuid.UUID]:
        """The claims that wait there although by now something stronger says the same, and which fragment does."""
        return {
            claim_id: stronger.fragment_id
            for place in places
            for claim_id, waiting in self.key_states[place].waiting.items()
            if (stronger := self.key_states[place].replaced_by(waiting))
        }

    def _assess_statements(self, case: Assessment) -> list[tuple[Place, Statement]]:
        """Return where the statements of a text belong, but for what its claims say themselves."""
        names = self.namings[case.fragment.namespace_id]
        own = {(bytes(claim.key_digest), bytes(claim.value_digest)) for claim in case.claims}
        found = []
        for assessment in case.statements:
            key = names.key(assessment.subject, assessment.predicate).both
            if assessment.negated or (key, names.value(assessment.predicate, assessment.value)) not in own:
                found.append(((case.fragment.namespace_id, key), assessment))
        return found

    def _said(self, case: Assessment) -> list[tuple[Place, Statement]]:
        """Return also what it says where only a ruling may bar it, and where that belongs."""
        names = self.namings[case.fragment.namespace_id]
        barring = [(names.key(one.subject, one.predicate).both, one) for one in case.under_rulings]
        return [*self._assess_statements(case), *(((case.fragment.namespace_id, key), one) for key, one in barring)]

    def _contradictions(self, case: Assessment) -> Iterable[Contradiction]:
        names = self.namings[case.fragment.namespace_id]
        for place, assessment in self._assess_statements(case):
            value = names.value(assessment.predicate, assessment.value)
            assertion = free_assertion(case.fragment, value, now=self.now)
            opponents = self.key_states[place].contradicted(assertion, negated=assessment.negated)
            others = tuple(o for o in opponents if assessment.negated or not self._agrees(assessment, o, names))
            if others:
                yield Contradiction(assessment, place, value, others)

    def _only_rulings_oppose(self, case: Assessment) -> bool:
        """Whether the user's own words are only against what somebody else ruled: both are served until one decides."""
        assertion = free_assertion(case.fragment, b"", now=self.now)
        opponents = [other for contradiction in case.contradictions for other in contradiction.opponents]
        return assertion.attested and all(is_ruled_by_another(other, assertion) for other in opponents)

    def _agrees(self, statement: Statement, other: Assertion, names: Naming) -> bool:
        """Return whether a text only says in other words what a claim does: March 31, and 2026-03-31."""
        return agrees(statement.value, standing_of(self.claims[other.id], names))

    def _retracted(self, case: Assessment) -> list[uuid.UUID]:
        """Return what a person takes back who may: claims of less authority, or of as much and their own."""
        found = []
        for place, assessment in self._assess_statements(case):
            if assessment.retracts:
                value = self.namings[case.fragment.namespace_id].value(assessment.predicate, assessment.value)
                assertion = free_assertion(case.fragment, value, now=self.now)
                for other in self.key_states[place].standing.copy().values():
                    same = other.value == value and assertion.meets(other)
                    later = case.told_late and self.claims[other.id].fragment.said_at() > case.told_late
                    if same and not later and not why_not_replaced(assertion, other):
                        self.key_states[place].forget(other.id)
                        found.append(other.id)
        return found

    def bars(self, case: Assessment) -> Iterator[tuple[Statement, uuid.UUID]]:
        """What a text states that rulings keep out, but for what its claims say: these have verdicts of their own.

        A ruling that ruled a value out says nothing of its denial.
        """
        names = self.namings[case.fragment.namespace_id]
        left = [one.claim for one in case.said if one.verdict and one.verdict.status != Status.ACTIVE]
        decided = {(place_of(claim), bytes(claim.value_digest)) for claim in left}
        for place, statement in self._said(case):
            value = names.value(statement.predicate, statement.value)
            key_state = self.key_states[place]
            bar = key_state.bar(self._as_said(case, free_assertion(case.fragment, value, now=self.now), key_state))
            if bar and not statement.negated and (place, value) not in decided:
                yield statement, bar.ruling_id


def place_of(claim: Claim) -> Place:
    """Return where a claim belongs."""
    return claim.namespace_id, bytes(claim.key_digest)


def _is_said(one: Claim, other: Claim) -> bool:
    """Return whether one claim of a text only says what another says."""
    same = one.key_digest == other.key_digest and one.value_digest == other.value_digest and one.scope == other.scope
    return same and assertion_from(one).meets(assertion_from(other))


def _is_refused(claim: Claim, others: Sequence[Claim]) -> bool:
    """Return whether a claim may not stand in a text beside these."""
    return any(_disagree(claim, other) or _is_said(claim, other) for other in others)


def _disagree(one: Claim, other: Claim) -> bool:
    """Return whether two claims of one text can't both be so, or are not for the same ears."""
    if one.session_id != other.session_id:
        return True
    return one.key_digest == other.key_digest and assertion_from(one).opposes(assertion_from(other))
