"""What a review from outside found: each of these fails until it is mended."""

import pytest

from conflicts.contradictions import Standing, is_spoken_of, read
from conflicts.sightings import same_date

URL = "/api/v1"
CLAIM = {"subject": "trip", "predicate": "budget"}


@pytest.fixture
def carol(project, agent_of):
    """A reviewer whose owner wrote nothing."""
    return agent_of(project, owner="carol", ceiling="user_explicit", verbs=["read", "write", "review", "admin"])


@pytest.fixture
def weak(project, agent_of):
    """A model's key."""
    return agent_of(project, owner="model", ceiling="inference")


@pytest.fixture
def paper(project, agent_of):
    """What is read out of documents."""
    return agent_of(project, owner="paper", ceiling="document")


@pytest.fixture
def weak_admin(project, agent_of):
    """An administrator's key that is believed as little as a model."""
    return agent_of(project, owner="caretaker", ceiling="inference", verbs=["read", "write", "admin"])


@pytest.fixture
def say():
    """Stores a memory by an agent."""

    def post(by, content, *, value=None, source="inference", **more):
        body = {"namespace": "acme:main", "content": content, "provenance": {"source": source}, **more}
        body |= {"claim": {**CLAIM, "value": value}} if value else {}
        answer = by.client.post(f"{URL}/fragments", body, format="json")
        assert answer.status_code in (200, 201), answer.json()
        return answer.json()

    return post


@pytest.fixture
def chosen(alice, weak, carol, say):
    """What a model said, as a claim or in free text, and a person chose against a tool's claim."""

    def ruled(*, as_claim):
        say(alice, "The budget of the trip is $750.", value="$750", source="tool_output")
        told = say(weak, "The trip budget is $900 now.", value="$900" if as_claim else None)
        (conflict,) = told["pending_conflicts"]
        path = f"{URL}/conflicts/{conflict['id']}"
        revision = carol.client.get(path).json()["revision"]
        answer = carol.client.post(f"{path}/resolve", {"action": "supersede", "revision": revision}, format="json")
        assert answer.status_code == 200
        return told["id"]

    return ruled


def status_of(by, fragment_id):
    return by.client.get(f"{URL}/fragments/{fragment_id}").json()["status"]


def test_what_a_person_chose_when_a_weaker_admin_forgets_by_id_stays(chosen, weak_admin, carol):
    told = chosen(as_claim=True)
    wish = {"namespace": "acme:main", "ids": [told], "expected_count": 1}
    assert weak_admin.client.post(f"{URL}/forget", wish, format="json").status_code == 403
    assert status_of(carol, told) == "active"


@pytest.mark.parametrize(
    ("door", "body"),
    [
        (f"{URL}/users/YW5u", None),
        ("/compat/mem0/v2/entities/user/ann/", None),
    ],
)
def test_a_models_word_that_a_person_chose_when_a_weaker_admin_deletes_all_stays(
    door, body, carol, alice, weak, weak_admin, say
):
    yielded = say(alice, "The budget of the trip is $750.", value="$750", source="tool_output", user="ann")
    told = say(weak, "The trip budget is $900 now.", value="$900", user="ann")
    (conflict,) = told["pending_conflicts"]
    path = f"{URL}/conflicts/{conflict['id']}"
    revision = carol.client.get(f"{path}?user=ann").json()["revision"]
    wish = {"action": "supersede", "revision": revision}
    assert carol.client.post(f"{path}/resolve?user=ann", wish, format="json").status_code == 200
    assert alice.client.delete(f"{URL}/fragments/{yielded['id']}?user=ann").status_code == 204
    answer = weak_admin.client.delete(door, body, format="json", headers={"X-NovaMem-Namespace": "acme:main"})
    assert answer.status_code == 403, answer.content
    assert "believed" in str(answer.content) or "ceiling" in str(answer.content), answer.content
    assert carol.client.get(f"{URL}/fragments/{told['id']}?user=ann").json()["status"] == "active"


def test_a_text_that_a_person_chose_when_a_weaker_key_digests_it_stays(chosen, weak, carol, say):
    told = chosen(as_claim=False)
    others = [say(weak, text)["id"] for text in ("The trip goes to Rome by train.", "The hotel is near the station.")]
    answer = weak.client.post(f"{URL}/digests", {"ids": [told, *others], "method": "extractive"}, format="json")
    assert answer.status_code in (403, 409)
    assert status_of(carol, told) == "active"


@pytest.mark.parametrize("value", ["$750", "$1"])
def test_a_document_when_a_person_chose_a_free_text_does_not_stand_above_it(value, chosen, paper, say):
    told = chosen(as_claim=False)
    say(paper, f"trip budget {value}", value=value, source="document")
    question = {"namespace": "acme:main", "query": "What is the budget of the trip?"}
    hits = paper.client.post(f"{URL}/search", question, format="json").json()["results"]
    assert hits[0]["id"] == told
    assert all(hit["contradicts"] for hit in hits[1:] if "budget" in hit["content"])


def test_what_a_user_said_for_all_when_a_model_says_otherwise_in_a_scope_is_not_hidden(alice, weak, say):
    said = say(alice, "The trip budget is $750.", value="$750", source="user_explicit")
    say(weak, "The trip budget is $1.", value="$1", user="ann")
    question = {"namespace": "acme:main", "user": "ann", "query": "What is the budget of the trip?"}
    hits = weak.client.post(f"{URL}/search", question, format="json").json()["results"]
    assert said["id"] in [hit["id"] for hit in hits]


NAMED = ["I'm Bob: my budget is $999.", "i'm bob. my budget is $999.", "I'm known as Bob. My budget is $999."]
NAMED += ["My first name is Bob. My budget is $999.", "I am not Ann. My budget is $999."]


NAMED += ["I'm not the user. My budget is $999.", "I'm another user. My budget is $999."]
NAMED += ["I'm someone else now. My budget is $999.", "I borrowed her laptop. My budget is $999."]
NAMED += ["I'm the new owner of this account. My budget is $999.", "Me llamo Bob. My budget is $999."]


@pytest.fixture
def hears(project, agent_of):
    """The key of a chat that hears users."""
    return agent_of(project, owner="chat", may_attest_user=True)


@pytest.fixture
def turn(hears):
    """What becomes of a user's turn."""

    def told(user, content):
        body = {"namespace": "acme:main", "user": user, "messages": [{"role": "user", "content": content}]}
        return hears.client.post(f"{URL}/ingest", body, format="json").json()["stored"][0]

    return told


@pytest.mark.parametrize("words", NAMED)
def test_a_turn_when_its_speaker_names_himself_otherwise_is_not_attested(words, turn):
    turn("ann", "My budget is $500.")
    assert turn("ann", words)["provenance"]["authority"] == 3


@pytest.mark.parametrize("user", ["u_8731", "8f0c6c1e-1111-4222-8333-444455556666"])
def test_a_user_of_an_opaque_id_when_they_give_their_name_is_believed(user, turn):
    turn(user, "My name is Ann.")
    turn(user, "My budget is $500.")
    claims = turn(user, "I'm Ann, and my budget is $600.")["claims"]
    assert {claim["status"] for claim in claims} == {"active"}


@pytest.mark.parametrize("subject", ["my", "a", "The", "our"])
def test_a_question_when_a_claims_subject_is_an_article_or_a_possessive_is_answered(subject, weak):
    body = {"namespace": "acme:main", "content": "It is $7.", "provenance": {"source": "inference"}}
    body["claim"] = {"subject": subject, "predicate": "budget", "value": "$7"}
    assert weak.client.post(f"{URL}/fragments", body, format="json").status_code == 201
    question = {"namespace": "acme:main", "query": f"What is {subject} budget for the whole trip?"}
    assert weak.client.post(f"{URL}/search", question, format="json").status_code == 200


@pytest.mark.parametrize("subject", ["my", "a", "the", "an", "our"])
def test_what_is_spoken_of_when_a_subject_is_only_an_article_is_decided(subject):
    said = read(f"What is {subject} budget for the whole trip?")
    assert is_spoken_of(said, Standing(subject, "budget", "$7", "money", ())) in (True, False)


@pytest.mark.parametrize("date", ["/25/12/2026", "2026-13-45", "2026-02-30"])
def test_a_weekday_when_the_other_date_reads_only_one_way_or_is_none_is_compared(date):
    assert same_date("friday", date) in (True, False)


def test_a_date_with_the_day_first_when_a_weekday_stands_is_stored(alice, say):
    claim = {"subject": "user", "predicate": "deadline", "value": "Friday"}
    say(alice, "My deadline is Friday.", source="tool_output", claim=claim)
    say(alice, "My deadline is 25/12/2026.", source="tool_output")


@pytest.mark.parametrize("path", ["search/batch", "fragments/batch"])
def test_a_part_of_a_batch_when_it_names_another_user_than_the_header_is_refused(path, alice, say):
    say(alice, "Ann keeps bees.", user="ann")
    part = {"namespace": "acme:main", "user": "ann", "query": "bees", "content": "Ann keeps bees."}
    part.pop("content" if path == "search/batch" else "query")
    body = {"searches" if path == "search/batch" else "fragments": [part]}
    answer = alice.client.post(f"{URL}/{path}", body, format="json", headers={"X-NovaMem-User": "bob"})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "user")
