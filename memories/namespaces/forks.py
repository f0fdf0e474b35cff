"""Forks: a namespace begins as a copy of another; from then on neither sees what the other writes."""

from typing import Any

from django.db.models import Q

from conflicts.public import lock_namespace
from memories import access, failpoints
from memories.access import Principal
from memories.errors import BranchTaken
from memories.models import Fragment, Namespace, Operation, Origin
from memories.models.fragment import CONTAINED
from memories.models.namespace import SHARED, is_written, parts_of
from memories.models.sql import execute, fetch
from memories.namespaces.copies import PARTS, PARTS_OF_NAMESPACES, CopyRoute, await_vectors, chosen, copy, note_origins
from memories.operations import BadOptions, Options, Progress


def check_fork(options: Options) -> None:
    """Raise BadOptions unless they name a target."""
    target = options.get("target")
    if set(options) != {"target"} or not isinstance(target, str) or not is_written(target):
        raise BadOptions("target", "Name the new namespace: project:branch.")
    if parts_of(target)[0].partition(":")[2] == SHARED:
        raise BadOptions("target", f"{SHARED!r} is what the whole project reads, and no branch.")


def refuse_taken(operation: Operation) -> None:
    """Raise BranchTaken before a fork is queued whose target is not empty, BadOptions before one to another user."""
    target = operation.options["target"]
    if target.partition(":")[0] != operation.project.name:
        raise BadOptions("target", "A branch is of the same project.")
    require_same_user(operation, target, field="target")
    found = Namespace.objects.within(operation.project_id).named([target]).first()
    if found is not None and (found.id == operation.namespace_id or not is_empty(found)):
        raise BranchTaken(f"there is {found.name} already, with memories in it")


def require_same_user(operation: Operation, other: str, *, field: str) -> None:
    """Raise BadOptions where a branch would carry one user's memories to another, or to all."""
    if operation.namespace is not None and operation.namespace.user != parts_of(other)[1]:
        raise BadOptions(field, "The scope of a user has branches of the same user only.")


def is_empty(namespace: Namespace) -> bool:
    """Return whether it holds no memory."""
    return not Fragment.objects.within(namespace.project_id).filter(with_users(namespace)).exists()


def with_users(namespace: Namespace) -> Q:
    """Rows of a namespace and of the scopes of its users."""
    return Q(namespace=namespace) | Q(namespace__parent=namespace)


def copied(branch: Namespace) -> int:
    """Return how many memories a branch began with."""
    return int(Origin.objects.within(branch.project_id).filter(with_users(branch), operation_id=None).count())


def fork(principal: Principal, operation: Operation, progress: Progress) -> dict[str, Any]:
    """Fork as an operation asks; see `copy_namespace`. Begun again after its end it has nothing to do."""
    if operation.cursor:
        return dict(operation.cursor)
    source = operation.namespace
    assert source is not None  # the kind asks for one
    with access.enter(principal, why="fork"):
        total = Fragment.objects.within(source.project_id).filter(with_users(source)).count()
        progress.save(stage="copy", done=0, total=total)
    with progress.alive(), access.enter(principal, why="fork"):
        report = copy_namespace(source, operation.options["target"])
        progress.save(stage="copied", done=report["copied"], total=report["copied"], cursor=report)
        failpoints.reach("branches.forked")
    failpoints.reach("branches.fork.committed")
    return report


def copy_namespace(source: Namespace, name: str) -> dict[str, Any]:
    """Copy all that a namespace and its users' scopes hold into a new or empty one, in the open transaction.

    Whoever stores in either waits meanwhile. The same authorities, times, votes and source ids under new ids. What was
    forgotten in another place is not copied. Raise BranchTaken.
    """
    lock_namespace(source.id)
    target, _ = Namespace.objects.branch(source=source, name=name)
    lock_namespace(target.id)
    if target.id == source.id or not is_empty(target):
        raise BranchTaken(f"there is {name} already, with memories in it")
    total = _lock_memories(source)
    contained = Fragment.objects.within(source.project_id).filter(with_users(source), archived_reason=CONTAINED).count()
    _made_a_branch(source, target)
    way = CopyRoute(source, target, with_users=True)
    with chosen(way, rows=f"t.archived_reason <> '{CONTAINED}'") as copied:
        for part in (*PARTS, *PARTS_OF_NAMESPACES):
            copy(way, part)
            failpoints.reach(f"branches.fork.{part.table}")
        note_origins(way)
        await_vectors(way)
    counts = {"copied": copied, "blocked_by_erasure": total - copied - contained, "contained": contained}
    return {"namespace": name, "forked_from": source.name, **counts}


def _lock_memories(source: Namespace) -> int:
    """Hold every memory of a namespace and its users as it is; how many there are."""
    ((count,),) = fetch(
        """SELECT count(*) FROM (SELECT FROM memories_fragment f JOIN memories_namespace n
               ON n.project_id = f.project_id AND n.id = f.namespace_id
               WHERE f.project_id = %s AND %s IN (n.id, n.parent_id) ORDER BY f.id FOR SHARE OF f) AS held""",
        [source.project_id, source.id],
    )
    return int(count)


# A scope for each user of the source; who has one there keeps it.
BRANCHED = """
    INSERT INTO memories_namespace (id, project_id, name, parent_id, "user", forked_from_id, language, archive_policy,
        created_at)
    SELECT gen_random_uuid(), s.project_id, %(name)s || substr(s.name, strpos(s.name, '/')), %(target)s, s."user", s.id,
        s.language, s.archive_policy, now()
    FROM memories_namespace s WHERE s.project_id = %(project)s AND s.parent_id = %(source)s
    ON CONFLICT (project_id, parent_id, "user") DO UPDATE SET forked_from_id = excluded.forked_from_id"""


def _made_a_branch(source: Namespace, target: Namespace) -> None:
    """Its settings are the source's; what is left of an empty namespace goes. Nothing is a branch of its own."""
    rows = Namespace.objects.within(source.project_id)
    sources = dict(rows.filter(parent=None).values_list("id", "forked_from"))
    above = source.id
    while sources.get(above) not in (None, target.id):
        above = sources.pop(above)
    former = Q(id=above, forked_from=target) | Q(parent=above, forked_from__parent=target)
    rows.filter(former).update(forked_from=None)
    rows.filter(id=target.id).update(forked_from=source, language=source.language, archive_policy=source.archive_policy)
    there = {"project": source.project_id, "source": source.id, "target": target.id, "name": target.name}
    execute(BRANCHED, there)
    # By ids: through a join the database would go through the origins of all projects.
    places = [target.id, *rows.filter(parent=target).values_list("id", flat=True)]
    Origin.objects.within(source.project_id).filter(namespace__in=places).delete()
    execute(
        "DELETE FROM conflicts_predicate WHERE project_id = %s AND namespace_id = %s", [source.project_id, target.id]
    )
