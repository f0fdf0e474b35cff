"""What words find in namespaces whose words are counted: as much as if every text were looked at."""

import uuid

import pytest
from django.db import connection, transaction
from django.utils import timezone

from conflicts.search_index import index_keywords
from memories import access
from memories.models import Fragment, KeywordStatistics, Namespace
from memories.models.bulk import insert
from memories.providers import active_model
from memories.retrieval import Filters, Question, candidate_search, find, refresh_statistics, statistics
from memories.retrieval.candidate_search import Search, keyword_hits, passing
from memories.retrieval.query_features import Cues
from memories.retrieval.questions import Reach
from memories.retrieval.search_scopes import scopes_of

pytestmark = pytest.mark.examples

PEOPLE = ["caroline", "melanie", "jordan", "priya", "kenji"]
TOPICS = ["garden", "piano", "hiking", "pottery", "camping", "painting", "adoption", "budget", "kitchen", "violin"]
# Each person on each pair of topics: every word is common, and any two of them meet.
TALK = [f"{who} on {one} and {other} n{n}" for n in range(6) for who in PEOPLE for one in TOPICS for other in TOPICS]


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """What counts as large and as much, brought down to what a test can fill."""
    monkeypatch.setattr(statistics, "LARGE", 100)
    monkeypatch.setattr(candidate_search, "BUDGET", 50)
    monkeypatch.setattr(candidate_search, "FILTERED_BUDGET", 50)


@pytest.fixture
def fill(principal):
    def stored(texts, *, name="main", **more):
        now = timezone.now()
        with access.enter(principal, why="test"):
            namespace = access.writable(principal, f"{principal.project}:{name}")
            born = {"created_at": now, "updated_at": now, "agent_id": name, "type": "semantic", "source_type": "manual"}
            told = {**born, "importance": 0.5, "source": "inference", "authority": 1, **more}
            rows = [
                Fragment(project_id=principal.project_id, namespace=namespace, content=text, **told) for text in texts
            ]
            insert(rows)
            index_keywords([row.id for row in rows])
        return [row.id for row in rows]

    return stored


@pytest.fixture
def ask(principal):
    def found(query, *names, most=10, **filters):
        now = timezone.now()
        wanted = Search(query, None, active_model(), Filters(**filters), Reach("", now), Cues(), now, most)
        with access.enter(principal, why="test"):
            rows = Namespace.objects.within(principal.project_id)
            spaces = scopes_of(rows.named([f"{principal.project}:{name}" for name in names or ["main"]]))
            return keyword_hits(spaces, wanted, among=passing(spaces, wanted))

    return found


@pytest.fixture
def count(principal):
    def counted():
        return refresh_statistics(principal, now=timezone.now())

    return counted


@pytest.fixture
def looked_at(principal, ask):
    """The same, had nobody counted: every text that holds a word is looked at."""

    def found(*asked, **filters):
        with access.enter(principal, why="test"), transaction.atomic():
            KeywordStatistics.objects.within(principal.project_id).delete()
            hits = ask(*asked, **filters)
            transaction.set_rollback(True)
        return hits

    return found


def test_a_word_that_nobody_wrote_hides_none_of_the_others(fill, count, ask, looked_at):
    fill(TALK)
    assert count() == 1
    for query in ("caroline gardening zzqxtypo", "What did Caroline say about pottery in Zermatt?"):
        found = ask(query, most=200)
        assert len(found) == 200
        assert max(found.values()) == pytest.approx(max(looked_at(query, most=200).values()), rel=0.1)


def test_every_text_with_a_rare_word_is_looked_at(fill, count, ask):
    fill(TALK)
    rare = fill([f"an otter n{n}" for n in range(5)] + ["a heron"])
    count()
    assert set(rare) <= set(ask("caroline garden otter heron", most=60))


@pytest.mark.parametrize("words", [1, 30, 95, 400, 3_000])
def test_questions_of_many_words_are_answered(fill, count, ask, principal, words):
    fill(TALK)
    (best,) = fill(["w0x w1x w2x at the mill"])
    count()
    assert next(iter(ask(" ".join(f"w{n}x" for n in range(words)))), None) in (best, None)
    long = " ".join(f"word{n}" for n in range(words))[:10_000]
    assert find(principal, Question(long, ["acme:main"]), now=timezone.now()).hits == []


def test_a_long_question_is_asked_by_its_rarest_words(fill, count, ask):
    fill(TALK)
    (best,) = fill(["the otter nests"])
    fill(["the otter rests"] * 4)
    count()
    everything = " ".join([*PEOPLE, *TOPICS, "otter", "nests", *(f"n{n}" for n in range(6)), *map(str, range(300))])
    assert best in ask(everything)


def test_another_namespace_does_not_change_what_is_found(fill, count, ask, monkeypatch):
    monkeypatch.setattr(candidate_search, "FEW", 20)
    fill(TALK)
    tagged = fill([f"the garden holds a piano of {who}" for who in PEOPLE], tags=["t"])
    count()
    queries = ["garden", "unheardof garden", "melanie garden", "melanie caroline garden"]
    alone = [list(ask(query, tags=["t"])) for query in queries]
    assert all(set(found) == set(tagged) for found in alone)
    for more in (15, 30):
        fill(["something else entirely"] * more, name="other", tags=["t"])
        assert [list(ask(query, "main", "other", tags=["t"])) for query in queries] == alone


@pytest.mark.parametrize("query", ["garden", "garden piano", "n5 piano", "jordan piano"])
def test_few_of_another_status_are_found(fill, count, ask, query):
    fill(TALK)
    gone = fill([f"the garden with a piano {who}" for who in PEOPLE], status="archived")
    count()
    found = ask(query, status_filter=["archived"])
    assert set(found) == set(gone)


@pytest.mark.parametrize("query", ["garden", "hiking", "hiking piano"])
def test_few_of_much_weight_are_found(fill, count, ask, query):
    fill(TALK)
    (heavy,) = fill(["a garden with hiking"], importance=0.97)
    fill(["a garden with hiking"], importance=0.94)
    count()
    assert list(ask(query, min_weight=0.95)) == [heavy]
    assert len(ask(query, min_weight=0.9)) == 2


def test_a_weight_that_changes_is_asked_anew(fill, ask, principal):
    first, _ = fill(["the heron nests", "the heron rests"], importance=0.2)
    with access.enter(principal, why="test"):
        Fragment.objects.within(principal.project_id).filter(id=first).update(importance=0.8)
    assert list(ask("heron", min_weight=0.75)) == [first]


def test_the_best_come_first_whichever_round_found_them(fill, count, ask):
    """A text with all words may be worth less than one that says two of them again and again."""
    for word in ("alpha", "bravo", "charlie"):
        fill([f"{word} n{n}" for n in range(300)])
    filler = " ".join(f"filler{n}" for n in range(80))
    fill([f"alpha bravo charlie {filler}"] * 5)
    best = fill(["alpha alpha alpha bravo bravo bravo"] * 4)
    count()
    for filters in ({}, {"min_weight": 0.1}):
        assert set(list(ask("alpha bravo charlie", **filters))[:4]) == set(best)


def test_as_many_are_found_as_are_asked_for(fill, count, ask, looked_at):
    fill(TALK)
    count()
    query = "caroline melanie garden piano violin"
    found, best = ask(query, most=600), looked_at(query, most=600)
    assert len(found) == len(best) == 600
    assert len(set(list(found)[:200]) & set(list(best)[:200])) >= 190


@pytest.mark.long
def test_of_more_than_can_be_looked_at_the_ids_say_which(principal, fill, count, ask):
    """Neither the order of the table, which others' rows change, nor age decides."""
    fill(["the heron nests"])
    with access.enter(principal, why="test"), connection.cursor() as cursor:
        row = Fragment.objects.within(principal.project_id).get()
        columns = ", ".join(f.column for f in Fragment._meta.concrete_fields if f.column not in ("id", "change"))
        cursor.execute(
            f"""INSERT INTO memories_fragment (id, {columns}) SELECT gen_random_uuid(), {columns}
                FROM memories_fragment f CROSS JOIN generate_series(1, 7000) WHERE f.id = %s RETURNING id""",
            [row.id],
        )
        ids = [found for (found,) in cursor.fetchall()]
    index_later = sorted(ids)  # the lowest ids stand last in the table
    with access.enter(principal, why="test"):
        index_keywords(index_later[4_000:])
        index_keywords(index_later[:4_000])
    lowest = set(index_later[:3_000]) | {row.id}
    for counted in (False, True):
        if counted:
            assert count() == 1
        found = set(ask("heron", most=4_000))
        assert len(found) == 4_000
        assert max(found - {row.id}) < uuid.UUID(int=int(2**128 * 0.75)), "those with the lowest ids"
        assert len(found & lowest) >= 2_000
