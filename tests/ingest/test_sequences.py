"""The places of a conversation's turns, which it tells in several requests."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections
from django.utils import timezone

from memories import access, ingest
from memories.ingest.files import Message
from memories.models import Fragment

TURNS = [
    "We keep the old mill for the herons.",
    "Which month is best for counting them?",
    "Early in April, before the reeds grow.",
    "Then bring the long ladder along.",
    "The ladder stands behind the barn.",
]


def turns(*numbers, ids=True):
    named = [{"id": f"m{n}"} if ids else {} for n in numbers]
    return [{"role": "user", "content": TURNS[n], **name} for n, name in zip(numbers, named, strict=True)]


def post(agent, messages, **more):
    body = {"namespace": "acme:main", "conversation_id": "c1", "messages": messages, **more}
    answer = agent.client.post("/api/v1/ingest", body, format="json")
    assert answer.status_code == 201, answer.content
    return [row["sequence"] for row in answer.json()["stored"]]


@pytest.mark.parametrize("ids", [True, False])
def test_a_conversation_goes_on_where_its_last_request_ended(alice, ids):
    assert post(alice, turns(0, 1, ids=ids)) == [0, 1]
    assert post(alice, turns(2, ids=ids)) == [2]
    assert post(alice, turns(3, 4, ids=ids)) == [3, 4]


def test_a_history_that_is_sent_whole_each_time_leaves_no_gap(alice):
    short = {"role": "user", "content": "ok"}
    assert post(alice, turns(0, 1)) == [0, 1]
    assert post(alice, turns(0, 1, 2)) == [2]
    assert post(alice, [*turns(0, 1, 2), short, *turns(3)]) == [4]
    assert post(alice, [*turns(0, 1, 2), short, *turns(3, 4)]) == [5]
    assert post(alice, turns(0, 1)) == []


def test_turns_that_are_sent_before_known_ones_stand_before_them(alice):
    post(alice, turns(2, 3))
    assert post(alice, turns(0, 1, 2, 3, 4)) == [-2, -1, 2]


def test_whoever_goes_on_with_a_conversation_goes_on_behind_it(alice, bob):
    post(alice, turns(0, 1))
    assert post(bob, turns(2, 3)) == [2, 3]
    assert post(alice, turns(4)) == [4]


@pytest.mark.parametrize("other", [{"conversation_id": "c2"}, {"namespace": "acme:side"}, {"user": "ann"}])
def test_another_conversation_begins_anew(alice, other):
    post(alice, turns(0, 1))
    assert post(alice, turns(2, 3), **other) == [0, 1]
    assert post(alice, turns(4), **other) == [2]


def test_turns_without_a_conversation_are_counted_by_request(alice):
    for numbers in ((0, 1), (2, 3)):
        body = {"namespace": "acme:main", "messages": turns(*numbers)}
        answer = alice.client.post("/api/v1/ingest", body, format="json").json()
        assert [row["sequence"] for row in answer["stored"]] == [0, 1]


def test_a_document_of_a_conversation_stands_behind_its_turns(alice):
    post(alice, turns(0, 1))
    body = {"namespace": "acme:main", "conversation_id": "c1", "source": "guide.md"}
    text = "\n\n".join("The river rises in spring and falls in summer. " * 30 for _ in range(3))
    answer = alice.client.post("/api/v1/ingest", {**body, "text": text}, format="json").json()
    places = [row["sequence"] for row in answer["stored"]]
    assert places == list(range(places[0], places[0] + len(places)))
    assert places[0] > 1
    assert post(alice, turns(2)) == [places[-1] + 1]


def test_a_turn_at_the_last_place_there_is_stops_no_other(alice, store):
    store("acme:main", TURNS[0], conversation_id="c1", sequence=2**31 - 1)
    assert post(alice, turns(1, 2)) == [2**31 - 1] * 2


def test_a_long_turn_in_pieces_takes_one_place(alice):
    long = {"role": "user", "content": "The river rises in spring and falls in summer. " * 60, "id": "long"}
    post(alice, turns(0))
    assert set(post(alice, [long])) == {1}
    assert post(alice, turns(1)) == [2]


def test_what_was_said_beside_is_found_over_several_requests(alice):
    for n in (1, 2, 3):
        post(alice, turns(n))
    asked = {"namespace": "acme:main", "query": "Which month is best for counting?", "explain": True, "floor": 0}
    answer = alice.client.post("/api/v1/search", asked, format="json").json()
    found = {row["id"]: row["content"] for row in answer["results"]}
    first, second, *_ = found.values()
    assert (first, second) == (TURNS[1], TURNS[2])


def test_requests_at_one_time_get_places_of_their_own(committed, service):
    barrier = threading.Barrier(4)

    def turns_of(n):
        texts = [f"Heron {n} was counted at dawn.", f"Heron {n} left the reeds at noon."]
        return [
            Message(
                role="user", content=text, at=None, source_id=f"{n}:{text[-5:]}", conversation_id="c1",
                sequence=None, kind="message", speaker=None,
            )
            for text in texts
        ]  # fmt: skip

    def deliver(n):
        try:
            barrier.wait(timeout=60)
            kept = ingest.messages.ingest(service, turns_of(n), namespace=f"{committed.name}:main", now=timezone.now())
            return [one.fragment.sequence for one in kept.stored]
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        places = list(pool.map(deliver, range(4)))
    assert all(second == first + 1 for first, second in places)
    assert sorted(sum(places, [])) == list(range(8))
    with access.enter(service, why="test"):
        assert Fragment.objects.within(service.project_id).count() == 8


def skipped(agent, messages, **more):
    body = {"namespace": "acme:main", "conversation_id": "c1", "messages": messages, **more}
    answer = agent.client.post("/api/v1/ingest", body, format="json")
    assert answer.status_code == 201, answer.content
    return [(one["index"], one["reason"]) for one in answer.json()["skipped"]]


def test_a_history_that_is_sent_again_without_ids_adds_what_is_new(alice):
    assert post(alice, turns(0, 1, ids=False)) == [0, 1]
    assert post(alice, turns(0, 1, ids=False)) == []
    assert skipped(alice, turns(0, ids=False)) == [(0, "already_known")]
    assert post(alice, turns(0, 1, 2, ids=False)) == [2]
    assert skipped(alice, turns(0, 1, 2, ids=False)) == [(n, "already_known") for n in range(3)]


def test_what_only_begins_alike_is_another_part_of_the_conversation(alice):
    assert post(alice, turns(0, 1, 2, ids=False)) == [0, 1, 2]
    assert post(alice, turns(0, 3, ids=False)) == [3, 4]
    assert post(alice, turns(2, ids=False)) == [5]
    assert post(alice, turns(0, 1, ids=False), conversation_id="c2") == [0, 1]
