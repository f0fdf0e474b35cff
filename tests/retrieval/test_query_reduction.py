"""What a question says of the conversation finds nothing: only what it asks for does."""

from django.utils import timezone

from memories import ingest

URL = "/api/v1/search"
ASKED = "Can you list the order in which I brought up the heron throughout our conversations? Mention only two items."


def answered(alice, query, **more):
    body = {"namespace": "acme:main", "query": query, "floor": 0, "explain": True, **more}
    return alice.client.post(URL, body, format="json").json()


def test_words_of_the_frame_find_nothing(alice, principal):
    texts = ["The heron nests behind the mill.", "Items of the order are listed throughout conversations."]
    drafts = [ingest.Draft(namespace="acme:main", content=text) for text in texts]
    ingest.store(principal, ingest.prepare(drafts), now=timezone.now())
    told = answered(alice, ASKED)
    assert told["explanation"]["query"] == "the heron?"
    assert told["results"][0]["content"] == texts[0]
    found = {row["id"]: row for row in told["explanation"]["candidates"]}
    other = next(row["id"] for row in told["results"] if row["content"] == texts[1])
    assert (found[other]["words_rank"], found[other]["terms"]) == (None, [])
    terms = found[told["results"][0]["id"]]["terms"]
    assert [term["term"] for term in terms] == ["heron"]
    assert abs(sum(term["bm25"] for term in terms) - found[told["results"][0]["id"]]["bm25"]) < 1e-3


def test_what_is_quoted_and_dated_in_the_frame_is_still_read(alice):
    told = answered(alice, 'Can you list the order in which I brought up "the old mill" and the heron in our chats?')
    assert told["explanation"]["phrases"] == ["the old mill"]
