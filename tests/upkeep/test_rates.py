"""Rates: how fast memories fade and what they weigh is a project's own, everywhere alike."""

import math
from contextlib import nullcontext
from dataclasses import replace

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memories import access, jobs, upkeep, usage_counters
from memories.models import Access, Fragment, Link, Operation, Project
from memories.models.history import events_of
from memories.models.scoring import IMPORTANCE_SQL, RATES, WEIGHT_SQL, Rates, relevance_sql
from memories.models.sql import fetch
from memories.retrieval import Filters, Question, find
from memories.retrieval.context.linked import linked_memories
from memories.upkeep.thresholds import (
    NAMES,
    BadThreshold,
    Thresholds,
    own_thresholds,
    parse_thresholds,
    set_thresholds,
    texts_of,
    thresholds_of,
)
from novamem import env

DAYS = 12
OWN = {
    "decay_per_day": 0.2,
    "decay_sm2": "yes",
    "weight_base": 0.3,
    "weight_entity": 0.1,
    "weight_valence": 0.4,
    "weight_manual": 0.2,
    "weight_conversation": 0.05,
    "weight_access": 0.5,
    "weight_decay_per_day": 0.02,
    "weight_emotion": 0.9,
    "weight_kept": 3,
}
TEXT = "The heron nests behind the old mill."


@pytest.fixture
def service_of():
    """The service itself in an agent's project."""
    return lambda agent: access.system_principal(Project.objects.get(id=agent.principal.project_id))


@pytest.fixture
def twins(alice, charlie, service_of, old, principal):
    """The same memory of twelve days in two projects, of which the second has its own rates; by agent."""
    set_thresholds(service_of(charlie), OWN)
    more = {"type": "episodic", "emotional_valence": -0.5, "source": "inference"}
    here = old(DAYS, TEXT, **more)
    there = old(DAYS, TEXT, namespace="elsewhere:main", by=service_of(charlie), **more)
    return {"alice": (alice, here), "charlie": (charlie, there)}


@pytest.fixture
def each(twins):
    """What a question answers for both: of the project with the installation's rates, of that with its own."""

    def ask(question):
        return [question(agent, row, f"{agent.principal.project}:main") for agent, row in twins.values()]

    return ask


def post(agent, path, **body):
    answer = agent.client.post(f"/api/v1/{path}", body, format="json")
    assert answer.status_code in (200, 201), answer.content
    return answer.json()


def weight(importance, rates=None, reads=0):
    rates = rates or Rates()
    given = {"importance": importance, "access_count": reads, "age_days": DAYS, "valence": -0.5}
    return rates.effective_weight(**given, pinned_or_anchor=False)


THEIRS = Rates.of({**OWN, "decay_sm2": True})
FADED = [math.exp(-0.05 * DAYS), math.exp(-0.2 * DAYS)]  # .55 and .09
WEIGHTS = [weight(0.5), weight(0.5, THEIRS)]


def near(numbers, *, to=1e-4):
    return [pytest.approx(number, abs=to) for number in numbers]


def test_answers_fade_and_weigh_by_their_project(each):
    told = each(lambda agent, row, _: agent.client.get(f"/api/v1/fragments/{row.id}").json())
    assert [answer["relevance_score"] for answer in told] == near(FADED)
    assert [answer["effective_weight"] for answer in told] == near(WEIGHTS)
    listed = each(lambda agent, row, place: agent.client.get("/api/v1/fragments", {"namespace": place}).json())
    assert [page["results"][0]["relevance_score"] for page in listed] == near(FADED)


def test_searches_rank_by_their_project(each):
    def signals(profile):
        asked = {"query": "heron", "profile": profile, "explain": True}
        found = each(lambda agent, row, place: post(agent, "search", namespace=place, **asked)["results"][0])
        return [hit["score"] for hit in found], [hit["ranking_signals"] for hit in found]

    scores, ranked = signals("hindsight")
    assert [found["decay"] for found in ranked] == near(FADED)
    assert scores[1] / scores[0] == pytest.approx(FADED[1] / FADED[0], abs=1e-3)
    scores, ranked = signals("weighted")
    assert [found["weight"] for found in ranked] == near(WEIGHTS)
    assert scores[1] - scores[0] == pytest.approx(0.3 * (WEIGHTS[1] - WEIGHTS[0]), abs=1e-3)


@pytest.mark.parametrize(("least", "passing"), [(0.05, [1, 1]), (0.3, [1, 0]), (0.6, [0, 0])])
def test_the_least_relevance_is_asked_by_the_rates_of_the_project(each, least, passing):
    asked = {"filters": {"min_relevance": least}}
    question = {"query": "heron", **asked}
    found = each(lambda agent, _, place: len(post(agent, "search", namespace=place, **question)["results"]))
    held = each(lambda agent, _, place: len(post(agent, "context", namespace=place, **question)["included"]))
    gone = each(lambda agent, _, place: post(agent, "forget", namespace=place, dry_run=True, **asked)["count"])
    assert found == held == gone == passing


def test_a_search_says_why_what_was_expected_faded(each):
    asked = {"query": "heron", "filters": {"min_relevance": 0.3}}
    told = each(
        lambda agent, row, place: post(agent, "search", namespace=place, expect=str(row.id), explain=True, **asked)
    )
    assert [answer["expected"]["stage"] for answer in told] == ["answered", "relevance_score"]


def test_memories_that_ride_along_are_fresh_by_the_rates_of_their_project(twins, service_of, old):
    found = []
    for agent, row in twins.values():
        by, place = service_of(agent), row.namespace.name
        other = old(0, "An otter swims by the weir.", namespace=place, by=by)
        question = Question("otter", [place], filters=Filters(min_relevance=0.3), floor=0.0)
        with access.enter(by, why="test"):
            Link.objects.create(project_id=by.project_id, fragment=other, other=row, kind="related", similarity=0.9)
        results = find(by, question, now=timezone.now())
        hits = [hit for hit in results.hits if hit.fragment.id == other.id]
        with access.enter(by, why="test"):
            linked = linked_memories(hits, question, results.places, by, most=5, now=timezone.now())
        found.append([memory.id for memory, _ in linked])
    assert found == [[twins["alice"][1].id], []]


@pytest.fixture
def runs(service_of):
    """Runs a job in an agent's project; its report."""

    def run(agent, kind, row=None, **wish):
        by = service_of(agent)
        wish = {"namespace": row.namespace if row else None, "options": {}, "dry_run": False, **wish}
        made = jobs.start(by, kind=kind, **wish, now=timezone.now(), wake_up=False)
        return jobs.run(by, made.id).report

    return run


def test_consolidation_archives_and_cools_by_the_rates_of_the_project(each, runs):
    planned = each(lambda agent, row, _: runs(agent, "consolidate", row, dry_run=True))
    done = each(lambda agent, row, _: runs(agent, "consolidate", row))
    for told in (planned, done):
        assert [(report["decayed"], report["archived"]) for report in told] == [(0, 0), (1, 1)]
    status = each(lambda agent, row, _: agent.client.get(f"/api/v1/fragments/{row.id}").json()["status"])
    assert status == ["active", "archived"]


def test_tiers_cool_by_the_rates_of_the_project(each, runs, service_of):
    def due(agent, *_):
        with access.enter(service_of(agent), why="test"):
            return upkeep.lifecycle.schedule.due(agent.principal.project_id, now=timezone.now())

    assert each(due) == [[], ["tier"]]
    assert each(lambda agent, row, _: runs(agent, "tier")["moves"]) == [{}, {"hot_to_cold": 1}]


def test_eviction_weighs_by_the_rates_of_the_project(each):
    told = each(lambda agent, row, _: agent.client.get("/api/v1/evictions/preview").json()["results"][0])
    assert [one["effective_weight"] for one in told] == near(WEIGHTS)
    recency = 0.3 / (1 + DAYS)
    assert [one["priority"] - one["effective_weight"] for one in told] == near([recency, recency], to=1e-3)


def test_who_is_evicted_first_goes_by_the_rates_of_the_project(alice, old, runs, capacity, fresh, principal):
    """An old memory that is important, and a young one that is not: who weighs more says the rate of decay."""
    important, young = old(10, "An old heron.", importance=0.6), old(3, "A young otter.", importance=0.4)
    capacity(all=2)
    set_thresholds(principal, {"weight_decay_per_day": 0})
    first = alice.client.get("/api/v1/evictions/preview").json()["results"][0]["id"]
    assert first == str(young.id)
    set_thresholds(principal, {})
    first = alice.client.get("/api/v1/evictions/preview").json()["results"][0]["id"]
    assert first == str(important.id)
    set_thresholds(principal, {"weight_decay_per_day": 0})
    assert runs(alice, "evict", options={"target": 0.5})["evicted"] == 1
    assert (fresh(young), fresh(important) is None) == (None, False)


def test_the_importance_of_what_is_stored_goes_by_the_rates_of_the_project(each):
    def importance(agent, _, place):
        text = {"content": "Ada Lovelace met Charles Babbage.", "source_type": "manual", "emotional_valence": 0.5}
        return post(agent, "fragments", namespace=place, **text)

    ours, theirs = each(importance)
    entities = len(ours["entities"])
    assert entities == len(theirs["entities"]) > 0
    given = {"entities": entities, "valence": 0.5, "source_type": "manual"}
    wanted = [rates.initial_importance(**given) for rates in (Rates(), THEIRS)]
    assert [ours["importance"], theirs["importance"]] == near(wanted)
    assert ours["importance"] != theirs["importance"]


def test_the_importance_of_a_digest_goes_by_the_rates_of_the_project(twins, service_of, old):
    made = []
    for agent, _ in twins.values():
        by = service_of(agent)
        place = f"{agent.principal.project}:main"
        rows = [old(1, f"Otter {n} swims.", namespace=place, by=by, importance=0.1) for n in range(3)]
        request = upkeep.consolidation.prepare_digest(by, [row.id for row in rows], now=timezone.now())
        made.append(upkeep.consolidation.store_digest(by, request, now=timezone.now()).fragment)
    for row, rates in zip(made, (Rates(), THEIRS), strict=True):
        given = {"entities": len(row.entities), "valence": row.emotional_valence, "source_type": "digest"}
        assert row.importance == pytest.approx(rates.initial_importance(**given))
    assert made[0].importance != made[1].importance


def test_what_is_read_gets_more_stable_where_the_project_says_so(twins, service_of, now):
    for agent, row in twins.values():
        usage_counters.count_reads(agent.principal.project_id, [row.id], at=now)
    usage_counters.flush()
    found = []
    for agent, row in twins.values():
        with access.enter(service_of(agent), why="test"):
            found.append(Access.objects.get(fragment=row.id).stability)
    assert found == [1.0, pytest.approx(1.3)]
    told = [agent.client.post(f"/api/v1/fragments/{row.id}/reinforce").status_code for agent, row in twins.values()]
    assert told == [200, 200]


def test_a_fork_fades_as_its_project(each, runs):
    def forked(agent, row, place):
        runs(agent, "fork", row, options={"target": f"{place}-side"})
        listed = agent.client.get("/api/v1/fragments", {"namespace": f"{place}-side"}).json()
        return listed["results"][0]["relevance_score"]

    assert each(forked) == near(FADED)


@pytest.mark.parametrize(("rate", "stays"), [(0.05, "young"), (0, "old")])
def test_a_merge_weighs_relevance_by_the_rates_of_the_project(alice, old, runs, principal, change, rate, stays):
    """Of one source the more relevant stays: what was more so at its birth, or what faded less since."""
    more = {"source_id": "doc", "by": alice.principal}
    one = old(20, "The old text.", namespace="acme:side", **more)
    other = old(1, "The young text.", **more)
    change(one, base_relevance=0.9), change(other, base_relevance=0.6)
    set_thresholds(principal, {"decay_per_day": rate})
    runs(alice, "merge", other, options={"source": "acme:side"})
    listed = alice.client.get("/api/v1/fragments", {"namespace": "acme:main"}).json()["results"]
    assert [row["content"] for row in listed if row["status"] == "active"] == [f"The {stays} text."]


def test_a_project_returns_to_the_rates_of_the_installation(charlie, twins, service_of):
    row = twins["charlie"][1]
    set_thresholds(service_of(charlie), {"cold_below": "0.2"})
    told = charlie.client.get(f"/api/v1/fragments/{row.id}").json()
    assert [told["relevance_score"], told["effective_weight"]] == near([FADED[0], WEIGHTS[0]])
    assert own_thresholds(charlie.principal.project_id) == {"cold_below": 0.2}
    assert Project.objects.get(id=charlie.principal.project_id).rates == {}


def test_who_set_which_numbers_is_kept(charlie, service_of):
    principal = replace(service_of(charlie), owner_id=charlie.principal.owner_id)
    for own in ({"cold_below": "0.2"}, {"cold_below": "0.2"}, {"decay_per_day": "0.1"}):
        set_thresholds(principal, own)
    listed = charlie.client.get("/api/v1/operations").json()["results"]
    assert [(row["kind"], row["state"], row["report"]) for row in listed] == [
        ("set_thresholds", "succeeded", {"before": {"cold_below": 0.2}, "after": {"decay_per_day": 0.1}}),
        ("set_thresholds", "succeeded", {"before": {}, "after": {"cold_below": 0.2}}),
    ]
    with access.enter(principal, why="test"):
        events = events_of(Operation).objects.filter(project=principal.project_id, kind="set_thresholds")
        assert [event.owner_id for event in events] == [charlie.principal.owner_id] * 2


def test_setting_them_waits_for_no_open_write(principal):
    """Every row that is written holds its project by the key."""
    with CaptureQueriesContext(connection) as queries:
        set_thresholds(principal, {"cold_below": "0.2"})
    (locked,) = [sql for query in queries if "memories_project" in (sql := query["sql"]) and "FOR " in sql]
    assert "FOR NO KEY UPDATE" in locked


@pytest.mark.parametrize(("planned", "applied", "archived"), [(0.2, 0.05, 0), (0.2, 0.3, 1), (0.05, 0.2, 0)])
def test_a_plan_of_other_rates_archives_only_what_is_faded_by_both(
    alice, old, runs, principal, fresh, planned, applied, archived
):
    row = old(DAYS, type="episodic", source="inference")
    set_thresholds(principal, {"decay_per_day": planned})
    plan = runs(alice, "consolidate", row, dry_run=True)
    assert plan["archived"] == (planned > 0.1)
    set_thresholds(principal, {"decay_per_day": applied})
    report = runs(alice, "consolidate", row, options={"plan_id": plan["plan_id"]})
    assert (report["archived"], report["decayed"]) == (archived, archived)
    assert report["stale"]["count"] == 2 * (plan["archived"] - archived)
    assert (fresh(row).status, fresh(row).tier) == (("archived", "cold") if archived else ("active", "hot"))


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"decay_per_day": "fast"}, "decay_per_day has to be a number."),
        ({"decay_per_day": "-0.1"}, "decay_per_day has to be from 0 to 10."),
        ({"decay_per_day": "nan"}, "decay_per_day has to be from 0 to 10."),
        ({"decay_per_day": "1e999"}, "decay_per_day has to be from 0 to 10."),
        ({"decay_sm2": "maybe"}, "decay_sm2 has to be yes or no."),
        ({"weight_base": "1.5"}, "weight_base has to be from 0 to 1."),
        ({"weight_kept": "0.5"}, "weight_kept has to be from 1 to 10."),
    ],
)
def test_rates_that_can_not_be_are_refused_by_name(principal, given, named):
    with pytest.raises(BadThreshold, match=named):
        set_thresholds(principal, {"cold_below": "0.3", **given})
    assert own_thresholds(principal.project_id) == {}


def _is_refused(name, value):
    try:
        parse_thresholds({name: value})
    except BadThreshold:
        return True
    return False


@pytest.mark.parametrize("name", [name for name in RATES if name != "decay_sm2"])
def test_a_project_may_have_what_the_installation_may(monkeypatch, name):
    for value in ("-0.01", "0", "0.9", "1", "1.01", "10", "10.01"):
        monkeypatch.setenv(name.upper(), value)
        with pytest.raises(ImproperlyConfigured) if _is_refused(name, value) else nullcontext():
            env.load()


def test_what_is_next_to_nothing_is_nothing(principal, old, runs, alice):
    row = old(DAYS, type="episodic")
    set_thresholds(principal, dict.fromkeys(("decay_per_day", "weight_decay_per_day", "weight_emotion"), "1e-320"))
    assert thresholds_of(principal.project_id).rates.decay_per_day == 0
    assert runs(alice, "tier")["moved"] == 0
    assert alice.client.get("/api/v1/evictions/preview").status_code == 200
    assert alice.client.get(f"/api/v1/fragments/{row.id}").json()["relevance_score"] == 1


@pytest.mark.parametrize("own", [{}, OWN, {"decay_sm2": "no", "warm_days": "7", "weight_kept": "1"}])
def test_own_numbers_are_read_as_they_are_written(own):
    parsed = parse_thresholds(own)
    assert parse_thresholds(texts_of(parsed)) == parsed
    assert list(texts_of(parsed)) == NAMES == list(Thresholds.of(parsed).values)


@pytest.mark.parametrize("rates", [Rates(), THEIRS, Rates(decay_per_day=10, weight_decay_per_day=10), Rates(0)])
def test_python_and_sql_say_the_same(principal, old, read_at, rates):
    rows = [
        old(40, "A pinned heron.", importance=0.9, emotional_valence=0.3, is_pinned=True, source_type="manual"),
        old(9, "Ada met Charles in Paris.", source_type="conversation", importance=None),
        old(2, TEXT, emotional_valence=-1.0),
    ]
    read_at(rows[1], 3, times=4)
    now = timezone.now()
    with access.enter(principal, why="test"):
        asked = f"""SELECT f.id, {relevance_sql()}, {WEIGHT_SQL}, {IMPORTANCE_SQL} FROM memories_fragment f
            LEFT JOIN memories_access a ON a.project_id = f.project_id AND a.fragment_id = f.id"""
        told = {which: scores for which, *scores in fetch(asked, {"now": now, **rates.params})}
        found = Fragment.objects.within(principal.project_id).select_related("project", "access")
        for row in found:
            row.project.rates_in_force = rates
            given = {"entities": len(row.entities), "valence": row.emotional_valence, "source_type": row.source_type}
            wanted = [row.relevance_at(now), row.weight_at(now), rates.initial_importance(**given)]
            assert told[row.id] == [pytest.approx(number, rel=1e-9) for number in wanted]
