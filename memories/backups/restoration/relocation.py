"""Relocation: one namespace of what is staged, with its users, moves under another name and other ids.

So a backup can stand beside what lives: as a branch, whose memories are known to be copies of what they were.
"""

import hashlib
import uuid
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from memories.access import Principal
from memories.backups.restoration import diff, erasure_filter
from memories.backups.restoration.staging_tables import BY_FRAGMENT, MEMBERS, UNDER
from memories.errors import BranchTaken, NovaError
from memories.models import Containment, Fragment, Namespace
from memories.models.fragment import CONTAINED
from memories.models.namespace import parts_of, scope_name
from memories.models.sql import execute, fetch

if TYPE_CHECKING:
    from memories.backups.restoration.pipeline import Read

OF_PLACES = ("predicate", "conflict", "ruling", "episode", "origin")
NEW_ID = "md5(s.{0}::text || %(salt)s)::uuid"
MOVED = "(SELECT m.new FROM staged_moved m WHERE m.old = s.{0})"
EACH_MOVED = """ARRAY(SELECT coalesce(m.new, e.id) FROM unnest(s.{0}) WITH ORDINALITY AS e (id, place)
    LEFT JOIN staged_moved m ON m.old = e.id ORDER BY e.place)"""
ONLY_MOVED = """ARRAY(SELECT m.new FROM unnest(s.{0}) WITH ORDINALITY AS e (id, place)
    JOIN staged_moved m ON m.old = e.id ORDER BY e.place)"""
# A claim's id follows from its fragment's and its position; of one whose position is not told it is its fragment's.
CLAIM_MOVED = """coalesce((SELECT nova_claim_id(m.new, c.position) FROM staged_claim c
    JOIN staged_moved m ON m.old = c.fragment_id WHERE c.id = s.{0}), {1})"""
# Of what lost to some, as wholes and in part.
RELEASED = (
    """UPDATE staged_claim c SET status = 'active', verdict = '', superseded_by_id = NULL FROM staged_fragment f
        WHERE f.id = c.fragment_id AND c.status = 'superseded'
            AND coalesce(c.superseded_by_id, f.superseded_by_id) = ANY (%s)""",
    """UPDATE staged_fragment SET status = 'active', superseded_by_id = NULL
        WHERE status = 'superseded' AND superseded_by_id = ANY (%s)""",
)
BLOCKED = "SELECT id FROM staged_verdict WHERE verdict = 'blocked_by_erasure'"
MAP = """
    CREATE TEMP TABLE staged_moved (old uuid PRIMARY KEY, new uuid);
    INSERT INTO staged_moved SELECT s.id, md5(s.id::text || %(salt)s)::uuid FROM staged_fragment s;
    ANALYZE staged_moved"""
# Of which memory each is a copy, in place of what the bundle says of that.
ORIGINS = """
    WITH former AS (DELETE FROM staged_origin RETURNING fragment_id, root_id)
    INSERT INTO staged_origin (fragment_id, project_id, namespace_id, origin_id, root_id, revision)
    SELECT m.new, s.project_id, s.namespace_id, m.old, coalesce(o.root_id, m.old), s.revision
    FROM staged_fragment s JOIN staged_moved m ON m.old = s.id LEFT JOIN former o ON o.fragment_id = s.id"""


class NotInBackup(NovaError):
    """The backup holds no such namespace."""

    status = 400
    code = "not_in_backup"
    title = "The backup holds no such namespace"
    is_kept = True


def moved_id(fragment_id: str, *, salt: str) -> str:
    """Return the id under which a memory of the bundle comes, as `NEW_ID` makes it."""
    return str(uuid.UUID(hashlib.md5(f"{fragment_id}{salt}".encode(), usedforsecurity=False).hexdigest()))


def refuse_taken(project_id: uuid.UUID, target: str) -> None:
    """Raise BranchTaken unless the namespace is not there, or empty, with all its users."""
    rows = Namespace.objects.within(project_id).named([target])
    found = rows.first()
    scopes = [found, *Namespace.objects.within(project_id).below([found])] if found else []
    if Fragment.objects.within(project_id).in_namespaces(scopes).exists():
        raise BranchTaken(f"there is {target} already, with memories in it")


def relocate(principal: Principal, read: "Read", *, source: str, target: str, salt: str) -> dict[str, int]:
    """Move a staged namespace and its users' scopes; all else is no longer staged. Return what is left out, by why.

    `source` is empty where the backup holds one namespace only. What was forgotten, there or here, or is contained does
    not move; and nothing is forgotten here by it. Raise NotInBackup.
    """
    places = read.stage.namespaces
    roots = {parts_of(name)[0] for name in places}
    source = source or (roots.pop() if len(roots) == 1 else "")
    chosen = {name: row for name, row in places.items() if parts_of(name)[0] == source}
    if source not in chosen:
        told = f"it holds {', '.join(sorted({parts_of(name)[0] for name in places}))}: name one of these"
        raise NotInBackup(told)
    live = dict(Namespace.objects.within(principal.project_id).named(list(chosen)).values_list("name", "id"))
    left_out: Counter[str] = Counter()
    for name, row in chosen.items():
        left_out["forgotten"] += _drop_forgotten(principal.project_id, there=uuid.UUID(row["id"]), here=live.get(name))
    left_out["contained"] = _drop_contained(principal.project_id, [row["id"] for row in chosen.values()])
    # A user of whom nothing comes along is not named either.
    held = {str(place) for (place,) in fetch("SELECT DISTINCT namespace_id FROM staged_fragment", [])}
    chosen = {name: row for name, row in chosen.items() if parts_of(name)[1] is None or str(row["id"]) in held}
    values: dict[str, Any] = {"salt": salt, "places": [row["id"] for row in chosen.values()]}
    _drop_others(values)
    _renumber(values)
    read.stage.namespaces = {}
    for name, row in chosen.items():
        moved = scope_name(target, parts_of(name)[1])
        ((there,),) = fetch("SELECT md5(%s || %s)::uuid", [row["id"], salt])
        origin = name if name in live else None
        read.stage.namespaces[moved] = {**row, "name": moved, "id": str(there), "forked_from": origin}
    return dict(+left_out)


def _drop_forgotten(project_id: uuid.UUID, *, there: uuid.UUID, here: uuid.UUID | None) -> int:
    """Take away what may not come where it was; how many memories."""
    counts = diff.judge(project_id, there=there, here=here or there)
    erasure_filter.drop(project_id, there=there, here=here or there)
    execute(f"DELETE FROM staged_fragment WHERE id IN ({BLOCKED})", [])
    return int(counts["blocked_by_erasure"])


def _drop_contained(project_id: uuid.UUID, places: Sequence[str]) -> int:
    """Take away what a containment in force reaches, here or by who wrote it, of these namespaces; how many memories.

    What they had taken the place of stands.
    """
    written = "SELECT id, owner_id, grant_id, created_at FROM staged_fragment WHERE namespace_id = ANY (%s::uuid[])"
    rows = fetch(written, [list(places)])
    contained = Containment.objects.reaching(project_id, rows)
    here = Fragment.objects.within(project_id).filter(id__in=[row[0] for row in rows], archived_reason=CONTAINED)
    contained |= set(here.values_list("id", flat=True))
    execute("DELETE FROM staged_fragment WHERE id = ANY (%s)", [list(contained)])
    for statement in RELEASED:
        execute(statement, [list(contained)])
    return len(contained)


def _drop_others(values: dict[str, Any]) -> None:
    for table in ("fragment", *OF_PLACES):
        execute(f"DELETE FROM staged_{table} WHERE namespace_id <> ALL (%(places)s::uuid[])", values)
    gone = "NOT EXISTS (SELECT FROM staged_fragment f WHERE f.id = s.{0})"
    # No title stays of an episode of which nothing comes along.
    execute(
        f"""DELETE FROM staged_episode s WHERE EXISTS (SELECT FROM {MEMBERS} m WHERE m.episode_id = s.id)
            AND NOT EXISTS (SELECT FROM {MEMBERS} m JOIN staged_fragment f ON f.id = m.fragment_id
                WHERE m.episode_id = s.id)""",
        [],
    )
    for table in (*(f"staged_{name}" for name in UNDER), "staged_vector", MEMBERS):
        execute(f"DELETE FROM {table} s WHERE {gone.format('fragment_id')}", [])
    execute(f"DELETE FROM staged_links s WHERE {gone.format('other_id')}", [])
    # Copies and tombstones are of memories as they live; what was forgotten there has done its part.
    for table in ("archive", "tombstone", "erasure", "forgotten"):
        execute(f"DELETE FROM staged_{table}", [])


def _renumber(values: dict[str, Any]) -> None:
    execute(MAP, values)
    execute(ORIGINS, values)
    place = f"namespace_id = {NEW_ID.format('namespace_id')}"
    sides = {side: MOVED.format(f"{side}_id") for side in ("newcomer", "existing")}
    claims = {side: CLAIM_MOVED.format(f"{side}_claim", moved) for side, moved in sides.items()}
    _update("staged_origin", place, values)
    _update("staged_predicate", f"id = {NEW_ID.format('id')}, {place}", values)
    _update(
        "staged_conflict",
        f"""id = {NEW_ID.format("id")}, {place}, before = NULL, newcomer_id = {sides["newcomer"]},
            existing_id = {sides["existing"]}, newcomer_claim = {claims["newcomer"]},
            existing_claim = {claims["existing"]}""",
        values,
    )
    _update(
        "staged_ruling",
        f"""id = {NEW_ID.format("id")}, {place}, fragment_id = {MOVED.format("fragment_id")},
            conflict_id = {NEW_ID.format("conflict_id")}, replaced_by_id = {NEW_ID.format("replaced_by_id")},
            chosen_fragments = {ONLY_MOVED.format("chosen_fragments")},
            ruled_out_fragments = {ONLY_MOVED.format("ruled_out_fragments")}""",
        values,
    )
    _update("staged_episode", f"id = {NEW_ID.format('id')}, {place}", values)
    member = f"episode_id = {NEW_ID.format('episode_id')}, fragment_id = {MOVED.format('fragment_id')}"
    _update(MEMBERS, member, values)
    claim = f"""id = nova_claim_id({MOVED.format("fragment_id")}, s.position), {place},
        superseded_by_id = {MOVED.format("superseded_by_id")}, fragment_id = {MOVED.format("fragment_id")}"""
    _update("staged_claim", claim, values)
    _update("staged_vector", f"fragment_id = {MOVED.format('fragment_id')}", values)
    for name in UNDER:
        if name != "claim":
            own = "" if name in BY_FRAGMENT else f"id = {NEW_ID.format('id')}, "
            other = f", other_id = {MOVED.format('other_id')}" if name == "links" else ""
            _update(f"staged_{name}", f"{own}fragment_id = {MOVED.format('fragment_id')}{other}", values)
    _update(
        "staged_fragment",
        f"""id = {MOVED.format("id")}, {place}, superseded_by_id = {MOVED.format("superseded_by_id")},
            parents = {EACH_MOVED.format("parents")}, roots = {EACH_MOVED.format("roots")}""",
        values,
    )


def _update(table: str, changes: str, values: dict[str, Any]) -> None:
    execute(f"UPDATE {table} s SET {changes}", values)
