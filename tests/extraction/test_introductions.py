"""Introductions: who names himself as somebody else than the user attests nothing."""

import pytest

URL = "/api/v1"
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

    def ingest_turn(user, content):
        body = {"namespace": "acme:main", "user": user, "messages": [{"role": "user", "content": content}]}
        return hears.client.post(f"{URL}/ingest", body, format="json").json()["stored"][0]

    return ingest_turn


@pytest.mark.examples
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
