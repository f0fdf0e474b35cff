"""Vector indexes and word statistics of large namespaces: kept in the background, and what a search finds with them."""

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, connections
from django.db.models import Q
from django.utils import timezone

from conflicts.search_index import embeddings, index_keywords
from memories import access, retrieval, tasks
from memories.access import keys
from memories.models import (
    DocumentFrequency,
    Embedding,
    EmbeddingModel,
    Fragment,
    KeywordStatistics,
    Namespace,
    vector_text,
)
from memories.models.bulk import insert
from memories.providers import active_model
from memories.retrieval import (
    Filters,
    Question,
    candidate_search,
    drop_strays,
    find,
    indexes,
    maintain_indexes,
    refresh_statistics,
    statistics,
)
from memories.retrieval.candidate_search import (
    NearestQuery,
    Search,
    index_name,
    indexed,
    keyword_hits,
    nearest,
    passing,
)
from memories.retrieval.indexes import memory_for
from memories.retrieval.query_features import Cues
from memories.retrieval.questions import Reach
from memories.retrieval.search_plan import SearchWay
from memories.retrieval.search_scopes import scopes_of

MANY = 300


@pytest.fixture
def small(monkeypatch):
    """What counts as large, brought down to what a test can fill."""
    monkeypatch.setattr(indexes, "CROSSOVER", MANY - 1)
    monkeypatch.setattr(indexes, "DROP_BELOW", MANY // 2)
    monkeypatch.setattr(statistics, "LARGE", MANY)


@pytest.fixture
def ground(django_db_setup, django_db_blocker):
    """A committed project, because indexes are built from outside any transaction; it and its indexes go afterwards."""
    with django_db_blocker.unblock():
        project = keys.ensure_project("index-ground")
        yield access.system_principal(project)
        with connections["owner"].cursor() as cursor:
            cursor.execute("SELECT relname FROM pg_class WHERE relname LIKE 'vectors\\_%'")
            for (name,) in cursor.fetchall():
                cursor.execute(f"DROP INDEX IF EXISTS {name}")
            cursor.execute("DELETE FROM memories_project WHERE id = %s", [project.id])
        for alias in connections:
            connections[alias].close()


def fill(principal, name, vectors, *, words="heron", **more):
    """Stores fragments with these vectors; their texts hold `words` and a number."""
    model, now = active_model(), timezone.now()
    with access.enter(principal, why="test"):
        namespace = access.writable(principal, f"{principal.project}:{name}")
        rows = [
            Fragment(
                project_id=principal.project_id,
                namespace=namespace,
                agent_id=name,
                type="semantic",
                content=f"{words} n{number}",
                source_type="manual",
                importance=0.5,
                source="inference",
                authority=1,
                created_at=now,
                updated_at=now,
                **more,
            )
            for number in range(len(vectors))
        ]
        insert(rows)
        index_keywords([row.id for row in rows])
        insert(embeddings([(row, v, []) for row, v in zip(rows, vectors, strict=True)], model=model))
    return rows


def near(centre, count, *, seed=0, spread=0.3):
    rng = np.random.default_rng(seed)
    made = centre + spread * rng.normal(size=(count, 384)) / np.sqrt(384)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


def axis(number):
    vector = np.zeros(384, np.float32)
    vector[number] = 1.0
    return vector


def wanted(vector, *, query="heron", filters=None, most=10):
    now, told = timezone.now(), None if vector is None else vector_text(vector)
    return Search(query, told, active_model(), filters or Filters(), Reach("", now), Cues(), now, most)


def spaces(principal, *names):
    names = [f"{principal.project}:{name}" for name in names]
    return scopes_of(Namespace.objects.within(principal.project_id).named(names))


def test_a_large_namespace_gets_an_index_and_loses_it_when_it_shrinks(ground, small):
    rows = fill(ground, "main", near(axis(0), MANY))
    fill(ground, "little", near(axis(0), 10))
    assert maintain_indexes(ground) == (1, 0)
    assert maintain_indexes(ground) == (0, 0)
    with access.enter(ground, why="test"):
        (main,) = spaces(ground, "main")
        assert set(indexed(spaces(ground, "main", "little"), active_model())) == {main.id}
        exact, ways = nearest([main], wanted(axis(0)), indexed={})
        assert ways == {main.id: SearchWay.SCAN}
        found, ways = nearest([main], wanted(axis(0)), indexed={main.id: MANY})
        assert ways == {main.id: SearchWay.INDEX}
        assert len(set(found) & set(exact)) >= 9  # of 10: it is approximate
        Fragment.objects.filter(id__in=[row.id for row in rows[: MANY - 10]]).delete()
    assert maintain_indexes(ground) == (0, 1)
    with access.enter(ground, why="test"):
        assert indexed(spaces(ground, "main"), active_model()) == {}


@pytest.mark.parametrize(
    ("rare", "none"), [({"tags": ["rare"]}, {"tags": ["none"]}), ({"rows": Q(category="a")}, {"rows": Q(category="b")})]
)
def test_with_an_index_filters_still_hold_for_every_hit(ground, small, rare, none):
    fill(ground, "main", near(axis(0), MANY - 20))
    tagged = fill(ground, "main", near(axis(0), 20, seed=1, spread=2.0), tags=["rare"], category="a")
    maintain_indexes(ground)
    with access.enter(ground, why="test"):
        (main,) = spaces(ground, "main")
        search = wanted(axis(0), filters=Filters(**rare), most=20)
        found, ways = nearest([main], search, indexed={main.id: MANY}, among=passing([main], search))
        assert ways == {main.id: SearchWay.PICK}
        assert set(found) == {row.id for row in tagged}
        search = wanted(axis(0), filters=Filters(**none))
        nobody, ways = nearest([main], search, indexed={main.id: MANY}, among=passing([main], search))
        assert (nobody, ways) == ({}, {main.id: SearchWay.NOTHING})


def test_many_that_pass_the_filters_are_found_through_the_index(ground, small, monkeypatch):
    monkeypatch.setattr(candidate_search, "FEW", 5)
    rows = fill(ground, "main", near(axis(0), MANY), tags=["common"])
    maintain_indexes(ground)
    with access.enter(ground, why="test"):
        (main,) = spaces(ground, "main")
        search = wanted(axis(0), filters=Filters(tags=["common"]), most=10)
        assert passing([main], search) is None
        found, ways = nearest([main], search, indexed={main.id: MANY})
        exact, _ = nearest([main], search, indexed={})
        assert ways == {main.id: SearchWay.INDEX}
        assert len(set(found) & set(exact)) >= 9  # of 10: it is approximate
        assert set(found) <= {row.id for row in rows}


def test_what_is_not_active_is_not_found_through_the_index(ground, small):
    rows = fill(ground, "main", near(axis(0), MANY))
    maintain_indexes(ground)
    with access.enter(ground, why="test"):
        Fragment.objects.filter(id__in=[row.id for row in rows[:-3]]).update(status="archived")
        (main,) = spaces(ground, "main")
        found, _ = nearest([main], wanted(axis(0)), indexed={main.id: MANY})
        assert set(found) == {row.id for row in rows[-3:]}


@pytest.mark.long
def test_vectors_of_others_change_neither_results_nor_order(ground, small):
    """3,000 foreign vectors nearer to the question than any of its own."""
    fill(ground, "main", near(axis(0), MANY, spread=3.0))
    maintain_indexes(ground)
    refresh_statistics(ground, now=timezone.now())

    def hits_found():
        with access.enter(ground, why="test"):
            (main,) = spaces(ground, "main")
            dense, _ = nearest([main], wanted(axis(0)), indexed={main.id: MANY})
            return list(dense.items()), list(keyword_hits([main], wanted(None)).items())

    before = hits_found()
    fill(ground, "other", near(axis(0), 3000, seed=5, spread=0.01))
    assert hits_found() == before
    with access.enter(ground, why="test"):
        question = Question("heron", [f"{ground.project}:main"], project_wide=False)
    assert len(find(ground, question, now=timezone.now()).hits) == 10


def test_what_a_build_left_half_done_is_built_again(ground, small):
    fill(ground, "main", near(axis(0), MANY))
    with access.enter(ground, why="test"):
        (main,) = spaces(ground, "main")
        partition = (
            Embedding.objects.filter(namespace=main.id).extra(select={"part": "tableoid::regclass"}).first().part
        )
    # A build that fails on its way leaves its name behind.
    half = f"CREATE UNIQUE INDEX CONCURRENTLY {index_name(main.id, active_model())} ON {partition} (namespace_id)"
    with connections["owner"].cursor() as cursor, pytest.raises(IntegrityError):
        cursor.execute(half)
    with access.enter(ground, why="test"):
        assert indexed([main], active_model()) == {}
    assert maintain_indexes(ground) == (1, 0)
    with access.enter(ground, why="test"):
        assert set(indexed([main], active_model())) == {main.id}


def test_statistics_are_counted_for_large_namespaces_and_again_when_these_change(ground, small):
    fill(ground, "main", near(axis(0), MANY))
    fill(ground, "little", near(axis(0), 10), words="otter")
    now = timezone.now()
    assert refresh_statistics(ground, now=now) == 1
    assert refresh_statistics(ground, now=now) == 0
    fill(ground, "main", near(axis(0), MANY // 5), words="heron mill")
    assert refresh_statistics(ground, now=now) == 1
    with access.enter(ground, why="test"):
        assert KeywordStatistics.objects.within(ground.project_id).get().documents == MANY + MANY // 5
        counted = DocumentFrequency.objects.within(ground.project_id).values_list("lexeme", "documents")
        words = {lexeme: documents for lexeme, documents in counted if not lexeme.startswith("\x01")}
        assert words == {"heron": MANY + MANY // 5, "mill": MANY // 5}
        assert dict(counted)["\x01type semantic"] == MANY + MANY // 5
        Fragment.objects.filter(namespace__name=f"{ground.project}:main").update(status="archived")
    refresh_statistics(ground, now=now)


@pytest.mark.parametrize("query", ["mill", "the heron at the mill", "heron", "unheard of", "otter mill heron"])
def test_the_rarest_words_lead_to_the_same_answers(ground, small, query):
    fill(ground, "main", near(axis(0), MANY))
    fill(ground, "main", near(axis(0), 7), words="the heron nests behind the mill")
    with access.enter(ground, why="test"):
        before = keyword_hits(spaces(ground, "main"), wanted(None, query=query))
    refresh_statistics(ground, now=timezone.now())
    with access.enter(ground, why="test"):
        after = keyword_hits(spaces(ground, "main"), wanted(None, query=query))
    assert list(after) == list(before)
    assert list(after.values()) == pytest.approx(list(before.values()), rel=0.25)


def test_words_that_are_all_common_lead_to_where_most_of_them_meet(ground, small, monkeypatch):
    monkeypatch.setattr(candidate_search, "BUDGET", 100)
    fill(ground, "main", near(axis(0), MANY), words="the heron at the mill")
    fill(ground, "main", near(axis(0), MANY), words="the otter at the mill")
    best = fill(ground, "main", near(axis(0), 5), words="the heron and the otter at the mill")
    refresh_statistics(ground, now=timezone.now())
    with access.enter(ground, why="test"):
        found = keyword_hits(spaces(ground, "main"), wanted(None, query="heron otter mill"))
    assert set(list(found)[:5]) == {row.id for row in best}
    assert len(found) == 10, "where few meet, texts with fewer of the words follow"


def test_few_that_pass_the_filters_are_found_by_words_that_stand_everywhere(ground, small, monkeypatch):
    monkeypatch.setattr(candidate_search, "FILTERED_BUDGET", 20)
    fill(ground, "main", near(axis(0), MANY))
    tagged = fill(ground, "main", near(axis(0), 3), tags=["rare"])
    refresh_statistics(ground, now=timezone.now())
    with access.enter(ground, why="test"):
        (main,) = spaces(ground, "main")
        search = wanted(None, filters=Filters(tags=["rare"]))
        assert set(keyword_hits([main], search, among=passing([main], search))) == {row.id for row in tagged}


def test_what_many_pass_is_known_without_looking(ground, small, monkeypatch):
    monkeypatch.setattr(candidate_search, "FEW", 50)
    fill(ground, "main", near(axis(0), MANY - 60), tags=["common"])
    fill(ground, "main", near(axis(0), 60), tags=["common", "scarce"], source_id="s")
    refresh_statistics(ground, now=timezone.now())
    with access.enter(ground, why="test"):
        (main,) = spaces(ground, "main")
        assert passing([main], wanted(None, filters=Filters(tags=["common"]))) is None
        # Counted before: what has gone since is still estimated.
        Fragment.objects.filter(source_id="s").delete()
        assert passing([main], wanted(None, filters=Filters(tags=["scarce"]))) is None
        assert passing([main], wanted(None, filters=Filters(tags=["unheard of"]))).ids == "{}"


def test_what_an_index_gives_up_on_is_looked_for_exactly(ground, small, monkeypatch):
    """Sets that are not independent: more are expected to pass than do."""
    monkeypatch.setattr(candidate_search, "FEW", 5)
    monkeypatch.setattr(candidate_search, "MOST_SCANNED", 1)
    monkeypatch.setattr(candidate_search, "EF_SEARCH", 10)
    fill(ground, "main", near(axis(0), MANY))
    both = fill(ground, "main", near(axis(0), 6, spread=6.0), tags=["far"], workflow_id="w")
    maintain_indexes(ground)
    with access.enter(ground, why="test"):
        (main,) = spaces(ground, "main")
        search = wanted(axis(0), filters=Filters(tags=["far"], workflow_id="w"))
        assert passing([main], search) is None
        found, ways = nearest([main], search, indexed={main.id: MANY})
        assert ways == {main.id: SearchWay.INDEX}
        assert set(found) == {row.id for row in both}


def test_statuses_that_an_index_gives_up_on_are_looked_for_exactly(ground, small, monkeypatch):
    monkeypatch.setattr(candidate_search, "MOST_SCANNED", 1)
    monkeypatch.setattr(candidate_search, "EF_SEARCH", 10)
    fill(ground, "main", near(axis(0), MANY))
    far = fill(ground, "main", near(axis(0), 6, spread=6.0), status="archived")
    maintain_indexes(ground)
    with access.enter(ground, why="test"):
        (main,) = spaces(ground, "main")
        search = wanted(axis(0), filters=Filters(status_filter=["archived"]))
        found, ways = nearest([main], search, indexed={main.id: MANY})
        assert ways == {main.id: SearchWay.INDEX}
        assert set(found) == {row.id for row in far}


def test_cold_memories_are_found_by_words_and_by_meaning_on_request(ground, small):
    rows = fill(ground, "main", near(axis(0), MANY))
    with access.enter(ground, why="test"):
        (main,) = spaces(ground, "main")
        Fragment.objects.filter(id__in=[row.id for row in rows[:5]]).update(tier="cold")
    maintain_indexes(ground)
    cold = {row.id for row in rows[:5]}
    on_request = wanted(axis(0), filters=Filters(tier=["cold"]))
    with access.enter(ground, why="test"):
        for ready in ({}, {main.id: MANY}):
            assert not cold & set(nearest([main], wanted(axis(0), most=MANY), indexed=ready)[0])
            among = passing([main], on_request)
            assert set(nearest([main], on_request, indexed=ready, among=among)[0]) == cold
        assert cold <= set(keyword_hits([main], wanted(None, most=MANY)))
        Fragment.objects.filter(id__in=cold).update(tier="hot")
        assert cold <= set(nearest([main], wanted(axis(0), most=MANY), indexed={})[0])


def test_indexes_of_namespaces_that_are_gone_are_dropped(ground, small):
    fill(ground, "main", near(axis(0), MANY))
    maintain_indexes(ground)
    assert drop_strays() == 0
    with access.enter(ground, why="test"):
        (main,) = spaces(ground, "main")
        assert set(indexed([main], active_model())) == {main.id}
        Namespace.objects.within(ground.project_id).filter(id=main.id).delete()
    assert drop_strays() == 1
    with access.enter(ground, why="test"):
        assert indexed([main], active_model()) == {}


@pytest.fixture
def following(ground):
    """A second model; it goes before the project does."""
    with access.enter(ground, why="test"):
        made = EmbeddingModel.objects.create(name="following", provider="fake", dim=384, state="ready")
    yield made
    with access.enter(ground, why="test"):
        Embedding.objects.within(ground.project_id).filter(model=made).delete()
        made.delete()


def test_indexes_of_a_model_that_was_retired_are_dropped(ground, small, following):
    fill(ground, "main", near(axis(0), MANY))
    with access.enter(ground, why="test"):
        former, (main,) = active_model(), spaces(ground, "main")
        rows = Embedding.objects.within(ground.project_id).filter(namespace=main.id)
        insert(embeddings([(row.fragment, axis(1), []) for row in rows.select_related("fragment")], model=following))
    assert maintain_indexes(ground) == (2, 0)
    assert drop_strays() == 0
    with access.enter(ground, why="test"):
        Embedding.objects.within(ground.project_id).filter(model=former).delete()
    assert drop_strays() == 1
    with access.enter(ground, why="test"):
        assert (indexed([main], former), set(indexed([main], following))) == ({}, {main.id})


def test_the_planner_is_told_about_the_tables_as_wholes(ground):
    fill(ground, "main", near(axis(0), 20))
    tasks.analyze_search()
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT reltuples FROM pg_class WHERE relname IN ('memories_embedding', 'memories_keywords')")
        assert all(count >= 20 for (count,) in cursor.fetchall())


def test_the_worker_keeps_statistics_and_the_owners_process_the_indexes(ground, small):
    fill(ground, "main", near(axis(0), MANY))
    tasks.keep_search_fast()
    with access.enter(ground, why="test"):
        (main,) = spaces(ground, "main")
        assert indexed([main], active_model()) == {}
        assert KeywordStatistics.objects.within(ground.project_id).filter(namespace=main.id).exists()
    call_command("indexes")
    with access.enter(ground, why="test"):
        assert set(indexed([main], active_model())) == {main.id}


def test_one_projects_trouble_does_not_stop_the_builder(ground, small, monkeypatch):
    other = keys.ensure_project("an-ill-project")  # comes before `index-ground`

    def keep(principal):
        if principal.project_id == other.id:
            raise RuntimeError("ill")
        return maintain_indexes(principal)

    monkeypatch.setattr(retrieval, "maintain_indexes", keep)
    fill(ground, "main", near(axis(0), MANY))
    call_command("indexes")
    with connections["owner"].cursor() as cursor:
        cursor.execute("DELETE FROM memories_project WHERE id = %s", [other.id])
    with access.enter(ground, why="test"):
        (main,) = spaces(ground, "main")
        assert set(indexed([main], active_model())) == {main.id}


def test_without_the_owners_login_no_index_is_built(db, settings, monkeypatch):
    # For the command only: the test itself has to find the connection at its end.
    with monkeypatch.context() as patch:
        patch.delitem(settings.DATABASES, "owner")
        with pytest.raises(CommandError, match="DATABASE_OWNER_URL"):
            call_command("indexes")


def test_a_graph_is_built_with_the_care_that_recall_was_measured_with(ground, small):
    fill(ground, "main", near(axis(0), MANY))
    maintain_indexes(ground)
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT reloptions FROM pg_class WHERE relname LIKE 'vectors\\_%' AND reloptions IS NOT NULL")
        assert cursor.fetchall() == [(["m=16", "ef_construction=200"],)]


def test_an_index_is_built_in_as_much_memory_as_its_graph_needs():
    assert memory_for(20_000, dim=384) < 100
    assert 700 < memory_for(500_000, dim=384) < 1_000
    assert memory_for(5_000_000, dim=384) == 1_024


def test_indexes_of_two_pools_are_searched_as_the_larger_wants(principal):
    larger, smaller = (NearestQuery("", [], {}, vectors) for vectors in (800_000, 30_000))
    with access.enter(principal, why="test"), connection.cursor() as cursor:
        NearestQuery.joined([larger, smaller]).hold_in_view()
        cursor.execute("SHOW hnsw.ef_search")
        assert cursor.fetchone() == ("1000",)
