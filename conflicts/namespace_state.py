"""Namespace state: what belief and ingest need to know of a namespace before a text is heard there, read at once."""

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from conflicts.keys import NAMES, Naming, names_from
from memories.models import Namespace
from memories.models.answer_rows import ModelColumns
from memories.models.namespace import parts_of
from memories.models.scoring import OWN_RATES, Rates
from memories.models.sql import fetch_prepared

NAMESPACE = ModelColumns.of(Namespace, 0)
FACTS = f"""{NAMESPACE.worded("n")}, {NAMES} AS named,
    EXISTS (SELECT FROM memories_claim c
        WHERE c.project_id = n.project_id AND c.namespace_id = n.id AND c.status IN ('active', 'disputed')
    ) AS is_claimed,
    EXISTS (SELECT FROM memories_erasure e WHERE e.project_id = n.project_id) AS has_erasures,
    EXISTS (SELECT FROM conflicts_ruling r
        WHERE r.project_id = n.project_id AND r.namespace_id = n.id AND cardinality(r.ruled_out_prints) > 0
    ) AS has_rulings,
    {OWN_RATES} AS rates"""
STATES = f"""
    SELECT {FACTS}
    FROM memories_namespace n
    WHERE n.project_id = %(project)s AND n.parent_id IS NULL AND n.name = ANY (%(roots)s::text[])
    UNION ALL
    SELECT {FACTS}
    FROM unnest(%(above)s::text[], %(users)s::text[]) AS wanted (root, "user")
    JOIN memories_namespace r ON r.project_id = %(project)s AND r.parent_id IS NULL AND r.name = wanted.root
    JOIN memories_namespace n ON n.project_id = r.project_id AND n.parent_id = r.id AND n."user" = wanted."user"
    ORDER BY name"""


@dataclass(frozen=True, slots=True)
class NamespaceState:
    """A namespace or scope, its names, and what may stand against a text."""

    namespace: Namespace
    naming: Naming
    # Whether a claim stands in it.
    is_claimed: bool
    # Whether its project has forgotten anything.
    has_erasures: bool
    # Whether somebody ruled a memory out here.
    has_rulings: bool
    # By which its project's memories weigh.
    rates: Rates


def states_of(project_id: uuid.UUID, names: Iterable[str]) -> dict[str, NamespaceState]:
    """Return by name the state of each namespace or scope; one that is missing is made."""
    wanted = list(names)
    found = _read(project_id, wanted)
    if missing := [name for name in wanted if parts_of(name) not in found]:
        for name in sorted(missing):
            Namespace.objects.ensure(project_id=project_id, name=name)
        found |= _read(project_id, missing)
    return {name: found[parts_of(name)] for name in wanted}


def _read(project_id: uuid.UUID, names: list[str]) -> dict[tuple[str, str | None], NamespaceState]:
    parts = [parts_of(name) for name in names]
    scopes = [(root, user) for root, user in parts if user is not None]
    wanted = {
        "project": project_id,
        "roots": [root for root, user in parts if user is None],
        "above": [root for root, _ in scopes],
        "users": [user for _, user in scopes],
    }
    states = [_state(row) for row in fetch_prepared(STATES, wanted)]
    return {(state.namespace.root_name, state.namespace.user): state for state in states}


def _state(row: Sequence[Any]) -> NamespaceState:
    named, is_claimed, has_erasures, has_rulings, rates = row[NAMESPACE.end :]
    naming = names_from(named)
    return NamespaceState(NAMESPACE.instance(row), naming, is_claimed, has_erasures, has_rulings, Rates.of(rates))
