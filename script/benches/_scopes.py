"""Users of any number below one namespace, and as many memories in one namespace and in small ones beside them."""

import itertools
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from _population import Texts, fragment
from django.db import connection, connections
from django.utils import timezone
from rich.progress import track

from conflicts.front import embeddings, index_keywords
from memories import access, audit, keys, retrieval
from memories.access import Principal
from memories.models import Connected, Namespace, PendingConnection
from memories.models.bulk import insert
from memories.providers import active_model

EACH, AT_ONCE, SMALL = 5, 1_000, 40  # memories of a user, users at a time, namespaces as small as a user's scope


@dataclass(frozen=True, slots=True)
class Tenant:
    """A project, a key for it, and how many bytes of the database it took."""

    principal: Principal
    key: str
    octets: int

    @property
    def namespace(self) -> str:
        """Where all of it is, or below which."""
        return f"{self.principal.project}:main"


def name_of(number: int) -> str:
    """A user's name."""
    return f"user-{number}"


def fill(texts: Texts, users: int) -> dict[str, Tenant]:
    """Three projects: `users` with their scopes, `one` namespace of as many memories, and `small` ones of five each."""
    mark = uuid.uuid4().hex[:8]
    found = {}
    for kind in ("users", "one", "small"):
        before = _octets()
        project = keys.ensure_project(f"{kind}-{mark}")
        wish = keys.Wish([f"{project.name}:*"], ["read", "write"], "tool_output", requests_per_minute=0)
        key = keys.issue(project, wish, owner="bench").text
        principal = access.system_principal(project)
        _fill(texts, principal, kind, users if kind != "small" else SMALL)
        _settle(principal)
        found[kind] = Tenant(principal, key, _octets() - before)
    with connections["owner"].cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")  # as autovacuum would before long
    connections.close_all()
    return found


def _fill(texts: Texts, principal: Principal, kind: str, groups: int) -> None:
    for start in track(range(0, groups, AT_ONCE), description=f"{kind}: {groups * EACH:,} memories"):
        numbers = range(start, min(start + AT_ONCE, groups))
        with access.enter(principal, why="bench"):
            _store(texts, principal, _spaces(principal, kind, numbers))


def _spaces(principal: Principal, kind: str, numbers: range) -> list[Namespace]:
    """A namespace or scope for each number."""
    project, main = principal.project_id, f"{principal.project}:main"
    root = Namespace.objects.ensure(project_id=project, name=main)
    if kind == "one":
        return [root] * len(numbers)
    if kind == "small":
        names = [f"{principal.project}:small-{n}" for n in numbers]
        return [Namespace.objects.ensure(project_id=project, name=name) for name in names]
    return list(
        Namespace.objects.bulk_create(
            Namespace(project_id=project, name=f"{main}/{name_of(n)}", parent=root, user=name_of(n)) for n in numbers
        )
    )


def _store(texts: Texts, principal: Principal, spaces: Sequence[Namespace]) -> None:
    model, now = active_model(), timezone.now()
    contents, vectors = texts.batch(EACH * len(spaces))
    places = itertools.chain.from_iterable([space] * EACH for space in spaces)
    rows = [
        fragment(principal, place, text, n, now) for n, (place, text) in enumerate(zip(places, contents, strict=True))
    ]
    insert(rows)
    index_keywords([row.id for row in rows])
    insert(embeddings([(row, vector, []) for row, vector in zip(rows, vectors, strict=True)], model=model))


def _settle(principal: Principal) -> None:
    """As after upkeep that had the time: all connected and consolidated, sealed, counted and indexed."""
    with access.enter(principal, why="bench"):
        PendingConnection.objects.within(principal.project_id).delete()
        model = active_model()
        spaces = Namespace.objects.within(principal.project_id).iterator(chunk_size=10_000)
        while batch := list(itertools.islice(spaces, 10_000)):
            insert([Connected(project_id=row.project_id, namespace=row, model=model, changed=False) for row in batch])
    retrieval.keep_statistics(principal, now=timezone.now())
    retrieval.keep_indexes(principal)
    audit.seal(principal, now=timezone.now())


def _octets() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        found: int = cursor.fetchone()[0]
    return found
