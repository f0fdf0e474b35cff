"""Episodes: conversations, and what somebody put together."""

import datetime

import pytest
from django.utils import timezone

from conflicts.public import ClaimDraft
from memories import access
from memories.models import Episode, EpisodeMember
from tests.properties.ground import post

URL = "/api/v1/episodes"
START = datetime.datetime(2026, 5, 1, 9, tzinfo=datetime.UTC)


@pytest.fixture
def store_turn(store):
    """Says something in a conversation, an hour after another."""

    def one(text, number, *, conversation="walk", namespace="acme:main", **more):
        at = START + datetime.timedelta(hours=number)
        more = {"sequence": number, "event_at": at, **more}
        return store(namespace, text, conversation_id=conversation, type="episodic", **more)

    return one


@pytest.fixture
def walk(store_turn):
    """A conversation of three turns, stored out of order."""
    texts = ["We walked to the old mill. It was cold.", "A heron stood at the mill.", "Then it rained."]
    return [store_turn(texts[number], number) for number in (2, 0, 1)]


def episodes(who, /, **asked):
    answer = who.client.get(URL, asked)
    assert answer.status_code == 200, answer.content
    return answer.json()["results"]


def read(agent, episode_id, status=200):
    answer = agent.client.get(f"{URL}/{episode_id}")
    assert answer.status_code == status, answer.content
    return answer.json()


def test_a_conversation_is_an_episode(alice, walk, connect):
    connect()
    (found,) = episodes(alice)
    assert (found["namespace"], found["conversation_id"], found["size"]) == ("acme:main", "walk", 3)
    assert (found["began_at"], found["ended_at"]) == ("2026-05-01T09:00:00Z", "2026-05-01T11:00:00Z")
    assert found["title"] == "A heron stood at the mill."
    whole = read(alice, found["id"])
    assert [row["sequence"] for row in whole["members"]] == [0, 1, 2]
    assert "A heron stood at the mill." in whole["summary"]
    assert {key: whole[key] for key in found} == found
    assert whole["truncated"] is False


def test_the_list_is_filtered_and_paged(alice, store_turn, walk, connect):
    store_turn("The otter sleeps.", 30, conversation="nap", namespace="acme:side", agent_id="side")
    store_turn("The otter wakes.", 50, conversation="morning", namespace="acme:side", agent_id="OTTO")
    connect()
    assert [row["conversation_id"] for row in episodes(alice)] == ["morning", "nap", "walk"]
    assert [row["conversation_id"] for row in episodes(alice, namespace="acme:side")] == ["morning", "nap"]
    assert [row["conversation_id"] for row in episodes(alice, agent="OTTO")] == ["morning"]
    assert [row["conversation_id"] for row in episodes(alice, since="2026-05-01T11:00:00Z")] == [
        "morning",
        "nap",
        "walk",
    ]
    assert [row["conversation_id"] for row in episodes(alice, since="2026-05-01T11:00:01Z")] == ["morning", "nap"]
    assert [row["conversation_id"] for row in episodes(alice, until="2026-05-02T15:00:00Z")] == ["walk"]
    first = alice.client.get(URL, {"limit": 2}).json()
    second = alice.client.get(first["next"]).json()
    assert [row["conversation_id"] for row in (*first["results"], *second["results"])] == ["morning", "nap", "walk"]
    assert second["next"] is None


@pytest.mark.parametrize("status", ["superseded", "archived", "quarantined", "disputed"])
def test_what_is_not_active_is_left_out_at_once(alice, walk, connect, change, status):
    connect()
    (found,) = episodes(alice)
    change(walk[1:2], status=status)
    whole = read(alice, found["id"])
    assert (whole["size"], whole["title"]) == (2, "A heron stood at the mill.")
    assert "walked" not in str(whole)
    change(walk, status=status)
    assert episodes(alice) == []
    read(alice, found["id"], 404)
    connect()
    change(walk, status="active")
    connect()
    assert episodes(alice) == [found]


def test_another_sessions_claim_is_left_out(alice, store_turn, connect):
    claim = ClaimDraft("Ada", "mood", "merry", scope="session", session_id="s1")
    store_turn("Ada is merry.", 1, claim=claim)
    connect()
    assert episodes(alice) == []


def test_forgetting_leaves_nothing_of_a_text(alice, walk, connect, principal):
    connect()
    (found,) = episodes(alice)
    made = post(alice, "episodes", {"namespace": "acme:main", "ids": [str(row.id) for row in walk]}, 201)
    assert alice.client.delete(f"/api/v1/fragments/{walk[1].id}").status_code == 204
    for whole in (read(alice, found["id"]), read(alice, made["id"])):
        assert "walked" not in str(whole)
        assert whole["size"] == 2
    for row in (walk[0], walk[2]):
        alice.client.delete(f"/api/v1/fragments/{row.id}")
    with access.enter(principal, why="test"):
        assert not EpisodeMember.objects.exists()
        assert not Episode.objects.exclude(conversation_id="").exists()
    assert episodes(alice) == []


def test_by_hand_in_any_order(alice, walk, connect):
    ids = [str(row.id) for row in walk]
    made = post(alice, "episodes", {"namespace": "acme:main", "title": "Birds", "ids": ids}, 201)
    assert [row["id"] for row in made["members"]] == ids
    assert (made["title"], made["conversation_id"], made["began_at"]) == ("Birds", None, "2026-05-01T09:00:00Z")
    untitled = post(alice, "episodes", {"namespace": "acme:main", "ids": ids[:1]}, 201)
    assert untitled["title"] == "Then it rained."
    connect()
    assert {row["id"] for row in episodes(alice)} >= {made["id"], untitled["id"]}


def test_a_repeated_request_makes_one(alice, walk, count):
    body = {"namespace": "acme:main", "ids": [str(walk[0].id)]}
    told = [alice.client.post(URL, body, format="json", headers={"Idempotency-Key": "once"}).json() for _ in range(2)]
    assert told[0] == told[1]
    assert count(Episode) == 1


def test_what_can_not_be_put_together(alice, bob, reader, charlie, walk, store, count):
    elsewhere = store("acme:side", "The otter sleeps.")
    own, foreign = str(walk[0].id), str(elsewhere.id)
    refused = [
        (alice, {"namespace": "acme:main", "ids": [own, foreign]}, 404),
        (alice, {"namespace": "acme:main", "ids": [str(walk[0].namespace_id)]}, 404),
        (charlie, {"namespace": "acme:main", "ids": [own]}, 404),
        (charlie, {"namespace": "elsewhere:main", "ids": [own]}, 404),
        (reader, {"namespace": "acme:main", "ids": [own]}, 403),
        (alice, {"namespace": "acme:main", "ids": []}, 400),
        (alice, {"namespace": "acme:main", "ids": [own, own]}, 400),
        (alice, {"namespace": "acme:main", "ids": [own], "title": "x" * 201}, 400),
        (alice, {"namespace": "acme:main", "ids": [own], "colour": "red"}, 400),
    ]
    for agent, body, status in refused:
        answer = agent.client.post(URL, body, format="json")
        assert answer.status_code == status, (body, answer.content)
    assert count(Episode) == 0


def test_a_narrow_key_sees_its_own_only(alice, reader, charlie, store_turn, walk, connect):
    store_turn("The otter sleeps.", 30, conversation="nap", namespace="acme:side")
    connect()
    nap, mine = episodes(alice)
    assert episodes(reader) == [mine]
    assert episodes(charlie) == []
    assert read(reader, nap["id"], 404)["code"] == read(charlie, mine["id"], 404)["code"] == "not_found"
    assert reader.client.get(URL, {"namespace": "acme:side"}).status_code == 404


def test_a_rebuild_gives_the_same_answers(alice, store_turn, walk, connect, rebuild, principal, time_machine):
    time_machine.move_to(timezone.now(), tick=False)  # what decays would change the answers
    for number, text in enumerate(["The otter sleeps.", "The otter wakes.", "The otter swims."]):
        store_turn(text, number + 20, conversation="nap", namespace="acme:side")
    post(alice, "episodes", {"namespace": "acme:main", "title": "Birds", "ids": [str(walk[0].id)]}, 201)
    connect()
    before = [read(alice, row["id"]) for row in episodes(alice)]
    with access.enter(principal, why="test"):
        Episode.objects.filter(conversation_id="nap").delete()
        wrong = Episode.objects.get(conversation_id="walk")
        Episode.objects.filter(id=wrong.id).update(ended_at=START + datetime.timedelta(days=9))
        wrong.id, wrong.conversation_id = wrong.namespace_id, "never said"
        wrong.save(force_insert=True)
    assert [read(alice, row["id"]) for row in episodes(alice)] != before
    assert rebuild("episodes")["rebuilt"] == 6
    assert [read(alice, row["id"]) for row in episodes(alice)] == before
    with access.enter(principal, why="test"):
        assert not Episode.objects.filter(conversation_id="never said").exists()
