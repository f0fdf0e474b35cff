"""Former decisions: what people decided before rulings were kept gets them now, or waits for them again.

An applied migration imports this module by its name.
"""

import uuid
from collections.abc import Collection

from django.db import connections

from conflicts.enums import Policy
from conflicts.keys import SEEDS, canonical_key, digest_of


def create_missing_rulings(
    project_id: uuid.UUID, salt: bytes, *, namespace_ids: Collection[uuid.UUID] | None = None, using: str = "default"
) -> int:
    """Leave rulings where what was chosen stands, and opens conflicts where it was overwritten; how many rulings.

    Nothing else is changed, and nothing is done twice. The caller is inside the project.
    """
    newest = [digest_of(canonical_key(rule.name), salt=salt) for rule in SEEDS if rule.policy == Policy.NEWEST]
    places = None if namespace_ids is None else list(namespace_ids)
    with connections[using].cursor() as cursor:
        cursor.execute(
            "SELECT nova_rule_on_former_decisions(%s, %s::uuid[], %s::bytea[])", [project_id, places, newest]
        )
        return int(cursor.fetchone()[0])
