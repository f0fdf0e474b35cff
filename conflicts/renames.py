"""Renames: what stands takes the names that spelling and built-in rules give it now; for migrations, on their models.

Claims that come to share a key and say otherwise can't all stand: the strongest does, among equals the newest, and the
others wait for a person, each with a conflict.
"""

import datetime
import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connections

from conflicts.enums import ConflictKind, ConflictReason
from conflicts.gate import Period
from conflicts.keys import Naming, rule_of, spellings_of
from memories.models import Fragment
from memories.models.enums import STANDING, Status

FIRST_SPARE = 1000  # slots that nobody came to by deciding
AT_ONCE = 200
DIGESTS = ("subject_digest", "predicate_digest", "key_digest", "value_digest")
Models = Any  # a registry of models: Django's own, or a migration's
Place = tuple[uuid.UUID, bytes]  # namespace, key digest


@dataclass(frozen=True, slots=True)
class HistoricalNames:
    """The digests under which a claim is known."""

    subject: bytes
    predicate: bytes
    key: bytes
    value: bytes

    @classmethod
    def given(cls, names: Naming, subject: str, predicate: str, value: str) -> "HistoricalNames":
        """Return what the rules of now give."""
        key = names.key(subject, predicate)
        return cls(key.subject, key.predicate, key.both, names.value(predicate, value))

    @classmethod
    def of(cls, row: Any) -> "HistoricalNames":
        """Return what a row has."""
        return cls(*(bytes(getattr(row, name)) for name in DIGESTS))

    def put(self, row: Any) -> None:
        """Give them to a row."""
        row.subject_digest, row.predicate_digest, row.key_digest, row.value_digest = (
            self.subject,
            self.predicate,
            self.key,
            self.value,
        )


@dataclass(slots=True)
class Renamed:
    """A claim that was named anew, or stood under its new name before (`before` equals `after`)."""

    claim: Any
    before: HistoricalNames
    after: HistoricalNames
    ruling: int = 0

    @property
    def strength(self) -> tuple[int, datetime.datetime, uuid.UUID]:
        """Who stands: the highest authority, a ruling's counted, then the newest."""
        return max(self.claim.authority, self.ruling), self.claim.fragment.created_at, self.claim.pk

    def excludes(self, other: "Renamed") -> bool:
        """Return whether both can't stand: two keys became one, nobody chose between them, and they say otherwise."""
        own, theirs = (Period(one.valid_from, one.valid_until) for one in (self.claim, other.claim))
        return (
            self.before.key != other.before.key
            and self.claim.fragment_id != other.claim.fragment_id
            and self.after.value != other.after.value
            and self.claim.session_id == other.claim.session_id
            and own.overlaps(theirs)
        )


def rename_standing(models: Models, project_id: uuid.UUID, *, using: str, now: datetime.datetime) -> int:
    """Name the claims, conflicts and rulings of a project anew; return how many claims moved. Twice is once.

    The caller is inside the project, in a transaction, and nobody writes meanwhile.
    """
    claims = _rows(models, "memories", "Claim", project_id, using)
    moved = 0
    with connections[using].cursor() as cursor:
        cursor.execute("SET CONSTRAINTS claim_one_value DEFERRED")
        for namespace_id, names in _namings(models, project_id, using).items():
            here = claims.filter(namespace_id=namespace_id)
            moves = list(_moves(here, names))
            statements = _rows(models, "conflicts", "PendingConflict", project_id, using)
            _rename_statements(statements.filter(namespace_id=namespace_id, statement__isnull=False), names)
            if moves:
                moved += len(moves)
                _write(models, project_id, namespace_id, moves, using=using)
                _settle_collisions(models, project_id, here, moves, using=using, now=now)
        cursor.execute("SET CONSTRAINTS claim_one_value IMMEDIATE")
    return moved


def _rows(models: Models, app: str, name: str, project_id: uuid.UUID, using: str) -> Any:
    return models.get_model(app, name)._base_manager.using(using).filter(project_id=project_id)


def _namings(models: Models, project_id: uuid.UUID, using: str) -> dict[uuid.UUID, Naming]:
    """Return the names of each namespace that holds claims or conflicts; a user's scope has those of its root."""
    salt = bytes(models.get_model("memories", "Project")._base_manager.using(using).get(id=project_id).salt)
    rules = defaultdict(list)
    for row in _rows(models, "conflicts", "Predicate", project_id, using):
        rules[row.namespace_id].append(rule_of(row))
    places = _rows(models, "memories", "Namespace", project_id, using).values_list("id", "parent_id")
    named = {root: Naming(salt, spellings_of(rules[root])) for root in {parent or own for own, parent in places}}
    return {own: named[parent or own] for own, parent in places}


def _moves(claims: Any, names: Naming) -> Iterable[Renamed]:
    for claim in claims.select_related("fragment").iterator():
        before, after = (
            HistoricalNames.of(claim),
            HistoricalNames.given(names, claim.subject, claim.predicate, claim.value),
        )
        if before != after:
            yield Renamed(claim, before, after)
            after.put(claim)
            if names.registers(claim.predicate):
                claim.exclusive = claim.exclusive and names.rule(claim.predicate).exclusive


def _write(
    models: Models, project_id: uuid.UUID, namespace_id: uuid.UUID, moves: Sequence[Renamed], *, using: str
) -> None:
    for number, move in enumerate(moves, start=FIRST_SPARE):
        if move.claim.exclusive and move.claim.status in STANDING and move.before.key != move.after.key:
            move.claim.slot = number
    claims = models.get_model("memories", "Claim")._base_manager.using(using)
    claims.bulk_update([move.claim for move in moves], [*DIGESTS, "exclusive", "slot"], batch_size=AT_ONCE)
    keys = {move.before.key: move.after for move in moves}
    values = {(move.before.key, move.before.value): move.after.value for move in moves}
    for name in ("PendingConflict", "Ruling"):
        rows = _rows(models, "conflicts", name, project_id, using).filter(namespace_id=namespace_id)
        rows = rows.filter(statement__isnull=True) if name == "PendingConflict" else rows
        for row in rows.filter(key_digest__in=list(keys)):
            _rename_decision(row, keys[bytes(row.key_digest)], values)


def _rename_decision(row: Any, after: HistoricalNames, values: Mapping[tuple[bytes, bytes], bytes]) -> None:
    """A conflict or ruling goes on being about its key, and names its values as the claims do."""
    before = bytes(row.key_digest)

    def renamed(value: bytes) -> bytes:
        return values.get((before, value), value)

    row.subject_digest, row.predicate_digest, row.key_digest = after.subject, after.predicate, after.key
    if hasattr(row, "chosen"):
        row.chosen, row.ruled_out = (
            [renamed(bytes.fromhex(value)).hex() for value in group] for group in (row.chosen, row.ruled_out)
        )
        row.save(update_fields=[*DIGESTS[:3], "chosen", "ruled_out"])
    else:
        row.value_digest = renamed(bytes(row.value_digest))
        row.save(update_fields=DIGESTS)


def _rename_statements(conflicts: Any, names: Naming) -> None:
    """What free texts were read as is named from what was read."""
    for row in conflicts:
        statement = row.statement
        after = HistoricalNames.given(names, statement["subject"], statement["predicate"], statement["value"])
        if after != HistoricalNames.of(row):
            after.put(row)
            row.save(update_fields=DIGESTS)


def _settle_collisions(
    models: Models, project_id: uuid.UUID, claims: Any, moves: Sequence[Renamed], *, using: str, now: datetime.datetime
) -> None:
    """Let one of those stand that say otherwise under one key by now, and the others wait."""
    former = {move.claim.pk: move.before for move in moves}
    keys = {move.after.key for move in moves if move.before.key != move.after.key}
    ruled = _ruled(_rows(models, "conflicts", "Ruling", project_id, using).filter(key_digest__in=list(keys)))
    meeting: dict[bytes, list[Renamed]] = defaultdict(list)
    standing = claims.filter(key_digest__in=list(keys), status__in=STANDING, exclusive=True)
    for claim in standing.select_related("fragment"):
        after = HistoricalNames.of(claim)
        ruling = ruled.get((claim.namespace_id, after.key, after.value.hex()), 0)
        meeting[after.key].append(Renamed(claim, former.get(claim.pk, after), after, ruling))
    conflicts = models.get_model("conflicts", "PendingConflict")
    for here in meeting.values():
        kept: list[Renamed] = []
        for one in sorted(here, key=lambda one: one.strength, reverse=True):
            opponents = [other for other in kept if one.excludes(other)]
            if not opponents:
                kept.append(one)
                continue
            _quarantine(one.claim, claims)
            for other in opponents:
                conflicts._base_manager.using(using).create(**_sides(one.claim, other.claim, now=now))


def _quarantine(claim: Any, claims: Any) -> None:
    """Let a claim wait, and its fragment where none of its claims stands any more."""
    others = claims.filter(fragment_id=claim.fragment_id).exclude(pk=claim.pk)
    if others.exists():
        claim.verdict = Status.QUARANTINED
        claim.save(update_fields=["verdict"])
    if not others.filter(status__in=STANDING).exists():
        claim.fragment.status = Status.QUARANTINED
        claim.fragment.save(update_fields=["status"])


def _ruled(rulings: Any) -> dict[tuple[uuid.UUID, bytes, str], int]:
    """Return the authority of the rulings that chose a value, by namespace, key and value."""
    found: dict[tuple[uuid.UUID, bytes, str], int] = {}
    for row in rulings.filter(replaced_by=None):
        for value in row.chosen:
            namespace = (row.namespace_id, bytes(row.key_digest), value)
            found[namespace] = max(row.authority, found.get(namespace, 0))
    return found


def _sides(newcomer: Any, existing: Any, *, now: datetime.datetime) -> dict[str, Any]:
    """Return what a conflict says of both."""
    equals = newcomer.authority == existing.authority and newcomer.fragment.owner_id != existing.fragment.owner_id
    return {
        "project_id": newcomer.project_id,
        "namespace_id": newcomer.namespace_id,
        "kind": ConflictKind.CLAIM,
        "reason": ConflictReason.OTHER_OWNER if equals else ConflictReason.AUTHORITY,
        "newcomer_id": newcomer.fragment_id,
        "existing_id": existing.fragment_id,
        "newcomer_claim": newcomer.pk,
        "existing_claim": existing.pk,
        **{name: getattr(newcomer, name) for name in DIGESTS},
        "scope": newcomer.scope,
        "session_id": newcomer.session_id,
        "new_authority": newcomer.authority,
        "existing_authority": existing.authority,
        "new_trust": _trust(newcomer.fragment, now=now),
        "existing_trust": _trust(existing.fragment, now=now),
        "created_at": now,
    }


def _trust(fragment: Any, *, now: datetime.datetime) -> float:
    """A migration's fragment has the columns and no methods."""
    return round(Fragment.trust_parts_at(fragment, now).trust, 4)
