"""What upkeep never takes out of reach, as SQL over fragments `f` with `now` as a parameter.

A claim in force that is believed more than a document's stays near and readable, and so does what a person chose; what
the user said in so many words leaves by a person or its owner only.
"""

import datetime

from conflicts.authority import SOURCE_RANK
from conflicts.rulings import fragment_chosen
from memories.access import NotPermitted, Principal
from memories.extraction import FROM_THE_USER, PASSING
from memories.ingest.updates import may_rewrite
from memories.models import Fragment
from memories.models.enums import INSTRUCTION, SourceClass
from memories.models.scoring import PROTECTED
from memories.models.sql import fetch

INFERRED, DOCUMENTED = SOURCE_RANK[SourceClass.INFERENCE], SOURCE_RANK[SourceClass.DOCUMENT]
USERS_OWN = SOURCE_RANK[SourceClass.USER_EXPLICIT]
FROM_USERS = ", ".join(f"'{source}'" for source in sorted(FROM_THE_USER))

IS_CHOSEN = fragment_chosen("f")
# What was read of somebody's deeds keeps nothing from fading. A tuple of names reads the same in SQL.
LASTS = f"(c.predicate NOT IN {PASSING!r} OR c.span_start IS NULL OR c.valid_until IS NOT NULL)"
IS_BELIEVED = f"""(f.status IN ('active', 'disputed') AND ({IS_CHOSEN} OR EXISTS (
    SELECT FROM memories_claim c WHERE c.project_id = f.project_id AND c.fragment_id = f.id
        AND c.status IN ('active', 'disputed') AND c.authority > {DOCUMENTED} AND {LASTS}
        AND (c.valid_until IS NULL OR c.valid_until > %(now)s))))"""
# What the user tells the assistant to do from now on holds, however long nobody asks about it.
IS_INSTRUCTION = f"(jsonb_exists(f.extra, '{INSTRUCTION}') AND f.source IN ({FROM_USERS}))"
# At most the first sentences are left of it.
STAYS_READABLE = f"(f.authority >= {USERS_OWN} OR {IS_INSTRUCTION} OR {IS_BELIEVED})"

# What may go into a digest: not what is kept on purpose, believed, chosen, or said by the user in so many words.
MAY_BE_DIGESTED = f"""(f.authority < {USERS_OWN} AND f.category <> 'digest'
    AND NOT (f.is_pinned OR f.is_anchor) AND f.key = '' AND f.compression IN ('full', 'summary') AND NOT EXISTS (
        SELECT FROM memories_claim c WHERE c.project_id = f.project_id AND c.fragment_id = f.id AND {LASTS})
    AND NOT {IS_INSTRUCTION} AND NOT {IS_CHOSEN})"""
# Of its owner's memories in the namespace the most important fifth, or twenty, from .7 on: who finds everything
# important takes nothing from others.
SPARED, LEAST_SPARED = 0.2, 20
IN_NAMESPACE = "(%(namespace)s::uuid IS NULL OR g.namespace_id = %(namespace)s)"


def is_spared(fragment: str = "f.id", *, within: str = "TRUE") -> str:
    """Return SQL for whether upkeep spares a fragment for its importance; `within` narrows those compared, as `g`.

    Only the important ones are put in order, which are the first; all are counted.
    """
    those = f"FROM memories_fragment g WHERE g.project_id = %(project)s AND {within}"
    return f"""{fragment} IN (
        SELECT first.id FROM (
            SELECT g.id, g.namespace_id, g.owner_id, row_number() OVER (
                PARTITION BY g.namespace_id, g.owner_id ORDER BY g.importance DESC, g.id) AS place
            {those} AND g.importance >= {PROTECTED}
        ) AS first
        JOIN (SELECT g.namespace_id, g.owner_id, count(*) AS number {those} GROUP BY 1, 2) AS held
            ON held.namespace_id = first.namespace_id AND coalesce(held.owner_id, held.namespace_id)
                = coalesce(first.owner_id, first.namespace_id)
        WHERE first.place <= greatest({LEAST_SPARED}, {SPARED} * held.number))"""


def refuse_hiding(principal: Principal, row: Fragment, condition: str, *, now: datetime.datetime) -> None:
    """Raise NotPermitted where the condition holds: its owner or a person may hide it, nobody else."""
    if may_rewrite(principal, row):
        return
    params = {"project": row.project_id, "id": row.id, "now": now}
    if fetch(
        f"SELECT FROM memories_fragment f WHERE f.project_id = %(project)s AND f.id = %(id)s AND {condition}", params
    ):
        raise NotPermitted("this memory is believed: only its owner or a person may put it out of reach")
