"""Changes: an increment holds what changed since its base, and names what is gone."""

import datetime
import json
from collections.abc import Iterable, Iterator

from memories.backups.bundle import records
from memories.backups.bundle.records import Record, Selection, Since
from memories.models import Backup, Namespace
from memories.models.sql import batches, fetch

# An increment's own kinds, after those of any bundle: fragments that are gone, and the copies that are still kept.
KINDS = ("gone", "kept")
IDS = 5_000  # of a record

# Reads and votes are written soon after they happen, not at once.
LATE = datetime.timedelta(hours=1)

GONE = """SELECT DISTINCT e.id FROM memories_fragmentevent e
    WHERE e.project_id = %(project)s AND e.pgh_label = 'delete' AND e.recorded_in >= %(since)s::text::xid8
        AND NOT EXISTS (SELECT FROM memories_fragment f WHERE f.project_id = e.project_id AND f.id = e.id
            AND f.namespace_id = ANY (%(places)s))
    ORDER BY e.id"""
KEPT = """SELECT t.id FROM memories_archive t
    WHERE t.project_id = %(project)s AND t.namespace_id = ANY (%(places)s) ORDER BY t.id"""

# What an increment leaves out, of namespaces that its base leaves out too.
OLDER = """SELECT DISTINCT f.namespace_id FROM memories_fragment f
    WHERE f.project_id = %(project)s AND f.namespace_id = ANY (%(places)s) AND f.change < %(since)s::text::xid8
    UNION SELECT t.namespace_id FROM memories_archive t
    WHERE t.project_id = %(project)s AND t.namespace_id = ANY (%(places)s) AND t.archived_at < %(time)s"""


def base_position(base: Backup) -> Since:
    """Return where a backup ends that another goes on from."""
    if base.upto is None or base.exported_at is None:
        raise ValueError("an upload has no change numbers of this instance")
    return Since(base.upto, base.exported_at - LATE)


def uncovered(base: Backup, namespaces: Iterable[Namespace]) -> list[str]:
    """Return the names of those of which an increment would leave something out that does not stand in the base."""
    missing = {row.id: row.name for row in namespaces if row.name not in base.namespaces}
    if not missing:
        return []
    selection = Selection(base.project_id, tuple(missing), since=base_position(base))
    return sorted(missing[which] for (which,) in fetch(OLDER, selection.values))


def read(selection: Selection) -> Iterator[Record]:
    """Return every record of the selection; of an increment also what is gone."""
    yield from records.read(selection)
    if selection.since is None:
        return
    for kind, statement in zip(KINDS, (GONE, KEPT), strict=True):
        for batch in batches(statement, selection.values, size=IDS):
            ids = [str(row[0]) for row in batch]
            yield Record(kind, json.dumps({"kind": kind, "ids": ids}).encode())
