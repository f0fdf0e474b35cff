"""Isolation by the database: whatever the code asks, only the entered project's rows exist."""

import pytest
from django.db import connection, transaction
from django.db.utils import DatabaseError, ProgrammingError

from memories import access, keys
from memories.models import Embedding, Fragment, Keywords, Namespace


@pytest.fixture
def other(db):
    """The service in another project."""
    return access.system_principal(keys.ensure_project("elsewhere"))


def test_outside_a_project_there_are_no_rows(store):
    store("acme:main", "The heron nests behind the old mill.")
    for model in (Fragment, Namespace, Embedding, Keywords):
        assert not model.objects.exists()


def test_inside_there_are_the_projects_rows_only(store, principal, other):
    store("acme:main", "The heron nests behind the old mill.")
    store("elsewhere:main", "The otter lives elsewhere.", by=other)
    with access.enter(principal, why="test"):
        assert [row.content for row in Fragment.objects.all()] == ["The heron nests behind the old mill."]
    with access.enter(other, why="test"):
        assert [row.content for row in Fragment.objects.all()] == ["The otter lives elsewhere."]


def test_raw_sql_is_bound_too(store, principal, other):
    row = store("acme:main", "The heron nests behind the old mill.")
    with access.enter(other, why="test"), connection.cursor() as cursor:
        for statement in ("UPDATE memories_fragment SET importance = 1", "DELETE FROM memories_fragment"):
            cursor.execute(statement)
            assert cursor.rowcount == 0
    with access.enter(principal, why="test"):
        assert Fragment.objects.get(id=row.id).importance == row.importance


def test_a_row_cannot_be_written_into_another_project(principal, other):
    with access.enter(other, why="test"):
        namespace = Namespace.objects.ensure(project_id=other.project_id, name="elsewhere:main")
    with (
        pytest.raises(ProgrammingError, match="row-level security"),
        access.enter(principal, why="test"),
        transaction.atomic(),
    ):
        Namespace.objects.create(project_id=other.project_id, name="elsewhere:second")
    with access.enter(other, why="test"):
        assert list(Namespace.objects.all()) == [namespace]


def test_nothing_points_across_projects(principal, other, store):
    foreign = store("elsewhere:main", "The otter lives elsewhere.", by=other)
    row = store("acme:main", "The heron nests behind the old mill.")
    with pytest.raises(DatabaseError, match="foreign key"), access.enter(principal, why="test"), transaction.atomic():
        Fragment.objects.filter(id=row.id).update(superseded_by=foreign.id)


def test_keyword_search_of_another_namespace_finds_nothing(store, principal, other):
    row = store("acme:main", "The heron nests behind the old mill.")
    ask = """SELECT count(*) FROM nova_keyword_hits(%s, %s, '{active}', '', now(), '{heron}', '{1}', 1, false,
        '{1}', 1, 5, NULL, NULL, NULL, 500, 10, 10)"""
    found = []
    for who in (principal, other):
        with access.enter(who, why="test"), connection.cursor() as cursor:
            cursor.execute(ask, [row.namespace_id] * 2)
            found.append(cursor.fetchone()[0])
    assert found == [1, 0]


def test_a_transaction_never_crosses_projects(principal, other):
    with pytest.raises(RuntimeError), access.enter(principal, why="test"), access.enter(other, why="test"):
        pass


def test_the_setting_ends_with_the_transaction(principal):
    with access.enter(principal, why="test"):
        pass
    with connection.cursor() as cursor:
        cursor.execute("SELECT nova_project()")
        assert cursor.fetchone() == (None,)


@pytest.mark.parametrize(
    "change",
    [
        {"authority": 6},
        {"created_at": "2020-01-01T00:00:00Z"},
        {"source": "user_explicit"},
        {"owner_id": "00000000-0000-0000-0000-000000000001"},
        {"grant_id": "00000000-0000-0000-0000-000000000001"},
        {"parents": ["00000000-0000-0000-0000-000000000001"]},
        {"roots": ["00000000-0000-0000-0000-000000000001"]},
        {"provenance_source_id": "forged"},
    ],
)
def test_birth_and_provenance_never_change(change, principal, store):
    row = store("acme:main", "The heron nests behind the old mill.")
    with pytest.raises(DatabaseError, match="never change"), access.enter(principal, why="test"), transaction.atomic():
        Fragment.objects.filter(id=row.id).update(**change)


@pytest.mark.parametrize(
    "broken",
    [
        {"content": ""},
        {"content": " padded "},
        {"content": "x" * 2001},
        {"importance": 1.1},
        {"importance": float("nan")},
        {"emotional_valence": -2},
        {"base_relevance": float("inf")},
        {"status": "gone"},
        {"tier": "tepid"},
        {"type": "x"},
        {"outcome": "x"},
        {"revision": 0},
    ],
)
def test_the_database_refuses_what_the_api_would(broken, principal, store):
    row = store("acme:main", "The heron nests behind the old mill.")
    with pytest.raises(DatabaseError), access.enter(principal, why="test"), transaction.atomic():
        Fragment.objects.filter(id=row.id).update(**broken)


def test_grants_never_change(alice, principal):
    from memories.models import Grant

    with pytest.raises(DatabaseError, match="never change"), access.enter(principal, why="test"), transaction.atomic():
        Grant.objects.update(ceiling="user_explicit")


def test_a_status_reaches_the_search_tables(principal, store):
    row = store("acme:main", "The heron nests behind the old mill.")
    with access.enter(principal, why="test"):
        Fragment.objects.filter(id=row.id).update(status="archived")
        assert {r.status for r in (*Keywords.objects.all(), *Embedding.objects.all())} == {"archived"}


def test_a_zero_vector_is_refused(principal, store):
    row = store("acme:main", "The heron nests behind the old mill.")
    with pytest.raises(DatabaseError, match="unit_length"), access.enter(principal, why="test"), transaction.atomic():
        Embedding.objects.filter(fragment=row).update(vector=[0.0] * 384)
