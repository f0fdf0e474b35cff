"""Isolation by the database: whatever the code asks, only the entered project's rows exist."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context

import pytest
from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.sessions.models import Session
from django.db import connection, transaction
from django.db.utils import DatabaseError, ProgrammingError
from django.test import Client

from memories import access
from memories.access import keys
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


def test_a_thread_has_a_transaction_of_its_own(service, neighbour):
    """Although its context says that one is open: that of another thread's connection."""

    def seen(who):
        try:
            with access.enter(who, why="test"):
                return Namespace.objects.count()
        finally:
            connection.close()

    with access.enter(service, why="test"):
        Namespace.objects.ensure(project_id=service.project_id, name=f"{service.project}:main")
    known = seen(service)
    with access.enter(service, why="test"), ThreadPoolExecutor(1) as threads:
        for who, number in ((service, known), (access.system_principal(neighbour), 0)):
            assert threads.submit(copy_context().run, seen, who).result() == number
        assert Namespace.objects.count() == known > 0


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


class TestInjection:
    """What somebody would run who can send SQL on a connection that serves."""

    @pytest.mark.parametrize(
        "statement",
        [
            "SET ROLE nova_owner",
            "SET LOCAL ROLE nova_owner",
            "SET SESSION AUTHORIZATION nova_owner",
            "SET ROLE postgres",
            "SET ROLE pg_read_all_data",
            "ALTER ROLE nova_app BYPASSRLS",
            "ALTER TABLE memories_fragment NO FORCE ROW LEVEL SECURITY",
            "ALTER TABLE memories_fragment DISABLE TRIGGER ALL",
            "DROP POLICY tenant ON memories_fragment",
            "SET session_replication_role = replica",
            "CREATE FUNCTION public.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        ],
    )
    def test_becomes_nobody_who_sees_more(self, statement, db):
        with connection.cursor() as cursor, pytest.raises(ProgrammingError), transaction.atomic():
            cursor.execute(statement)

    def test_leaves_rows_of_other_projects_hidden(self, alice, charlie, store):
        mine = store("acme:main", "The heron nests behind the old mill.")
        body = {"namespace": "elsewhere:main", "content": "The otter lives in another project."}
        assert charlie.client.post("/api/v1/fragments", body, format="json").status_code == 201
        with access.enter(alice.principal, why="test"), connection.cursor() as cursor:
            for statement in ("RESET ROLE", "SET ROLE NONE", "RESET SESSION AUTHORIZATION", "SET row_security = off"):
                cursor.execute(statement)
                with suppress(ProgrammingError), transaction.atomic():  # with row_security off Postgres refuses at all
                    cursor.execute("SELECT id FROM memories_fragment")
                    assert cursor.fetchall() == [(mine.id,)]
            cursor.execute("SELECT session_user, current_user")
            assert cursor.fetchall() == [("nova_app", "nova_app")]

    @pytest.mark.parametrize(
        "statement",
        [
            "UPDATE auth_user SET is_superuser = true",
            "UPDATE auth_user SET is_active = true",
            "UPDATE auth_user SET username = 'mine'",
            "DELETE FROM auth_user",
            "INSERT INTO auth_user_user_permissions (user_id, permission_id) VALUES (1, 1)",
            "INSERT INTO auth_group (name) VALUES ('mine')",
            "UPDATE auth_permission SET codename = 'mine'",
            "UPDATE django_content_type SET model = 'mine'",
            "UPDATE django_admin_log SET object_repr = ''",
            "DELETE FROM django_admin_log",
            "DELETE FROM django_migrations",
            "INSERT INTO django_migrations (app, name, applied) VALUES ('memories', 'mine', now())",
            "UPDATE pghistory_context SET metadata = '{}'",
            "UPDATE memories_loginevent SET user_id = 1",
            "DELETE FROM memories_loginevent",
            "SELECT * FROM memories_embedding_00",
            "SELECT * FROM memories_keywords_07",
        ],
    )
    def test_accounts_and_records_stay_as_they_are(self, statement, db):
        with (
            connection.cursor() as cursor,
            pytest.raises(ProgrammingError, match="permission denied"),
            transaction.atomic(),
        ):
            cursor.execute(statement)

    def test_makes_nobody_an_operator(self, db):
        with pytest.raises(ProgrammingError, match="operator"), transaction.atomic():
            get_user_model()._default_manager.create_superuser("mine")

    def test_an_operators_password_stays(self, superuser_of, project):
        root = superuser_of("root")
        with (
            connection.cursor() as cursor,
            pytest.raises(ProgrammingError, match="operator"),
            transaction.atomic(),
        ):
            cursor.execute("UPDATE auth_user SET password = 'mine' WHERE id = %s", [root.pk])

    def test_nobodys_session_is_taken_over_from_its_row(self, superuser_of, project):
        theirs = Client()
        theirs.force_login(superuser_of("root"))
        assert theirs.get("/admin/").status_code == 200
        cookie = theirs.cookies[settings.SESSION_COOKIE_NAME].value
        row = Session.objects.get(session_key=hashlib.sha256(cookie.encode()).hexdigest()[:40])
        mine = "s" * 32
        Session.objects.create(session_key=mine, session_data=row.session_data, expire_date=row.expire_date)
        digest = hashlib.sha256(mine.encode()).hexdigest()[:40]
        Session.objects.create(session_key=digest, session_data=row.session_data, expire_date=row.expire_date)
        for key in (row.session_key, mine):
            thief = Client()
            thief.cookies[settings.SESSION_COOKIE_NAME] = key
            assert thief.get("/admin/").status_code == 302, key
        assert row.session_key != cookie
