"""Users of any number below one namespace, and as many memories in one namespace and in small ones beside them.

Postgres makes the memories itself: Python would take an hour for a million.
"""

import itertools
import random
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from _population import DID, KIND, VOCABULARY, WHAT, WHERE, WHO, fragment, sentence
from django.db import connection, connections
from django.utils import timezone
from rich.progress import track

from memories import access, audit, retrieval
from memories.access import Principal, keys
from memories.models import Connected, Fragment, Namespace, PendingConnection, vector_text
from memories.models.bulk import insert, stored_fields
from memories.models.sql import execute
from memories.providers import active_model, embed

EACH, AT_ONCE, SMALL = 5, 4_000, 40  # memories of a user, users at a time, namespaces as small as a user's scope
CENTRES = 500  # each two of them make a vector
# As `_population.sentence`: plain words, and six as rare as words are.
SENTENCE = """format('%%s %%s a %%s %%s %%s: %%s.', {columns}, (
    SELECT string_agg(({vocabulary})[floor(exp(random() * ln({size} + 1)))::int], ' ') FROM generate_series(1, 6)
    WHERE n.number IS NOT NULL))"""
INSTEAD = {
    "id": "gen_random_uuid()",
    "namespace_id": "n.space",
    "agent_id": "(ARRAY['main', 'ann', 'bo', 'cy', 'dee'])[1 + n.number %% 5]",
    "type": "(ARRAY['episodic', 'semantic', 'procedural'])[1 + n.number %% 3]",
    "source_type": "(ARRAY['manual', 'conversation', 'document', 'task'])[1 + n.number %% 4]",
    "tags": "ARRAY['main', 't' || n.number %% 50]",
    "outcome": "(ARRAY['', 'positive', 'negative', 'neutral'])[1 + n.number %% 4]",
    "importance": "(n.number %% 10) / 10.0",
    "created_at": "now() - n.number %% 100 * interval '1 hour'",
    "updated_at": "now() - n.number %% 100 * interval '1 hour'",
}
FRAGMENTS = """
    CREATE TEMP TABLE made ON COMMIT DROP AS WITH made AS (
        INSERT INTO memories_fragment ({columns}) SELECT {values}
        FROM memories_fragment t CROSS JOIN unnest(%s::uuid[]) WITH ORDINALITY AS n (space, number)
        WHERE t.project_id = %s AND t.id = %s RETURNING id
    ) SELECT id FROM made"""
KEYWORDS = "SELECT nova_index_keywords(array_agg(id)) FROM made"
# Texts that say something of two: sums of real embeddings.
EMBEDDINGS = """
    INSERT INTO memories_embedding
        (project_id, root_id, namespace_id, fragment_id, status, session_id, model_id, vector, cold)
    SELECT f.project_id, nova_root(f.namespace_id), f.namespace_id, f.id, f.status, '', %s,
        l2_normalize(one.vector + other.vector), false
    FROM made m JOIN memories_fragment f ON f.project_id = %s AND f.id = m.id
    JOIN centres one ON one.number = abs(hashtext(f.id::text)) %% {centres}
    JOIN centres other ON other.number = abs(hashtext(f.content)) %% {centres}"""


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
    """Return a user's name."""
    return f"user-{number}"


def fill(users: int) -> dict[str, Tenant]:
    """Three projects: `users` with their scopes, `one` namespace of as many memories, and `small` ones of five each."""
    mark = uuid.uuid4().hex[:8]
    found = {}
    _make_centres()
    for kind in ("users", "one", "small"):
        before = _octets()
        project = keys.ensure_project(f"{kind}-{mark}")
        request = keys.KeyRequest([f"{project.name}:*"], ["read", "write"], "tool_output", requests_per_minute=0)
        key = keys.issue(project, request, owner="bench").text
        principal = access.system_principal(project)
        _fill(principal, kind, users if kind != "small" else SMALL)
        _settle(principal)
        found[kind] = Tenant(principal, key, _octets() - before)
    with connections["owner"].cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")  # as autovacuum would before long
    connections.close_all()
    return found


def _make_centres() -> None:
    """Embeddings of real sentences, in a table of the session."""
    rng, model = random.Random(1), active_model()
    found = embed([sentence(rng) for _ in range(CENTRES)], model=model)
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMP TABLE centres (number integer PRIMARY KEY, vector halfvec)")
        cursor.executemany(
            "INSERT INTO centres VALUES (%s, %s)", [(n, vector_text(vector)) for n, vector in enumerate(found)]
        )
        cursor.execute("ANALYZE centres")


def _fill(principal: Principal, kind: str, groups: int) -> None:
    for start in track(range(0, groups, AT_ONCE), description=f"{kind}: {groups * EACH:,} memories"):
        with access.enter(principal, why="bench"):
            _store(principal, _spaces(principal, kind, range(start, min(start + AT_ONCE, groups))))


def _spaces(principal: Principal, kind: str, numbers: range) -> list[Namespace]:
    """Return a namespace or scope for each number."""
    project, main = principal.project_id, f"{principal.project}:main"
    root = Namespace.objects.ensure(project_id=project, name=main)
    if kind == "one":
        return [root] * len(numbers)
    if kind == "small":
        names = [f"{principal.project}:small-{n}" for n in numbers]
        return [Namespace.objects.ensure(project_id=project, name=name) for name in names]
    scopes = [Namespace(project_id=project, name=f"{main}/{name_of(n)}", parent=root, user=name_of(n)) for n in numbers]
    insert(scopes)
    return scopes


def _store(principal: Principal, spaces: Sequence[Namespace]) -> None:
    """Five memories in each of these."""
    sample = fragment(principal, spaces[0], sentence(random.Random(0)), 0, timezone.now())
    insert([sample])
    columns = [field.column for field in stored_fields(Fragment)]
    words = ", ".join(
        f"({_array(words)})[1 + floor(random() * {len(words)})::int]" for words in (WHO, DID, KIND, WHAT, WHERE)
    )
    text = SENTENCE.format(columns=words, vocabulary=_array(VOCABULARY), size=len(VOCABULARY))
    values = [{**INSTEAD, "content": text}.get(column, f't."{column}"') for column in columns]
    named = ", ".join(f'"{column}"' for column in columns)
    places = [space.id for space in spaces for _ in range(EACH)]
    project = principal.project_id
    execute(FRAGMENTS.format(columns=named, values=", ".join(values)), [places, project, sample.id])
    execute("DELETE FROM memories_fragment WHERE project_id = %s AND id = %s", [project, sample.id])
    execute(KEYWORDS, [])
    execute(EMBEDDINGS.format(centres=CENTRES), [active_model().id, project])


def _array(words: Sequence[str]) -> str:
    return "ARRAY[" + ", ".join(f"'{word}'" for word in words) + "]"


def _settle(principal: Principal) -> None:
    """As after upkeep that had the time: all connected and consolidated, sealed, counted and indexed."""
    with access.enter(principal, why="bench"):
        PendingConnection.objects.within(principal.project_id).delete()
        model = active_model()
        spaces = Namespace.objects.within(principal.project_id).iterator(chunk_size=10_000)
        while batch := list(itertools.islice(spaces, 10_000)):
            insert([Connected(project_id=row.project_id, namespace=row, model=model, changed=False) for row in batch])
    retrieval.refresh_statistics(principal, now=timezone.now())
    retrieval.maintain_indexes(principal)
    audit.seal(principal, now=timezone.now())


def _octets() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        found: int = cursor.fetchone()[0]
    return found
