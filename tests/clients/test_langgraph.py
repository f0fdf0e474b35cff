"""The LangGraph store over real HTTP, next to LangGraph's own store in memory: both answer alike."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import httpx
import pytest
from django.core.management import call_command
from langgraph.store.base import GetOp, InvalidNamespaceError, PutOp
from langgraph.store.memory import InMemoryStore
from novamem_client import Problem, langgraph
from novamem_client.langgraph import NovaMemStore

pytestmark = pytest.mark.long

ADA, BEA = ("users", "ada"), ("users", "bea")
TEA = {"text": "Ada drinks tea.", "score": 3, "kind": "drink"}


@pytest.fixture
def ours(web, committed, agent_of):
    """A store in a namespace of its own."""
    key = agent_of(committed, owner="graph", requests_per_minute=0).key
    with httpx.Client(trust_env=False, timeout=60) as http:
        store = NovaMemStore(web, key, namespace=f"{committed.name}:graph", http=http)
        vars(store)["http"] = http
        yield store


@pytest.fixture
def both(ours):
    """Our store and LangGraph's, told the same."""
    stores = (ours, InMemoryStore())
    for store in stores:
        store.put(ADA, "tea", TEA)
        store.put(ADA, "cake", {"text": "Ada bakes cake.", "score": 5, "kind": "food", "deep": {"oven": "old"}})
        store.put((*BEA, "trips"), "sea", {"text": "Bea swims in the sea.", "score": 4})
    return stores


def alike(both, ask):
    """What both answer."""
    mine, theirs = (ask(store) for store in both)
    assert mine == theirs
    return mine


def seen(items):
    return sorted((item.namespace, item.key, json.dumps(item.value, sort_keys=True)) for item in items)


def test_a_search_answers_nothing_of_other_stores(web, committed, agent_of, ours):
    """What all users may know, and what is shared, can be neither got nor deleted in a user's store."""
    key = agent_of(committed, owner="graph", requests_per_minute=0).key
    with (
        closing(NovaMemStore(web, key, namespace=ours.namespace, user="ann")) as ann,
        closing(NovaMemStore(web, key, namespace=f"{committed.name}:shared")) as shared,
    ):
        for store, keeper in ((ours, "Marek"), (ann, "Pilar"), (shared, "Olga")):
            store.put(("p",), "k", {"text": f"The keeper of the lighthouse is {keeper}."})
        for store, keeper in ((ours, "Marek"), (ann, "Pilar")):
            (found,) = store.search(("p",), query="Who is the keeper of the lighthouse?")
            assert keeper in found.value["text"]


def test_what_waits_for_a_person_is_got_and_listed_and_answers_no_question(committed, agent_of, ours):
    person = agent_of(committed, owner="person", ceiling="user_explicit")
    claim = {"subject": "user", "predicate": "budget", "value": "$100"}
    body = {"namespace": ours.namespace, "content": "My budget is $100.", "claim": claim}
    body |= {"provenance": {"source": "user_explicit"}}
    assert person.client.post("/api/v1/fragments", body, format="json").status_code == 201
    ours.put(("f",), "told", {"text": "The user's budget is $777."})
    ours.put(("f",), "other", {"text": "The user's budget meeting is on Mondays."})
    assert ours.get(("f",), "told").value == {"text": "The user's budget is $777."}
    assert {item.key for item in ours.search(("f",))} == {"told", "other"}
    assert "told" not in {item.key for item in ours.search(("f",), query="What is the user's budget?")}


def test_a_user_is_the_same_in_any_spelling_of_the_name(web, committed, agent_of, ours):
    key = agent_of(committed, owner="graph", requests_per_minute=0).key
    with closing(NovaMemStore(web, key, namespace=ours.namespace, user="Zoe\u0308")) as zoe:
        zoe.put(("p",), "k", {"text": "The keeper of the lighthouse is Marek."})
        assert [item.key for item in zoe.search(("p",), query="Who is the keeper of the lighthouse?")] == ["k"]


@pytest.mark.parametrize(
    "wanted",
    [
        {},
        {"filter": {"kind": "drink"}},
        {"filter": {"score": {"$gte": 4}}},
        {"filter": {"score": {"$gt": 2, "$lt": 5}}},
        {"filter": {"kind": {"$ne": "food"}}},
        {"filter": {"deep": {"oven": "old"}}},
        {"filter": {"kind": "nothing"}},
        {"limit": 0},
    ],
)
@pytest.mark.parametrize("prefix", [("users",), ADA, BEA, ("nobody",)])
def test_searches_without_a_query(both, prefix, wanted):
    if "score" in str(wanted) and prefix == BEA:
        assert len(both[0].search(prefix, **wanted)) == 1
    alike(both, lambda store: seen(store.search(prefix, **wanted)))


def test_getting_putting_and_deleting(both):
    assert alike(both, lambda store: store.get(ADA, "tea").value) == TEA
    for store in both:
        store.put(ADA, "tea", {**TEA, "text": "Ada drinks coffee by now."})
        store.delete(ADA, "cake")
        store.delete(ADA, "nothing")
    assert alike(both, lambda store: store.get(ADA, "tea").value["text"]) == "Ada drinks coffee by now."
    assert alike(both, lambda store: store.get(ADA, "cake")) is None
    assert alike(both, lambda store: store.get(BEA, "tea")) is None
    for store in both:
        store.put(ADA, "cake", {"text": "Ada bakes cake."})
    assert alike(both, lambda store: store.get(ADA, "cake").value) == {"text": "Ada bakes cake."}
    assert alike(both, lambda store: len(store.search(("users",)))) == 3


@pytest.mark.parametrize(
    "wanted",
    [
        {},
        {"prefix": ("users",)},
        {"prefix": ("users", "*")},
        {"suffix": ("trips",)},
        {"prefix": ("users",), "suffix": ("*", "trips")},
        {"max_depth": 1},
        {"limit": 1},
        {"limit": 1, "offset": 1},
        {"prefix": ("nobody",)},
    ],
)
def test_listing_namespaces(both, wanted):
    alike(both, lambda store: store.list_namespaces(**wanted))


def test_a_question_finds_by_meaning_and_words(both):
    ours, _ = both
    found = ours.search(("users",), query="who swims in the sea?")
    assert found[0].key == "sea"
    assert found[0].score > 0
    assert [item.key for item in ours.search(ADA, query="tea", filter={"kind": "drink"})] == ["tea"]
    assert len(ours.search(("users",), query="Ada", limit=1, offset=1)) == 1


def test_only_the_named_fields_are_indexed(ours):
    ours.put(ADA, "note", {"text": "A heron nests.", "secret": "xyzzy"}, index=["text"])
    (item,) = ours.search(ADA, query="heron")
    assert item.value["secret"] == "xyzzy"
    (row,) = ours.memory.fragments.list(namespace=ours.namespace)["results"]
    assert row["content"] == "A heron nests."


def test_what_is_not_indexed_is_found_by_no_question(ours):
    ours.put(ADA, "note", {"text": "A heron nests."}, index=False)
    assert ours.search(ADA, query="A heron nests.") == []
    assert [item.key for item in ours.search(ADA)] == ["note"]


def test_fields_of_the_store_are_indexed_unless_a_put_names_others(ours):
    ours.fields = ["title"]
    ours.put(ADA, "one", {"title": "Herons", "secret": "xyzzy"})
    ours.put(ADA, "two", {"title": "Otters", "note": "They sleep."}, index=["note"])
    rows = ours.memory.fragments.list(namespace=ours.namespace)["results"]
    assert {row["content"] for row in rows} == {"Herons", "They sleep."}


def test_a_batch_with_a_namespace_that_can_not_be_does_nothing(ours):
    with pytest.raises(InvalidNamespaceError):
        ours.batch([PutOp(ADA, "tea", TEA), GetOp(("a.b",), "tea")])
    assert ours.get(ADA, "tea") is None


def test_what_was_put_twice_at_one_time_is_deleted_whole(ours):
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: ours.put(ADA, "tea", {**TEA, "score": n}), range(8)))
    ours.delete(ADA, "tea")
    assert ours.get(ADA, "tea") is None
    assert ours.search(ADA) == []


def test_equal_texts_of_two_are_two_items(ours):
    for who in (ADA, BEA):
        ours.put(who, "home", {"text": "I live in Oslo."}, index=["text"])
    assert [ours.get(who, "home").key for who in (ADA, BEA)] == ["home", "home"]


def test_many_at_once_and_from_a_loop(ours):
    async def work():
        await asyncio.gather(*(ours.aput(ADA, f"k{n}", {"text": f"Note number {n}."}) for n in range(5)))
        return await ours.asearch(ADA, limit=10)

    with ThreadPoolExecutor(1) as pool:  # the browser's tests leave an event loop running in this thread
        found = pool.submit(lambda: asyncio.run(work())).result()
    assert {item.key for item in found} == {f"k{n}" for n in range(5)}


def test_what_can_not_be_is_refused(ours):
    with pytest.raises(InvalidNamespaceError):
        ours.put(("a.b",), "k", TEA)
    with pytest.raises(Problem, match="over 65536 bytes"):
        ours.put(ADA, "k", {"text": "x" * 70_000})
    assert ours.search(("users",)) == []
    ours.put(ADA, "tea", TEA)
    with pytest.raises(ValueError, match="Unsupported operator"):
        ours.search(ADA, filter={"score": {"$near": 3}})


def test_items_of_three_users_stay_apart_when_they_are_consolidated(ours, committed):
    for who in ("ann", "ben", "cat"):
        ours.put(("users", who), "count", {"n": 0})
    call_command("consolidate", "--namespace", ours.namespace)
    assert [ours.get(("users", who), "count").namespace[1] for who in ("ann", "ben", "cat")] == ["ann", "ben", "cat"]
    ours.put(("users", "ann"), "count", {"n": 5})
    assert [ours.get(("users", who), "count").value["n"] for who in ("ann", "ben", "cat")] == [5, 0, 0]
    ours.delete(("users", "ben"), "count")
    assert ours.get(("users", "ben"), "count") is None
    assert [ours.get(("users", who), "count").value["n"] for who in ("ann", "cat")] == [5, 0]


def test_getting_putting_and_deleting_take_one_request_each(ours):
    asked = []
    ours.http.event_hooks["request"].append(lambda request: asked.append(request.method))
    ours.put(ADA, "tea", TEA)
    ours.put(ADA, "tea", {**TEA, "score": 4})
    assert ours.get(ADA, "tea").value["score"] == 4
    ours.delete(ADA, "tea")
    assert asked == ["POST", "POST", "GET", "POST"]


def test_a_key_of_any_length_is_one_item(ours):
    for n, key in enumerate(("k" * 2000, "k" * 2001, " k ", "k")):
        ours.put(ADA, key, {"n": n})
    assert [ours.get(ADA, key).value["n"] for key in ("k" * 2000, "k" * 2001, " k ", "k")] == [0, 1, 2, 3]


def test_stores_of_two_users_never_meet(web, committed, agent_of):
    key = agent_of(committed, owner="graph", requests_per_minute=0).key
    place = f"{committed.name}:graph"
    with (
        closing(NovaMemStore(web, key, namespace=place, user="zoë/1:*")) as zoe,
        closing(NovaMemStore(web, key, namespace=place, user="ben")) as ben,
    ):
        zoe.put(ADA, "tea", TEA)
        assert (ben.get(ADA, "tea"), ben.search(ADA), ben.list_namespaces()) == (None, [], [])
        ben.put(ADA, "tea", {"text": "Ben drinks coffee."})
        assert ben.search(ADA, query="who drinks what?")[0].value == {"text": "Ben drinks coffee."}
        ben.delete(ADA, "tea")
        assert zoe.get(ADA, "tea").value == TEA
        assert [item.key for item in zoe.search(ADA, query="who drinks what?")] == ["tea"]


@pytest.fixture
def clock(monkeypatch):
    """Sets the store's time forward, in minutes."""
    began, ahead = langgraph.time.time(), [0.0]
    monkeypatch.setattr(langgraph.time, "time", lambda: began + 60 * ahead[0])

    def forward(minutes):
        ahead[0] += minutes

    return forward


def test_what_is_over_is_shown_no_more_and_swept(ours, clock):
    ours.put(ADA, "brief", {"text": "Ada is at lunch."}, ttl=10)
    ours.put(ADA, "tea", TEA)
    clock(11)
    assert ours.get(ADA, "brief") is None
    assert [item.key for item in ours.search(ADA)] == ["tea"]
    assert [item.key for item in ours.search(ADA, query="where is Ada at lunch?")] == ["tea"]
    assert (ours.sweep_ttl(), ours.sweep_ttl()) == (1, 0)
    ours.put(ADA, "brief", {"text": "Ada is at lunch."})
    assert ours.get(ADA, "brief").value == {"text": "Ada is at lunch."}


def test_a_user_s_item_is_gone_once_it_is_deleted_or_its_time_is_over(web, committed, agent_of, clock):
    key = agent_of(committed, owner="graph", requests_per_minute=0).key
    place = f"{committed.name}:graph"
    with (
        closing(NovaMemStore(web, key, namespace=place, user="zoë/1:*")) as zoe,
        closing(NovaMemStore(web, key, namespace=place)) as everybody,
    ):
        for store in (zoe, everybody):
            store.put(ADA, "tea", TEA)
            store.put(ADA, "brief", {"text": "Ada is at lunch."}, ttl=10)
        zoe.delete(ADA, "tea")
        assert zoe.get(ADA, "tea") is None
        clock(11)
        assert (zoe.sweep_ttl(), zoe.sweep_ttl()) == (1, 0)
        assert list(zoe._every()) == []
        assert {row["extra"]["langgraph"]["key"] for row in everybody._every()} == {"tea", "brief"}


def test_reading_lets_it_live_as_long_again(ours, clock):
    ours.put(ADA, "brief", {"text": "Ada is at lunch."}, ttl=10)
    for read in (lambda: ours.get(ADA, "brief"), lambda: ours.search(ADA), lambda: ours.search(ADA, query="lunch?")):
        clock(8)
        assert read()
    clock(8)
    assert ours.get(ADA, "brief", refresh_ttl=False)
    clock(8)
    assert ours.get(ADA, "brief") is None


def test_a_store_may_say_how_long_items_live(web, committed, agent_of, clock):
    key = agent_of(committed, owner="graph", requests_per_minute=0).key
    ttl = {"default_ttl": 5, "refresh_on_read": False}
    with closing(NovaMemStore(web, key, namespace=f"{committed.name}:ttl", ttl=ttl)) as store:
        store.put(ADA, "brief", TEA)
        store.put(ADA, "lasting", TEA, ttl=None)
        clock(3)
        assert store.get(ADA, "brief")
        clock(3)
        assert [item.key for item in store.search(ADA)] == ["lasting"]
