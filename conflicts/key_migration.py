"""Re-keying: a changed rule names standing claims anew, unless it sets them against each other (docs/spec.md §4).

The digests of a claim follow from its raw columns and the rules of its namespace; whoever changes a rule holds the
namespace and brings them up to date here.
"""

import datetime
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice
from typing import Any

from django.db import connection
from django.db.models import Q

from conflicts.gate import Period
from conflicts.keys import Naming
from conflicts.models import PendingConflict, Ruling
from memories.errors import NovaError
from memories.models import Claim
from memories.models.enums import STANDING

EARLIEST = datetime.datetime.min.replace(tzinfo=datetime.UTC)
MOST_PAIRS = 100  # told at once; whoever settles them asks again
AT_ONCE = 5000  # keys asked for in one statement
DIGESTS = ("predicate_digest", "key_digest", "value_digest")
READ = (
    "id",
    "fragment",
    "namespace",
    "predicate",
    *DIGESTS,
    "subject",
    "value",
    "exclusive",
    "session_id",
    "slot",
    "status",
)
CLAIMS = """
    UPDATE memories_claim c
    SET predicate_digest = m.predicate, key_digest = m.key, value_digest = m.value, exclusive = m.exclusive
    FROM unnest(%s::uuid[], %s::bytea[], %s::bytea[], %s::bytea[], %s::boolean[])
        AS m (claim_id, predicate, key, value, exclusive)
    WHERE c.project_id = %s AND c.id = m.claim_id
"""
# A conflict is named as the claim of its newcomer is, or, where that said it in free text, as the claim it opposes.
CONFLICTS = """
    UPDATE conflicts_pendingconflict c
    SET predicate_digest = m.predicate, key_digest = m.key,
        value_digest = CASE WHEN c.value_digest = m.old_value THEN m.value ELSE c.value_digest END
    FROM unnest(%s::uuid[], %s::bytea[], %s::bytea[], %s::bytea[], %s::bytea[], %s::bytea[])
        AS m (claim_id, predicate, old_key, key, old_value, value)
    WHERE c.project_id = %s AND c.{side}_claim = m.claim_id AND c.key_digest = m.old_key AND c.statement IS NULL
"""


@dataclass(frozen=True, slots=True)
class Collision:
    """Two active claims that could not both stand, and what would set them against each other."""

    cause: str  # aliases, exclusive
    one: uuid.UUID
    other: uuid.UUID


class ClaimsCollide(NovaError):
    """Standing claims would come to oppose each other; nothing was changed. At most MOST_PAIRS of them are named."""

    code = "claims_collide"

    def __init__(self, pairs: Sequence[Collision]) -> None:
        super().__init__("these claims could not stand together any more: settle them first")
        self.pairs = tuple(pairs)

    @property
    def fields(self) -> list[dict[str, str]]:
        """Return which claims could not both stand."""
        return [{"field": p.cause, "message": f"{p.one} and {p.other} could not both stand."} for p in self.pairs]


@dataclass(frozen=True, slots=True)
class Names:
    """Under which digests a claim stands, and whether it takes the only value there is."""

    predicate: bytes
    key: bytes
    value: bytes
    exclusive: bool

    @classmethod
    def of(cls, claim: Claim) -> "Names":
        """As the row has them."""
        predicate, key, value = (bytes(getattr(claim, name)) for name in DIGESTS)
        return cls(predicate, key, value, claim.exclusive)


@dataclass(frozen=True, slots=True)
class Move:
    """A claim with its former and its new names."""

    claim: Claim
    before: Names
    after: Names

    @property
    def stands(self) -> bool:
        """Whether it takes a place from now on that it could have to share."""
        return self.after.exclusive and self.claim.status in STANDING

    @property
    def arrives(self) -> bool:
        """Whether it meets somebody new there."""
        return self.stands and (self.before.key != self.after.key or not self.before.exclusive)

    @property
    def place(self) -> tuple[uuid.UUID, bytes, str]:
        """Where it meets others."""
        return self.claim.namespace_id, self.after.key, self.claim.session_id

    @property
    def order(self) -> tuple[uuid.UUID, bytes, str, datetime.datetime, uuid.UUID]:
        """By place and beginning; what has none began before all others."""
        return *self.place, self.claim.valid_from or EARLIEST, self.claim.id

    def overlaps(self, other: "Move") -> bool:
        """Return whether both hold at some instant."""
        own, theirs = (Period(claim.valid_from, claim.valid_until) for claim in (self.claim, other.claim))
        return own.overlaps(theirs)

    def collides(self, other: "Move") -> bool:
        """Whether both can't stay. Slots tell claims of one key apart; nobody chose between those of two keys."""
        if self.claim.slot == other.claim.slot:
            return True
        return self.before.key != other.before.key and self.after.value != other.after.value


def rekey(project_id: uuid.UUID, namespace_id: uuid.UUID, *, old: Naming, new: Naming) -> None:
    """Names the claims and conflicts of a namespace anew, in the open transaction.

    Whichever spelling is read otherwise from now on is concerned. The caller holds the namespace. Raise ClaimsCollide
    before anything is written.
    """
    here = with_users(namespace_id)
    moves = list(_moves(Claim.objects.within(project_id).filter(here), old, new))
    refuse_collisions(project_id, namespace_id, moves)
    write(project_id, moves)
    statements = PendingConflict.objects.within(project_id).filter(here, statement__isnull=False)
    _rekey_statements(statements, old, new)


def with_users(namespace_id: uuid.UUID) -> Q:
    """Rows of a namespace and of its users' scopes, which have its rules."""
    return Q(namespace=namespace_id) | Q(namespace__parent=namespace_id)


def _moves(claims: Any, old: Naming, new: Naming) -> Iterator[Move]:
    """Return the claims that are named otherwise from now on."""
    spellings = claims.order_by().values_list("predicate", flat=True).distinct()
    concerned = [spelling for spelling in spellings if _reading(old, spelling) != _reading(new, spelling)]
    for claim in locked(claims.filter(predicate__in=concerned)):
        before, after = Names.of(claim), _named(claim, old, new)
        if before != after:
            yield Move(claim, before, after)


def locked(claims: Any) -> Iterator[Claim]:
    """Return what is to move, kept as it is meanwhile."""
    rows: Iterator[Claim] = claims.only(*READ, "valid_from", "valid_until").order_by("id").select_for_update()
    return iter(rows)


def _reading(names: Naming, predicate: str) -> tuple[object, ...]:
    """Return all that decides how claims of a predicate are named."""
    rule = names.rule(predicate)
    return names.predicate(predicate), rule.normaliser, names.exclusive(predicate, None), names.registers(predicate)


def _named(claim: Claim, old: Naming, new: Naming) -> Names:
    predicate = claim.predicate
    one = new.exclusive(predicate, None)
    if not (one and new.registers(predicate)) and one == old.exclusive(predicate, None):
        one = claim.exclusive  # as it asked
    key = new.key(claim.subject, predicate)
    return Names(key.predicate, key.both, new.value(predicate, claim.value), exclusive=one)


def refuse_collisions(project_id: uuid.UUID, namespace_id: uuid.UUID, moves: Sequence[Move]) -> None:
    """Raise ClaimsCollide when these moves would set standing claims against each other or against those that stay."""
    places = {move.after.key for move in moves if move.arrives}
    moved = {move.claim.id for move in moves}
    standing = Claim.objects.within(project_id).filter(with_users(namespace_id), status__in=STANDING, exclusive=True)
    there = [
        Move(claim, Names.of(claim), Names.of(claim))
        for chunk in _chunks(sorted(places))
        for claim in standing.filter(key_digest__in=chunk)
        if claim.id not in moved
    ]
    arrived = [move for move in moves if move.stands and move.after.key in places]
    if pairs := list(islice(_collisions([*there, *arrived]), MOST_PAIRS)):
        raise ClaimsCollide(pairs)


def _collisions(moves: Sequence[Move]) -> Iterator[Collision]:
    for _, here in groupby(sorted(moves, key=lambda move: move.order), key=lambda move: move.place):
        running: list[Move] = []
        for move in here:
            running = [other for other in running if other.overlaps(move)]
            for other in running:
                if other.collides(move):
                    cause = "exclusive" if other.before.key == move.before.key else "aliases"
                    yield Collision(cause, other.claim.fragment_id, move.claim.fragment_id)
            running.append(move)


def write(project_id: uuid.UUID, moves: Sequence[Move]) -> None:
    """Give claims their new names, and with them the conflicts that carry the old ones.

    One statement for all, so that a claim may come where another leaves.
    """
    if not moves:
        return
    ids, before, after = zip(*((move.claim.id, move.before, move.after) for move in moves), strict=True)
    predicates, keys, values = ([getattr(name, part) for name in after] for part in ("predicate", "key", "value"))
    old_keys, old_values = [name.key for name in before], [name.value for name in before]
    claims: list[Any] = [list(ids), predicates, keys, values, [name.exclusive for name in after], project_id]
    conflicts: list[Any] = [list(ids), predicates, old_keys, keys, old_values, values, project_id]
    with connection.cursor() as cursor:
        cursor.execute(CLAIMS, claims)
        for side in ("newcomer", "existing"):
            cursor.execute(CONFLICTS.format(side=side), conflicts)
    _rekey_rulings(project_id, moves)


def _rekey_rulings(project_id: uuid.UUID, moves: Sequence[Move]) -> None:
    """What was decided of a key goes on being about it, and names its values as the claims do."""
    keys = {(move.claim.namespace_id, move.before.key): move.after for move in moves}
    values = {move.before.value.hex(): move.after.value.hex() for move in moves}
    changed = []
    for chunk in _chunks(sorted({key for _, key in keys})):
        for row in Ruling.objects.within(project_id).filter(key_digest__in=chunk).select_for_update():
            if after := keys.get((row.namespace_id, bytes(row.key_digest))):
                row.predicate_digest, row.key_digest = after.predicate, after.key
                row.chosen = [values.get(value, value) for value in row.chosen]
                row.ruled_out = [values.get(value, value) for value in row.ruled_out]
                changed.append(row)
    named = ["predicate_digest", "key_digest", "chosen", "ruled_out"]
    Ruling.objects.bulk_update(changed, named, batch_size=AT_ONCE)


def _rekey_statements(conflicts: Any, old: Naming, new: Naming) -> None:
    """What free texts were read as is named anew from what was read."""
    rows = [
        row
        for row in conflicts
        if _reading(old, row.statement["predicate"]) != _reading(new, row.statement["predicate"])
    ]
    for row in rows:
        statement = row.statement
        key = new.key(statement["subject"], statement["predicate"])
        row.predicate_digest, row.key_digest = key.predicate, key.both
        row.value_digest = new.value(statement["predicate"], statement["value"])
    PendingConflict.objects.bulk_update(rows, DIGESTS, batch_size=AT_ONCE)


def with_cardinality(claim: Claim, *, exclusive: bool) -> Move:
    """Return a claim that keeps its names and takes one value, or many."""
    before = Names.of(claim)
    return Move(claim, before, replace(before, exclusive=exclusive))


def _chunks(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    return (items[start : start + AT_ONCE] for start in range(0, len(items), AT_ONCE))
