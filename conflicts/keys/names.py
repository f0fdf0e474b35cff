"""Keys: the digests under which a namespace knows subjects, predicates and values, by its rules."""

import json
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from django.db import connection

from conflicts.keys.aliases import subject_key
from conflicts.keys.normalization import canonical_key, digest_of
from conflicts.keys.predicates import Rule, is_known, rule_for, spellings_of
from conflicts.keys.values import canonical_value
from conflicts.models import Predicate
from memories.models import Project

MOST_REMEMBERED = 20_000  # predicates, about 3 MB


@dataclass(frozen=True, slots=True)
class Key:
    """What a claim is about: SHA-256 of subject, predicate and both, keyed by the project's salt."""

    subject: bytes
    predicate: bytes
    both: bytes


@dataclass(frozen=True, slots=True)
class Naming:
    """The names of one namespace: its registered rules by spelling, and the project's salt."""

    salt: bytes
    registered: Mapping[str, Rule]
    _canonical: dict[str, str] = field(default_factory=dict, init=False, repr=False, compare=False)

    def canonical(self, predicate: str) -> str:
        """Return the form in which a predicate is part of a key; remembered, for texts name the same ones."""
        if predicate not in self._canonical:
            if len(self._canonical) >= MOST_REMEMBERED:  # a namespace's texts name far more than come again
                self._canonical.clear()
            self._canonical[predicate] = canonical_key(self.rule(predicate).name)
        return self._canonical[predicate]

    def rule(self, predicate: str) -> Rule:
        """Return the rule of a predicate in any spelling."""
        return rule_for(predicate=predicate, registered=self.registered)

    def registers(self, predicate: str) -> bool:
        """Return whether the namespace or the built-in set has a rule for it."""
        return is_known(predicate=predicate, registered=self.registered)

    def subject(self, subject: str) -> bytes:
        """Return the digest of a subject."""
        return digest_of(subject_key(subject), salt=self.salt)

    def predicate(self, predicate: str) -> bytes:
        """Return the digest of a predicate: all its spellings have one."""
        return digest_of(self.canonical(predicate), salt=self.salt)

    def key(self, subject: str, predicate: str) -> Key:
        """Return the digests of a claim's key."""
        whole = digest_of(subject_key(subject), self.canonical(predicate), salt=self.salt)
        return Key(self.subject(subject), self.predicate(predicate), whole)

    def value(self, predicate: str, value: str) -> bytes:
        """Return the digest of a value, read as the predicate's values are."""
        return digest_of(canonical_value(text=value, normaliser=self.rule(predicate).normaliser), salt=self.salt)

    def exclusive(self, predicate: str, said_exclusive: bool | None) -> bool:
        """Return whether a claim takes the only value there is: the rule says so, and may only be made stricter."""
        if self.registers(predicate):
            return self.rule(predicate).exclusive or said_exclusive is True
        return said_exclusive is not False


# Of the namespace `n` of a statement: whether something is claimed in it, and what `Naming` needs, as JSON.
CLAIMED = """EXISTS (SELECT FROM memories_claim c
    WHERE c.project_id = n.project_id AND c.namespace_id = n.id AND c.status = 'active')"""
NAMES = """jsonb_build_object(
    'salt', (SELECT encode(p.salt, 'hex') FROM memories_project p WHERE p.id = n.project_id),
    'rules', (SELECT jsonb_agg(jsonb_build_array(r.name, r.exclusive, r.normaliser, r.aliases, r.policy))
        FROM conflicts_predicate r
        WHERE r.project_id = n.project_id AND r.namespace_id = coalesce(n.parent_id, n.id)))"""


def names_from(text: str) -> Naming:
    """Return the names of a namespace, from what a statement gave as `NAMES`."""
    found = json.loads(text)
    rules = [Rule(name, one, kind, tuple(aliases), policy) for name, one, kind, aliases, policy in found["rules"] or ()]
    return Naming(bytes.fromhex(found["salt"]), spellings_of(rules))


def naming(project_id: uuid.UUID, namespace_ids: Iterable[uuid.UUID]) -> dict[uuid.UUID, Naming]:
    """Return the names of each namespace, as registered now; a user's scope has those of its root."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT n.id, {NAMES} FROM memories_namespace n WHERE n.project_id = %s AND n.id = ANY (%s::uuid[])",
            [project_id, list(set(namespace_ids))],
        )
        return {namespace_id: names_from(text) for namespace_id, text in cursor}


def rule_of(row: Predicate) -> Rule:
    """Return a registered predicate as a rule."""
    return Rule(
        row.name,
        exclusive=row.exclusive,
        normaliser=row.normaliser,
        aliases=tuple(row.aliases),
        policy=row.policy,
    )


def digests_of(
    project_id: uuid.UUID, namespace_id: uuid.UUID, claims: Iterable[tuple[str, str, str]]
) -> list[tuple[bytes, bytes, bytes, bytes]]:
    """Of each subject, predicate and value the digests of these and (third) of the key, by the namespace's rules."""
    names = naming(project_id, [namespace_id])[namespace_id]
    found = []
    for subject, predicate, value in claims:
        key = names.key(subject, predicate)
        found.append((key.subject, key.predicate, key.both, names.value(predicate, value)))
    return found


def spelling_digests(project_id: uuid.UUID, predicates: Iterable[str]) -> list[bytes]:
    """Return under which each name of a rule is known to be there only once."""
    salt = _salt(project_id)
    return [digest_of(canonical_key(name), salt=salt) for name in predicates]


def _salt(project_id: uuid.UUID) -> bytes:
    """Not kept: a project that was made anew takes over the salt of what it is restored from."""
    return bytes(Project.objects.values_list("salt", flat=True).get(id=project_id))
