"""Precedence: which claims a question asks for, and which weaker texts say otherwise (docs/spec.md §4.4, ADR 0092).

Pure. Held against the few candidates of an answer, so it suspects more than admission does: nobody waits because of
it; a text only stands below the claim, and says what it contradicts.
"""

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from conflicts.free_text.contradictions import (
    WORDLESS,
    Standing,
    agrees,
    cues_of,
    find_contradiction,
    find_difference,
    is_of_kind,
    is_spoken_of,
    read,
)
from conflicts.free_text.cues import PEOPLE
from conflicts.free_text.doubts import ALIKE, Nearness, Vector, is_in_doubt, others_named
from conflicts.free_text.mentions import mentions_of
from conflicts.free_text.passages import Passage, stems_of
from conflicts.keys import USERS, Naming, subject_key

LONGEST = 600  # characters of a text in which its keys are looked for
MOST_HELD = 8  # claims that one text is held against
Told = tuple[str, str, str]  # subject, predicate and value of a claim
ARTICLES = frozenset({"the", "a", "an", "my", "our"})


@dataclass(frozen=True, slots=True)
class Upheld:
    """A standing claim, of which fragment, and its rank: its authority, or that of the ruling that chose its value.

    `ruled`: the authority of that ruling, 0 without one.
    """

    fragment_id: uuid.UUID
    namespace_id: uuid.UUID
    subject: str
    predicate: str
    value: str
    exclusive: bool
    key: bytes
    rank: int
    source: str
    ruled: int = 0
    vector: Vector | None = field(default=None, compare=False)  # of its fragment, where it has one


def keys_sought(
    question: str, texts: Iterable[str], names: Collection[Naming], *, among: Collection[Upheld] | None = None
) -> set[bytes]:
    """Return the digests of the keys that a question names, or that texts tell of the user or of what it names.

    `among`: all claims that there are, where they are few; other keys than theirs are then left out.
    """
    wanted = None if among is None else {each.canonical(claim.predicate) for claim in among for each in names}
    of_question = read(question)
    of_texts = [passage for text in texts for passage in read(text[:LONGEST])]
    found: set[bytes] = set()
    for each in names:
        found |= mentions_of(of_question, each, telling=of_texts, wanted=wanted).digests(salt=each.salt)
    return found


@dataclass
class ClaimsAtHand:
    """The claims that an answer is held against, with the names that their namespaces have for them."""

    question: str
    claims: Sequence[Upheld]
    names: Mapping[uuid.UUID, Naming]
    _standing: dict[Upheld, Standing] = field(default_factory=dict)
    _read: dict[str, list[Passage]] = field(default_factory=dict)

    @cached_property
    def asked_for(self) -> list[Upheld]:
        """The claims that the question asks for, the strongest first: of a key that many scopes claim, all of them."""
        passages = read(self.question)
        found = [claim for claim in self.claims if is_spoken_of(passages, self.standing(claim))]
        return sorted(found, key=lambda one: (-one.rank, one.fragment_id))

    def standing(self, claim: Upheld) -> Standing:
        """Return the claim with what its predicate's rule says."""
        if claim not in self._standing:
            rule = self._names(claim).rule(claim.predicate)
            made = Standing(claim.subject, rule.name, claim.value, rule.normaliser, rule.aliases)
            self._standing[claim] = made
        return self._standing[claim]

    def _names(self, claim: Upheld) -> Naming:
        return self.names.get(claim.namespace_id) or next(iter(self.names.values()))

    def named_by(self, text: str, claims: Iterable[Upheld]) -> list[Upheld]:
        """Return those of the claims whose key a text speaks of, whatever it says of it."""
        passages = self.passages(text)
        return [claim for claim in self._near(passages, claims) if is_spoken_of(passages, self.standing(claim))]

    def contradicted_by(self, text: str, claims: Iterable[Upheld]) -> Upheld | None:
        """Return the strongest of the claims of which a text states another value, those asked for first."""
        passages, asked_for = self.passages(text), set(self.asked_for)
        for claim in sorted(self._near(passages, claims), key=lambda one: (one not in asked_for, -one.rank))[
            :MOST_HELD
        ]:
            against = find_difference(passages, self.standing(claim))
            if against is None or not (claim.exclusive or against.negated):
                continue
            if against.negated or not self._is_said_beside(against.value, claim):
                return claim
        return None

    def denies(self, text: str, claim: Upheld) -> bool:
        """Return whether a text surely says otherwise than a claim."""
        against = find_contradiction(self.passages(text), self.standing(claim))
        return bool(against and against.sure)

    def in_doubt_of(self, text: str, vector: Vector | None, claims: Iterable[Upheld]) -> Upheld | None:
        """Return the strongest of the claims of which a text may state another value, those asked for first.

        None where it states the value of another claim of the same scope, the same key and of no less rank.
        """
        passages, asked_for = self.passages(text), set(self.asked_for)
        named = set(self._near(passages, claims))
        nearness = {one: Nearness.between(vector, one.vector, is_asked_for=one in asked_for) for one in claims}
        held = [one for one, near in nearness.items() if one in asked_for or one in named or near.reaches(ALIKE)]
        held = [one for one in held if not self._is_of_others(passages, one)]
        for claim in sorted(held, key=lambda one: (one not in asked_for, -one.rank))[:MOST_HELD]:
            if all(
                is_in_doubt(passages, self.standing(one), nearness[claim], exclusive=one.exclusive)
                for one in (claim, *self._beside(claim))
            ):
                return claim
        return None

    def rivalled_by(self, triples: Iterable[Told], claims: Iterable[Upheld]) -> Upheld | None:
        """Return the strongest claim asked for, of whose subject another tells a value of its kind by a strange name.

        Strange is a predicate that no rule knows: it may be a synonym that nobody has listed.
        """
        for claim in sorted(set(claims) & set(self.asked_for), key=lambda one: -one.rank):
            names, standing = self._names(claim), self.standing(claim)
            for subject, predicate, value in triples:
                if names.registers(predicate) or names.subject(subject) != names.subject(claim.subject):
                    continue
                if claim.exclusive and is_of_kind(value, standing) and not agrees(value, standing):
                    return claim
        return None

    def is_settled(self, claim: Upheld, own: Mapping[bytes, str]) -> bool:
        """Return whether a text's own claim (value by key) says otherwise, so that the gate has let it stand.

        Who claims the same value may still say another one in words.
        """
        return claim.key in own and not agrees(own[claim.key], self.standing(claim))

    def passages(self, text: str) -> list[Passage]:
        """Return the passages of a text, which is read once."""
        if text not in self._read:
            self._read[text] = read(text)
        return self._read[text]

    def _is_of_others(self, passages: Sequence[Passage], claim: Upheld) -> bool:
        """Return whether a text tells of other people alone than of the claim's subject, under whichever name."""
        own, names = self._names(claim).subject, others_named(passages, self.standing(claim))
        return bool(names) and own(claim.subject) not in set(map(own, names))

    def _is_said_beside(self, value: str, claim: Upheld) -> bool:
        """Return whether a claim that stands beside it has the value."""
        return any(agrees(value, self.standing(other)) for other in self._beside(claim))

    def _beside(self, claim: Upheld) -> list[Upheld]:
        """Return the others of its key and no less rank: what is weaker, or of another scope, vouches for nobody."""
        of_key = [one for one in self.claims if (one.key, one.namespace_id) == (claim.key, claim.namespace_id)]
        return [one for one in of_key if one.fragment_id != claim.fragment_id and one.rank >= claim.rank]

    def _near(self, passages: Sequence[Passage], claims: Iterable[Upheld]) -> list[Upheld]:
        """Return those whose subject and predicate the words of a text can name at all."""
        stems = {word.stem for passage in passages for word in passage.words}
        return [claim for claim in claims if self._is_near(stems, self.standing(claim))]

    @staticmethod
    def _is_near(stems: set[str], claim: Standing) -> bool:
        subject = set(stems_of(claim.subject)) - ARTICLES
        if subject_key(claim.subject) not in USERS and not subject <= stems | PEOPLE:
            return False
        return claim.predicate in WORDLESS or any(cue.stems[0] in stems for cue in cues_of(claim))
