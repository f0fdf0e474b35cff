"""Cardinality: a predicate comes to take many values because somebody decided so in a conflict, and back."""

import datetime
import uuid
from dataclasses import replace
from typing import Any

from conflicts.key_migration import locked, refuse_collisions, with_cardinality, with_users, write
from conflicts.keys import naming, rule_of
from conflicts.models import Predicate
from conflicts.registry import LONGEST, row_of, write_rule
from memories import access
from memories.errors import StaleRevision
from memories.models import Claim
from memories.models.namespace import roots_of


@access.showing_all_users()
def make_multi_valued(
    *, namespace_id: uuid.UUID, project_id: uuid.UUID, predicate_name: str, now: datetime.datetime
) -> dict[str, Any]:
    """Let a predicate, in any spelling, and all its claims take many values; answer what it was before, for JSON.

    Rules are the root namespace's: those of a user's scope change with it.

    One that is not registered becomes so; whatever else its rule says stays. The caller holds the namespace, in the
    open transaction.
    """
    namespace_id = roots_of(project_id, [namespace_id])[namespace_id]
    names = naming(project_id, [namespace_id])[namespace_id]
    rule, one = names.rule(predicate_name), names.exclusive(predicate_name, None)
    row = row_of(names, project_id, namespace_id, rule.name)
    registered = row is not None
    if row is None:
        # The aliases of a built-in rule lead on to the one in its place without being named.
        name = rule.name if 0 < len(rule.name) <= LONGEST else predicate_name
        row = Predicate(project_id=project_id, namespace_id=namespace_id, created_at=now)
        write_rule(row, replace(rule, name=name, aliases=(), exclusive=False), names=names, now=now)
    elif row.exclusive:
        row.revision += 1
        write_rule(row, replace(rule_of(row), exclusive=False), names=names, now=now)
    claims = _claims(project_id, namespace_id, names.predicate(predicate_name))
    exceptions = claims.exclude(exclusive=one).order_by("id").values_list("id", flat=True)
    former = {
        "registered": registered,
        "exclusive": one,
        "exceptions": list(map(str, exceptions)),  # they had asked for something else than the rule says
        "left": row.revision,
    }
    write(project_id, [with_cardinality(claim, exclusive=False) for claim in locked(claims.filter(exclusive=True))])
    return former


@access.showing_all_users()
def restore_predicate(
    *,
    namespace_id: uuid.UUID,
    project_id: uuid.UUID,
    predicate_name: str,
    former: dict[str, Any],
    now: datetime.datetime,
) -> None:
    """Take `make_multi_valued` back; claims that came meanwhile follow the rule that holds again.

    The caller holds the namespace, in the open transaction, and has made the claims stand as they shall. Raises
    StaleRevision when the rule was changed since, and ClaimsCollide when claims stand that could not stand together.
    """
    namespace_id = roots_of(project_id, [namespace_id])[namespace_id]
    names = naming(project_id, [namespace_id])[namespace_id]
    row = row_of(names, project_id, namespace_id, names.rule(predicate_name).name)
    if row is None or row.revision != former["left"]:
        raise StaleRevision("rule", current=row.revision if row else None)
    asked_otherwise = {uuid.UUID(claim_id) for claim_id in former["exceptions"]}
    moves = [
        with_cardinality(claim, exclusive=exclusive)
        for claim in locked(_claims(project_id, namespace_id, names.predicate(predicate_name)))
        if (exclusive := former["exclusive"] != (claim.id in asked_otherwise)) != claim.exclusive
    ]
    refuse_collisions(project_id, namespace_id, moves)
    if not former["registered"]:
        row.delete()
    elif row.exclusive != former["exclusive"]:
        row.revision += 1
        write_rule(row, replace(rule_of(row), exclusive=former["exclusive"]), names=names, now=now)
    write(project_id, moves)


def _claims(project_id: uuid.UUID, namespace_id: uuid.UUID, predicate: bytes) -> Any:
    return Claim.objects.within(project_id).filter(with_users(namespace_id), predicate_digest=predicate)
