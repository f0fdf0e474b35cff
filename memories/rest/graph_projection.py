"""Claims drawn as the reference memory server's graph: entities with types and observations, and relations."""

from collections.abc import Iterable
from typing import Any

from conflicts.history import Believed
from conflicts.keys import canonical_key

TYPE, OBSERVATION = "entity_type", "observation"
UNKNOWN = "unknown"


def sentence(subject: str, predicate: str, value: str) -> str:
    """Return a claim of the graph as the text of its memory."""
    return f"{subject}: {value}" if predicate in (TYPE, OBSERVATION) else f"{subject} {predicate} {value}"


def draw(newest_first: Iterable[Believed]) -> dict[str, list[dict[str, Any]]]:
    """`{entities: [{name, entityType, observations}], relations: [{from, to, relationType}]}`, oldest first.

    Spellings of a name are one entity, named as it was at first.
    """
    entities: dict[str, dict[str, Any]] = {}
    relations: dict[tuple[str, ...], dict[str, str]] = {}
    oldest_first = list(newest_first)[::-1]  # those of one moment stay in order
    for claim in sorted(oldest_first, key=lambda one: one.recorded_at):
        blank = {"name": claim.subject, "entityType": UNKNOWN, "observations": []}
        entity = entities.setdefault(canonical_key(claim.subject), blank)
        if claim.predicate == TYPE:
            entity["entityType"] = claim.value
        elif claim.predicate == OBSERVATION:
            entity["observations"].append(claim.value)
        else:
            key = tuple(map(canonical_key, (claim.subject, claim.predicate, claim.value)))
            relation = {"from": entity["name"], "to": claim.value, "relationType": claim.predicate}
            relations.setdefault(key, relation)
    return {"entities": list(entities.values()), "relations": list(relations.values())}
