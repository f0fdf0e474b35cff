"""What upkeep never takes out of reach, as SQL over fragments `f` with `now` as a parameter.

A claim in force that is believed more than a document's stays near and readable, and so does what a person chose; what
the user said in so many words leaves by a person or its owner only.
"""

import datetime

from conflicts.authority import SOURCE_RANK
from memories.access import NotPermitted, Principal
from memories.extraction import PASSING
from memories.ingest.updates import may_rewrite
from memories.models import Fragment
from memories.models.enums import SourceClass
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


def refuse_hiding(principal: Principal, row: Fragment, condition: str, *, now: datetime.datetime) -> None:
    """Raise NotPermitted where the condition holds: its owner or a person may hide it, nobody else."""
    if may_rewrite(principal, row):
        return
    params = {"project": row.project_id, "id": row.id, "now": now}
    if fetch(
        f"SELECT FROM memories_fragment f WHERE f.project_id = %(project)s AND f.id = %(id)s AND {condition}", params
    ):
        raise NotPermitted("this memory is believed: only its owner or a person may put it out of reach")
