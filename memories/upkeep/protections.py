"""What upkeep never takes out of reach, as SQL over fragments `f` with `now` as a parameter.

A claim in force that is believed more than a document's stays near and readable, and so does what a person chose; what
the user said in so many words leaves by a person or its owner only.
"""

import datetime
import uuid

from conflicts.authority import SOURCE_RANK
from memories.access import NotPermitted, Principal
from memories.extraction import PASSING
from memories.ingest.updates import may_rewrite
from memories.models import Fragment
from memories.models.enums import SourceClass
from memories.models.scoring import PROTECTED
from memories.models.sql import fetch

INFERRED, DOCUMENTED = SOURCE_RANK[SourceClass.INFERENCE], SOURCE_RANK[SourceClass.DOCUMENT]
USERS_OWN = SOURCE_RANK[SourceClass.USER_EXPLICIT]

IS_CHOSEN = """EXISTS (SELECT FROM conflicts_ruling r WHERE r.project_id = f.project_id AND r.replaced_by_id IS NULL
    AND r.namespace_id = f.namespace_id AND f.id = ANY (r.chosen_fragments))"""
# What somebody did once keeps nothing from fading.
LASTS = f"c.predicate NOT IN {PASSING!r}"  # a tuple of names reads the same in SQL
IS_BELIEVED = f"""(f.status IN ('active', 'disputed') AND ({IS_CHOSEN} OR EXISTS (
    SELECT FROM memories_claim c WHERE c.project_id = f.project_id AND c.fragment_id = f.id
        AND c.status IN ('active', 'disputed') AND c.authority > {DOCUMENTED} AND {LASTS}
        AND (c.valid_until IS NULL OR c.valid_until > %(now)s))))"""
# At most the first sentences are left of it.
STAYS_READABLE = f"(f.authority >= {USERS_OWN} OR {IS_BELIEVED})"

# The least importance of at most so many memories of a place, and what it is where more have the same.
SPARED, LEAST_SPARED, NOBODYS = 0.2, 20, 2.0
SPARED_FROM = f"""
    SELECT coalesce(min(importance), {NOBODYS}) FROM (
        SELECT f.importance, count(*) OVER () AS held,
            count(*) OVER (ORDER BY f.importance DESC RANGE UNBOUNDED PRECEDING) AS as_important
        FROM memories_fragment f WHERE f.project_id = %(project)s
            AND (%(namespace)s::uuid IS NULL OR f.namespace_id = %(namespace)s)
    ) AS ranked WHERE importance >= {PROTECTED} AND as_important <= greatest({LEAST_SPARED}, {SPARED} * held)
"""


def protected_from(project_id: uuid.UUID, namespace_id: uuid.UUID | None = None) -> float:
    """Return the importance from which upkeep spares a memory of a namespace, or of the project; in a transaction.

    At least .7, and so high that it spares at most a fifth of what is there, or twenty.
    """
    ((importance,),) = fetch(SPARED_FROM, {"project": project_id, "namespace": namespace_id})
    return float(importance)


def refuse_hiding(principal: Principal, row: Fragment, condition: str, *, now: datetime.datetime) -> None:
    """Raise NotPermitted where the condition holds: its owner or a person may hide it, nobody else."""
    if may_rewrite(principal, row):
        return
    params = {"project": row.project_id, "id": row.id, "now": now}
    if fetch(
        f"SELECT FROM memories_fragment f WHERE f.project_id = %(project)s AND f.id = %(id)s AND {condition}", params
    ):
        raise NotPermitted("this memory is believed: only its owner or a person may put it out of reach")
