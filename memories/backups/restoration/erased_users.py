"""Erased users: who was erased here, and of whom nothing may come, is named by no restore either."""

import uuid
from typing import Any

from memories.access.users import ERASED
from memories.backups.restoration import diff
from memories.backups.restoration.erasure_filter import GONE
from memories.models import Namespace
from memories.models.namespace import parts_of
from memories.models.sql import fetch

# Row history says it, as long as that is kept; a scope of which only forgotten memories come is as good as erased.
TOLD = f"""SELECT DISTINCT pgh_obj_id FROM memories_namespaceevent WHERE project_id = %(project)s
    AND pgh_obj_id = ANY (%(ids)s) AND pgh_label = 'delete' AND pgh_context ->> 'why' = '{ERASED}'"""
HINTED = """SELECT DISTINCT s.namespace_id FROM (
        SELECT namespace_id, id FROM staged_fragment UNION ALL SELECT namespace_id, original_id FROM staged_tombstone
    ) AS s JOIN memories_erasure e ON e.project_id = %(project)s AND e.fragment_id = s.id
    WHERE s.namespace_id = ANY (%(ids)s)"""
COMING = f"""SELECT EXISTS (SELECT FROM staged_verdict WHERE verdict <> 'blocked_by_erasure')
    OR EXISTS (SELECT FROM staged_archive s WHERE s.namespace_id = %(there)s AND s.fragment_id NOT IN {GONE})
    OR EXISTS (SELECT FROM staged_tombstone s WHERE s.namespace_id = %(there)s AND s.original_id NOT IN {GONE})"""


def leave_out_erased(project_id: uuid.UUID, places: dict[str, dict[str, Any]]) -> int:
    """Take the scopes of erased users out of the staged namespaces; how many memories stay away with them."""
    scopes = {name: uuid.UUID(row["id"]) for name, row in places.items() if parts_of(name)[1] is not None}
    live = Namespace.objects.within(project_id).named(list(scopes)).values_list("name", flat=True)
    for name in live:
        del scopes[name]
    values: dict[str, Any] = {"project": project_id, "ids": list(scopes.values())}
    suspected = {which for asked in (TOLD, HINTED) for (which,) in fetch(asked, values)}
    left_out = 0
    for name, there in scopes.items():
        if there in suspected:
            blocked = diff.judge(project_id, there=there, here=there)["blocked_by_erasure"]
            ((comes,),) = fetch(COMING, {"project": project_id, "there": there})
            if not comes:
                del places[name]
                left_out += blocked
    return left_out
