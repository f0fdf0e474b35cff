"""One ranking over all namespaces that a question reads: what answers stands before chatter, wherever it is kept."""

import itertools
import json

import pytest
from django.core.management import call_command

from memories.models import EmbeddingModel

URL = "/api/v1"
FLOOR = 0.25
LAGOON = "The blue lagoon near Grindavik is closed until May."
DOCKER = "Build b-7 of shop, phase 2: the docker image failed to build (failed)"
SPEAKERS = ("Ann", "Ben")
OPENINGS = ("Wow", "Hey", "Thanks", "Absolutely", "Oh no", "Sure", "Great")
TOPICS = (
    "the blue really suits your new painting",
    "I chose blue streaks because blue calms me so much",
    "don't give up, each failure helps you build something new",
    "how did the funding help you build the school",
    "building a team takes time and failure is a part of it",
    "I am single and happy about it",
    "my open studio is such a lovely blue place to be",
    "we swam in the lake and the children loved it",
)


@pytest.fixture
def chatter(alice):
    """A long chat in another agent's namespace."""
    said = itertools.product(OPENINGS, TOPICS)
    turns = [
        {"role": "user", "content": f"{SPEAKERS[n % 2]}: {opening}, {topic}!", "id": f"D1:{n}"}
        for n, (opening, topic) in enumerate(said)
    ]
    body = {"namespace": "acme:chat", "conversation_id": "D1", "messages": turns}
    assert alice.client.post(f"{URL}/ingest", body, format="json").status_code == 201


@pytest.fixture
def floor(db):
    """The active model has one."""
    EmbeddingModel.objects.update(floor=FLOOR)


def ask(agent, path="search", status=200, **body):
    answer = agent.client.post(f"{URL}/{path}", body, format="json")
    assert answer.status_code == status, answer.content
    return [(row["namespace"], row["content"]) for row in answer.json()["results"]]


WIDE = {"namespace": "acme:main", "project_wide": True}
BOTH = {"namespaces": ["acme:chat", "acme:main"]}


@pytest.mark.parametrize("reads", [WIDE, BOTH, {"namespaces": [*reversed(BOTH["namespaces"])]}])
@pytest.mark.parametrize(
    ("text", "query"),
    [(LAGOON, "blue lagoon"), (LAGOON, "Is the blue lagoon open?"), (DOCKER, "docker build failure")],
)
def test_an_exact_hit_in_a_small_namespace_stands_before_chatter(alice, store, chatter, reads, text, query):
    store("acme:main", text)
    assert ask(alice, **reads, query=query)[0] == ("acme:main", text)


def test_an_exact_hit_of_another_agent_stands_before_chatter_of_ones_own(alice, store, chatter):
    store("acme:main", LAGOON)
    wide = {"namespace": "acme:chat", "project_wide": True}
    assert ask(alice, **wide, query="blue lagoon")[0] == ("acme:main", LAGOON)


def test_where_it_is_asked_makes_no_difference_to_what_words_weigh(alice, store, chatter):
    store("acme:main", LAGOON)
    body = {"query": "blue lagoon", "explain": True, "floor": 0, "top_k": 20}
    weights = []
    for reads in (WIDE, BOTH, {"namespace": "acme:chat", "project_wide": True}):
        answer = alice.client.post(f"{URL}/search", {**body, **reads}, format="json").json()
        found = {row["id"]: row["content"] for row in answer["results"]}
        candidates = answer["explanation"]["candidates"]
        weights.append({found[one["id"]]: one["bm25"] for one in candidates if one["id"] in found and one["bm25"]})
    shared = set.intersection(*map(set, weights))
    assert LAGOON in shared
    assert len(shared) > 1
    assert all(len({scores[text] for scores in weights}) == 1 for text in shared)


def test_what_is_near_the_question_stands_before_other_agents_chatter(alice, store, chatter, floor):
    near = ["The docker build failed on the runner.", "Docker images build slowly since Monday."]
    for text in near:
        store("acme:main", text)
    found = ask(alice, **WIDE, query="docker build failure")
    assert {text for _, text in found[:2]} == set(near)


def test_of_other_agents_only_what_has_to_do_with_the_question_answers(alice, store, chatter, floor):
    own = "The build server stands in the cellar."
    for place, text in (("main", DOCKER), ("main", own), ("other", "The docker build needs more memory.")):
        store(f"acme:{place}", text)
    body = {**WIDE, "query": "docker build failure", "top_k": 50, "explain": True}
    answer = alice.client.post(f"{URL}/search", body, format="json").json()
    found = [row["content"] for row in answer["results"]]
    assert {DOCKER, "The docker build needs more memory."} == set(found[:2])
    assert own in found
    assert not [text for text in found if "painting" in text or "studio" in text or "lake" in text]
    left = [one for one in answer["explanation"]["candidates"] if one["stage"] == "floor"]
    assert left
    assert all(one["cosine"] < FLOOR and "too little" in one["reason"] for one in left)
    assert own in [text for _, text in ask(alice, namespace="acme:main", query="docker build failure")]


def test_what_was_said_beside_an_answer_answers_too(alice, store, floor):
    turns = ["Where did you leave the docker build?", "On the shelf.  It is under the lamp.", "Fine, thank you all."]
    body = {"namespace": "acme:chat", "conversation_id": "D1"}
    sent = {**body, "messages": [{"role": "user", "content": text} for text in turns]}
    assert alice.client.post(f"{URL}/ingest", sent, format="json").status_code == 201
    store("acme:main", "Herons nest early in wet years.")
    assert [text for _, text in ask(alice, **WIDE, query="Where is the docker build?")][:2] == turns[:2]


def test_the_command_looks_where_it_is_told(store, project, chatter, capsys):
    store("acme:cli", LAGOON)
    call_command("memory", "search", "blue lagoon", "--namespace", "acme:cli", "--json")
    assert {row["namespace"] for row in json.loads(capsys.readouterr().out)} == {"acme:cli"}
    call_command("memory", "search", "blue lagoon", "--namespace", "acme:cli", "--project-wide", "--json")
    first, *others = json.loads(capsys.readouterr().out)
    assert (first["namespace"], first["content"]) == ("acme:cli", LAGOON)
    assert others
