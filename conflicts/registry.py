"""The registry: what a namespace says of its predicates (docs/spec.md §4). Its rules come before the built-in ones.

Whoever changes a rule holds the namespace alone, and the standing claims take the names that the rule gives them.
"""

import datetime
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.db.models import QuerySet

from conflicts import locks
from conflicts.authority import SOURCE_RANK, refuse_below
from conflicts.key_migration import rekey, with_users
from conflicts.keys import SEEDS, Naming, Rule, canonical_key, digest_of, naming, rule_for, rule_of, spellings_of
from conflicts.models import Predicate
from memories import access
from memories.access import NotFound, NotPermitted, Principal
from memories.errors import NovaError, StaleRevision
from memories.models import Claim, Namespace
from memories.models.enums import STANDING, SourceClass, Verb

LONGEST, MOST_ALIASES = 100, 50
CHANGEABLE = frozenset(("exclusive", "aliases", "normaliser", "policy"))


class PredicateTaken(NovaError):
    """The namespace has a rule of that name already."""

    code = "predicate_taken"

    def __init__(self, *, name: str) -> None:
        super().__init__(f"{name!r} is registered here already: change it instead")
        self.name = name


class BadPredicate(Exception):
    """A name or alias that can't be kept."""

    def __init__(self, message: str, *, field: str, index: int | None = None) -> None:
        super().__init__(message)
        self.field, self.index = field, index


def built_in_predicates() -> tuple[Rule, ...]:
    """Return the rules that hold where a namespace says nothing else."""
    return SEEDS


def registered_predicates(principal: Principal, namespace: str | None = None) -> QuerySet[Any]:
    """Return the rules of one namespace, or of all that the principal covers. To be read inside `access.enter`.

    Raise NotFound, NotPermitted.
    """
    principal.require(Verb.READ)
    with access.enter(principal, why="list"):
        namespaces = access.readable(principal, [namespace]) if namespace else access.all_readable(principal)
        namespaces = [_root(place) for place in namespaces]
        rows: QuerySet[Any] = Predicate.objects.within(principal.project_id).filter(namespace__in=namespaces)
        return rows.select_related("namespace")


def register_predicate(
    principal: Principal,
    *,
    namespace: str,
    name: str,
    exclusive: bool | None = None,
    aliases: Sequence[str] = (),
    normaliser: str | None = None,
    policy: str | None = None,
    now: datetime.datetime,
) -> Predicate:
    """Give a namespace a rule of its own; what is not said stays as the built-in rule has it.

    Raise NotFound, NotPermitted (also for a claim above the ceiling that stands under it), BadPredicate,
    PredicateTaken, AliasCollision, ClaimsCollide.
    """
    principal.require(Verb.ADMIN)
    with access.enter(principal, why="register predicate"), access.showing_all_users():
        scope = _root(access.writable(principal, namespace))
        locks.lock_namespace(scope.id)
        names = naming(principal.project_id, [scope.id])[scope.id]
        text: dict[str, Any] = {"exclusive": exclusive, "normaliser": normaliser, "policy": policy}
        rule = replace(
            rule_for(predicate=name),
            name=_spelled(name, field="name"),
            aliases=_aliases(name, aliases),
            **{word: value for word, value in text.items() if value is not None},
        )
        if row_of(names, principal.project_id, scope.id, name) is not None:
            raise PredicateTaken(name=rule.name)
        refuse_low_rule(principal, scope.id, names, rule.spellings())
        row = Predicate(project_id=principal.project_id, namespace=scope, created_at=now)
        return _save_rule(row, rule, names=names, now=now)


def change_predicate(
    principal: Principal,
    which: uuid.UUID | tuple[str, str],
    *,
    changes: Mapping[str, Any],
    revision: int | None = None,
    now: datetime.datetime,
) -> Predicate:
    """Change `exclusive`, `aliases`, `normaliser`, `policy` of the rule with this id, or this namespace and name.

    Raise NotFound, NotPermitted (as `register`), BadPredicate, StaleRevision when `revision` is not the current one,
    AliasCollision, ClaimsCollide.
    """
    principal.require(Verb.ADMIN)
    assert set(changes) <= CHANGEABLE
    with access.enter(principal, why="change predicate"), access.showing_all_users():
        found = _find(principal, which)
        locks.lock_namespace(found.namespace_id)
        row = Predicate.objects.within(found.project_id).select_related("namespace").filter(id=found.id).first()
        if row is None:
            raise NotFound("predicate")
        if revision is not None and revision != row.revision:
            raise StaleRevision("rule", current=row.revision)
        values = {**changes, "aliases": _aliases(row.name, changes.get("aliases", row.aliases))}
        rule = replace(rule_of(row), **values)
        row.revision += 1
        names = naming(row.project_id, [row.namespace_id])[row.namespace_id]
        refuse_low_rule(principal, row.namespace_id, names, {*rule.spellings(), *rule_of(row).spellings()})
        return _save_rule(row, rule, names=names, now=now)


def refuse_low_rule(principal: Principal, namespace_id: uuid.UUID, names: Naming, spellings: Iterable[str]) -> None:
    """Raise NotPermitted when a claim above the principal's ceiling stands under a rule that is to change.

    Rules bind what users will say, too: whoever may not even speak for one makes none.
    """
    refuse_below(principal, [SOURCE_RANK[SourceClass.USER_IMPLICIT]], what="what a rule binds")
    digests = {names.predicate(spelling) for spelling in spellings}
    with access.showing_all_users():
        standing = Claim.objects.within(principal.project_id).filter(with_users(namespace_id), status__in=STANDING)
        ranks = standing.filter(predicate_digest__in=digests).order_by("-authority").values_list("authority", flat=True)
        refuse_below(principal, ranks[:1], what="a claim that stands under this rule")


def _root(namespace: Namespace) -> Namespace:
    """Whose rules hold in a namespace. Raise NotPermitted for the scope of a user, which has none of its own."""
    if namespace.parent_id is not None:
        raise NotPermitted("rules are of the namespace, for all its users: leave the user out")
    return namespace


def _find(principal: Principal, which: uuid.UUID | tuple[str, str]) -> Predicate:
    """The row, which somebody else may still change. Raise NotFound, NotPermitted where the principal only reads."""
    rows = Predicate.objects.within(principal.project_id).select_related("namespace")
    if isinstance(which, uuid.UUID):
        row: Predicate | None = rows.filter(id=which).first()
        if row is not None and principal.covers_reading(row.namespace.name):
            principal.require_covered(row.namespace.name)
    else:
        namespace = Namespace.objects.within(principal.project_id).filter(name=which[0]).first()
        names = naming(principal.project_id, [namespace.id])[namespace.id] if namespace else None
        row = row_of(names, principal.project_id, namespace.id, which[1]) if namespace and names else None
    if row is None or not principal.covers(row.namespace.name):
        raise NotFound("predicate")
    return row


def row_of(names: Naming, project_id: uuid.UUID, namespace_id: uuid.UUID, name: str) -> Predicate | None:
    """Return the registered rule of that name, in any spelling."""
    rows = Predicate.objects.within(project_id).select_related("namespace").filter(namespace=namespace_id)
    found: Predicate | None = rows.filter(spelling_digest=_digest(names, name)).first()
    return found


def _digest(names: Naming, name: str) -> bytes:
    return digest_of(canonical_key(name), salt=names.salt)


def _save_rule(row: Predicate, rule: Rule, *, names: Naming, now: datetime.datetime) -> Predicate:
    """Write a rule in place of the former one of its name; the standing claims are named by it from now on."""
    own = canonical_key(rule.name)
    rules = dict.fromkeys(names.registered.values())
    former = [other for other in rules if canonical_key(other.name) == own]
    others = [other for other in rules if other not in former]
    rekey(
        row.project_id,
        row.namespace_id,
        old=names,
        new=Naming(names.salt, spellings_of([*others, rule])),
    )
    write_rule(row, rule, names=names, now=now)
    return row


def write_rule(row: Predicate, rule: Rule, *, names: Naming, now: datetime.datetime) -> None:
    """Save the row as the rule says."""
    row.name, row.aliases, row.spelling_digest = rule.name, list(rule.aliases), _digest(names, rule.name)
    row.exclusive, row.normaliser, row.policy = rule.exclusive, rule.normaliser, rule.policy
    row.updated_at = now
    row.save()


def _spelled(text: str, *, field: str, index: int | None = None) -> str:
    """A name or alias, trimmed. Raise BadPredicate when it is too long or holds nothing that could be compared."""
    text = text.strip()
    if len(text) > LONGEST:
        raise BadPredicate(f"Use at most {LONGEST} characters.", field=field, index=index)
    if not canonical_key(text):
        raise BadPredicate("Use letters or digits: nothing of this can be compared.", field=field, index=index)
    return text


def _aliases(name: str, aliases: Sequence[str]) -> tuple[str, ...]:
    """Return each further spelling once."""
    if len(aliases) > MOST_ALIASES:
        raise BadPredicate(f"Give at most {MOST_ALIASES} aliases.", field="aliases")
    spelled = [_spelled(alias, field="aliases", index=index) for index, alias in enumerate(aliases)]
    once = {canonical_key(alias): alias for alias in reversed(spelled)}
    once.pop(canonical_key(name), None)
    return tuple(reversed(once.values()))
