"""Statements that a session of Postgres parses and plans once, and what becomes of them behind a pooler."""

import pytest
from django.db import NotSupportedError, OperationalError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from conflicts.public import ClaimDraft
from memories import retrieval
from memories.access import enter
from memories.models import sql
from memories.models.sql import copying, execute, fetch, fetch_prepared, keeps_statements, numbered
from memories.retrieval import pipeline
from memories.retrieval.candidate_search import nearest_query
from memories.retrieval.candidates import FEW_SCOPES

PREPARED = "SELECT count(*), coalesce(sum(generic_plans), 0) FROM pg_prepared_statements WHERE statement LIKE %s"
PLANS = "SELECT current_setting('plan_cache_mode')"
HERONS = "Ann: the heron nests by the mill."


@pytest.fixture
def clean(project):
    """A session that has prepared nothing."""
    keeps_statements()
    session = connection.connection
    session.execute("DEALLOCATE ALL")
    session._prepared.clear()
    session._prepared._to_flush.clear()
    return session


def ask(principal, *namespaces, query="Where does the heron nest?", **more):
    question = retrieval.Question(query, list(namespaces), **more)
    return [hit.fragment.content for hit in retrieval.find(principal, question, now=timezone.now()).hits]


def test_one_plan_serves_the_searches_of_all_namespaces(clean, principal, store):
    for name in ("acme:main", "acme:other"):
        store(name, f"{HERONS} {name}")
    found = [ask(principal, name) for name in ("acme:main", "acme:other", "acme:main", "acme:other")]
    assert found == [[f"{HERONS} {name}"] for name in ("acme:main", "acme:other")] * 2
    assert fetch(PREPARED, ["%WITH words%"]) == [(1, 4)]


def test_filters_have_a_plan_for_whatever_values(clean, principal, store):
    for tag in ("bird", "otter"):
        store("acme:main", f"{HERONS} {tag}", tags=[tag])
    for tag in ("bird", "otter"):
        assert ask(principal, "acme:main", filters=retrieval.Filters(tags=[tag])) == [f"{HERONS} {tag}"]
    assert fetch(PREPARED, ["%WITH words%"]) == [(1, 2)]


@pytest.mark.parametrize(("filters", "prepared"), [({}, 1), ({"tags": ["bird"]}, 0)])
def test_filters_beside_an_index_are_planned_for_each_time(clean, principal, store, monkeypatch, filters, prepared):
    """How many pass decides whether the index or all vectors are quicker: a tag of 500,000 took four times as long."""

    def by_index(scopes, search, **_):
        return nearest_query(scopes, search, indexed={scope.id: 100 for scope in scopes})

    monkeypatch.setattr(pipeline, "nearest_query", by_index)
    store("acme:main", HERONS, tags=["bird"])
    assert ask(principal, "acme:main", filters=retrieval.Filters(**filters)) == [HERONS]
    assert fetch(PREPARED, ["%WITH words%"])[0][0] == prepared


def test_many_scopes_are_planned_for_each_time(clean, principal, store):
    names = [f"acme:n{n}" for n in range(FEW_SCOPES + 1)]
    for name in names:
        store(name, f"{HERONS} {name}")
    assert len(ask(principal, *names, top_k=20)) == len(names)
    assert fetch(PREPARED, ["%WITH words%"]) == [(0, 0)]


def test_few_forms_serve_all_wordings(clean, principal, store):
    store("acme:main", HERONS)
    store("acme:main", "Herons eat fish.", claim=ClaimDraft("herons", "food", "fish"))
    store("acme:other", "Otters eat fish.")
    for name in ("acme:main", "acme:other"):
        for query in ("Where does Ann nest?", "Where do they nest?", "What did Ann eat yesterday?", "Ann Lee"):
            for _ in range(2):
                ask(principal, name, query=query)
    ((statements, _),) = fetch(PREPARED, ["%WITH words%"])
    assert statements <= 2


def test_behind_a_pooler_nothing_is_prepared(clean, principal, store, monkeypatch):
    monkeypatch.setattr(sql, "_sessions", {clean: False})
    store("acme:main", HERONS)
    assert ask(principal, "acme:main") == [HERONS]
    assert fetch(PREPARED, ["%"]) == [(0, 0)]
    with enter(principal, why="test", keeps_plans=True):
        assert fetch(PLANS, []) == [("auto",)]


def test_a_session_of_postgres_is_told_from_a_pooler(clean, monkeypatch):
    monkeypatch.setattr(sql, "_sessions", {})
    assert keeps_statements()
    assert list(sql._sessions) == [clean]

    class Pooled:
        """Tells another process than answers, as PgBouncer does."""

        info = type("Info", (), {"backend_pid": -1})

        def execute(self, statement):
            return clean.execute(statement)

    assert not sql._is_own(Pooled())


def test_what_holds_for_a_search_ends_with_its_transaction(principal):
    with enter(principal, why="test", keeps_plans=True):
        assert fetch(PLANS, []) == [("force_generic_plan",)]
    assert fetch(PLANS, []) == [("auto",)]
    with enter(principal, why="test"):
        assert fetch(PLANS, []) == [("auto",)]


def test_what_postgres_can_not_do_is_told_as_such(clean):
    with pytest.raises(NotSupportedError, match="DISTINCT"), transaction.atomic():
        fetch_prepared("SELECT DISTINCT id FROM memories_project FOR UPDATE", [])
    assert fetch_prepared("SELECT %s::int", [1]) == [(1,)]


def test_other_statements_leave_nothing_behind(clean):
    """psycopg would keep the text of each, however large."""
    fetch_prepared("SELECT %s::int", [1])
    for n in range(3):
        fetch("SELECT %s", ["x" * 1000 + str(n)])
    assert not clean._prepared._counts
    assert len(clean._prepared._names) == 1


def test_who_collects_statements_reads_them_with_their_values(clean):
    with CaptureQueriesContext(connection) as made:
        assert fetch_prepared("SELECT %s::text", ["heron"], binary=True) == [("heron",)]
    assert [query["sql"] for query in made] == ["SELECT 'heron'::text"]


@pytest.mark.usefixtures("committed")
def test_what_a_migration_changed_is_asked_anew():
    statement = "SELECT name FROM changed_meanwhile"
    execute("CREATE TEMPORARY TABLE changed_meanwhile (name varchar(5))", [])
    assert fetch_prepared(statement, []) == []
    execute("ALTER TABLE changed_meanwhile ALTER name TYPE varchar(6)", [])
    with pytest.raises(OperationalError, match="changed meanwhile"):
        fetch_prepared(statement, [])
    connection.close()
    assert fetch_prepared("SELECT %s::int", [1]) == [(1,)]


def test_values_are_numbered_as_the_driver_would():
    assert numbered("SELECT %s, %s, 'a%%'") == ("SELECT $1, $2, 'a%'", ["0", "1"])
    assert numbered("SELECT %(b)s, %(a)s, %(b)s") == ("SELECT $1, $2, $1", ["b", "a"])
    with pytest.raises(ValueError, match="worded %%"):
        numbered("SELECT %s LIKE 'a%'")


def test_values_by_name_reach_a_prepared_statement(db):
    statement = "SELECT %(a)s::int + %(b)s::int, %(a)s::int"
    assert fetch_prepared(statement, {"b": 2, "a": 1}) == [(3, 1)]


@pytest.mark.parametrize("ask_first", [keeps_statements, lambda: fetch_copied("COPY pg_class TO STDOUT")])
def test_a_session_that_is_lost_is_one_of_the_database(committed, monkeypatch, ask_first):
    """The driver's own errors are known to nobody: they would be answered 500."""
    monkeypatch.setattr(sql, "_sessions", {})  # else nothing is asked of one that the pool has handed out before
    connection.close()
    connection.ensure_connection()
    connection.connection.close()
    with pytest.raises(OperationalError, match="closed"):
        ask_first()
    connection.close()


def fetch_copied(statement):
    with copying(statement) as copy:
        return list(copy)
