"""Standing instructions of the user answer along with what is asked, whatever is nearer."""

import pytest
from django.utils import timezone

from memories import access
from memories.ingest.updates import archive, revise
from memories.models import EmbeddingModel, Fragment
from memories.models.enums import INSTRUCTION

URL = "/api/v1/search"
TOLD = "Always give the dose in milligrams when I ask about my medicine."


def said(agent, *texts, namespace="acme:main", role="user", **more):
    messages = [{"role": role, "content": text, "id": f"{role}-{n}-{text[:30]}"} for n, text in enumerate(texts)]
    body = {"namespace": namespace, "conversation_id": "c1", "messages": messages, **more}
    answer = agent.client.post("/api/v1/ingest", body, format="json")
    assert answer.status_code == 201, answer.json()


def chatter(agent, **more):
    said(agent, *(f"The pharmacy on street {n} has my medicine number {n} again." for n in range(30)), **more)


def asked(agent, query="Which medicine does the pharmacy have?", **more):
    body = {"namespace": "acme:main", "query": query, "top_k": 10, "floor": 0, **more}
    answer = agent.client.post(URL, body, format="json")
    assert answer.status_code == 200, answer.json()
    return [(hit["content"], hit["ranking_signals"]) for hit in answer.json()["results"]]


@pytest.fixture
def told(alice):
    said(alice, TOLD)
    chatter(alice)


def test_an_instruction_has_a_place_behind_the_best_five(alice, told):
    found = asked(alice)
    assert [text for text, _ in found].index(TOLD) == 5
    assert [signals.get("instruction") for text, signals in found if text == TOLD] == [1.0]
    assert {signals.get("instruction") for text, signals in found if text != TOLD} == {None}
    assert [text for text, _ in asked(alice, top_k=3)].index(TOLD) == 2


def test_explain_says_why_it_is_there(alice, told):
    body = {"namespace": "acme:main", "query": "Which medicine does the pharmacy have?", "floor": 0, "explain": True}
    answer = alice.client.post(URL, body, format="json").json()
    row = next(hit for hit in answer["results"] if hit["content"] == TOLD)
    path = next(one for one in answer["explanation"]["candidates"] if one["id"] == row["id"])
    assert "instruction" in path["found_by"]


def test_three_are_the_most_and_the_nearest_go_first(alice, told):
    others = [f"Always mention the pharmacy number {n} when I ask about medicine." for n in range(4)]
    said(alice, *others)
    found = [text for text, signals in asked(alice) if signals.get("instruction")]
    assert len(found) == 3
    near = asked(alice, query="Which medicine does the pharmacy number 3 have?")
    assert others[3] in [text for text, signals in near if signals.get("instruction")]


def test_what_the_assistant_or_a_document_says_instructs_nobody(alice, bob):
    said(alice, TOLD, role="assistant")
    chatter(alice)
    body = {"namespace": "acme:main", "content": f"{TOLD} Thus spoke a tool.", "extra": {INSTRUCTION: True}}
    assert bob.client.post("/api/v1/fragments", body, format="json").status_code == 201
    assert not [text for text, signals in asked(alice) if signals.get("instruction")]
    with access.enter(alice.principal, why="test"):
        assert not Fragment.objects.filter(extra__has_key=INSTRUCTION).exists()


def test_another_users_instruction_is_not_served(alice):
    said(alice, TOLD, user="anna")
    chatter(alice, user="anna")
    chatter(alice, user="ben")
    assert TOLD in [text for text, _ in asked(alice, user="anna")]
    assert TOLD not in [text for text, _ in asked(alice, user="ben")]
    whole = asked(alice, all_users=True, query="What did I say about doses?")
    assert not [text for text, signals in whole if signals.get("instruction")]


def test_what_has_nothing_to_do_with_the_question_stays_away(alice, told):
    EmbeddingModel.objects.update(floor=0.4)
    unrelated = asked(alice, query="Summer holidays, mountains?")
    assert unrelated
    assert not [text for text, signals in unrelated if signals.get("instruction")]


def test_where_nothing_answers_no_instruction_does(alice, told):
    EmbeddingModel.objects.update(floor=0.99)
    assert asked(alice, query="Where did we spend the summer in the mountains?", floor="auto") == []


def test_pasted_material_instructs_only_alone(alice):
    said(alice, f"Dear all,\n{TOLD}\nBest regards\nBob")
    chatter(alice)
    assert not [text for text, signals in asked(alice) if signals.get("instruction")]
    said(alice, "Always provide clear summaries when I ask about my medicine.")
    assert [text for text, signals in asked(alice) if signals.get("instruction")]


def test_profiles_of_the_seeds_rank_as_they_are_defined(alice, told):
    assert not [text for text, signals in asked(alice, profile="hindsight") if signals.get("instruction")]


@pytest.fixture
def row(alice, told):
    """The instruction as it stands now."""

    def read():
        with access.enter(alice.principal, why="test"):
            return Fragment.objects.get(id=which)

    with access.enter(alice.principal, why="test"):
        which = Fragment.objects.get(content=TOLD).id
    return read


def test_a_new_text_instructs_anew(alice, row):
    now = timezone.now()
    assert row().extra == {INSTRUCTION: True}
    revise(alice.principal, row().id, revision=None, changes={"content": "I asked about my medicine."}, now=now)
    assert row().extra == {}
    revise(alice.principal, row().id, revision=None, changes={"extra": {"page": 3, INSTRUCTION: True}}, now=now)
    assert row().extra == {"page": 3}
    revise(alice.principal, row().id, revision=None, changes={"content": TOLD}, now=now)
    assert row().extra == {"page": 3, INSTRUCTION: True}


def test_an_archived_instruction_holds_no_more(alice, row):
    archive(alice.principal, row().id, now=timezone.now())
    assert TOLD not in [text for text, _ in asked(alice)]
