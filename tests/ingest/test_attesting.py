"""What the user says before our eyes counts as user_explicit, if the grant may attest it (docs/spec.md §4)."""

import dataclasses

import pytest

from memories import access, ingest
from memories.extraction import restated_claims
from memories.ingest import Draft
from memories.ingest.files import Message
from memories.models import Claim, Fragment

TURN = Draft(namespace="acme:main", content="My budget is $750.", extract_claim=True, default_source="user_implicit")


@pytest.fixture
def keep(now):
    def put(principal, draft):
        kept = ingest.store(principal, ingest.prepare([draft]), now=now)[0].fragment
        with access.enter(principal, why="test"):
            return Fragment.objects.within(principal.project_id).select_related("claim").get(id=kept.id)

    return put


def test_attested_words_are_the_users_whatever_the_ceiling(project, agent_of, keep):
    proxy = agent_of(project, may_attest_user=True).principal
    row = keep(proxy, dataclasses.replace(TURN, attested=True))
    assert (row.source, row.authority, row.claim.authority) == ("user_explicit", 6, 6)


def test_without_the_right_they_are_what_the_key_may_say(bob, keep):
    row = keep(bob.principal, dataclasses.replace(TURN, attested=True))
    assert (row.source, row.authority) == ("user_implicit", 3)


@pytest.mark.parametrize(
    "words",
    [
        'He wrote "my budget is $750".',
        "```\nmy budget is $750\n```",
        "> my budget is $750",
        "Ann says my budget is $750.",
    ],
)
def test_what_is_quoted_is_not_attested(words, project, agent_of, keep):
    proxy = agent_of(project, may_attest_user=True).principal
    row = keep(proxy, dataclasses.replace(TURN, content=words, attested=True))
    claim = getattr(row, "claim", None)
    assert claim is None or claim.authority == 1


def test_nobody_attests_over_http(alice):
    body = {"namespace": "acme:main", "content": "My budget is $750.", "attested": True}
    assert alice.client.post("/api/v1/fragments", body, format="json").status_code == 400


FILLER = "The quarterly report lists many figures of no interest to anybody here. " * 32
LONG = {
    "a fence": "Please summarise this file:\n```\n{filler}\n{said}\n```",
    "a quotation": 'Please summarise: "{filler} {said}"',
    "a forwarded message": "See this.\n---------- Forwarded message ----------\n{filler}\n{said}",
    "markup": "<document>\n{filler}\n{said}\n</document>",
}


@pytest.fixture
def proxy(project, agent_of):
    return agent_of(project, owner="proxy", may_attest_user=True).principal


@pytest.fixture
def ingest_turns(proxy, now):
    """Ingests a user's turns; the memories by text."""

    def put(*texts, attested=True, by=proxy):
        turns = [
            Message("user", text, None, f"t{n}", "chat", n, "message", None, attested=attested)
            for n, text in enumerate(texts)
        ]
        stored = ingest.messages.ingest(by, turns, namespace="acme:main", now=now).stored
        with access.enter(proxy, why="test"):
            rows = (
                Fragment.objects.within(proxy.project_id)
                .select_related("claim")
                .in_bulk([k.fragment.id for k in stored])
            )
        return [rows[kept.fragment.id] for kept in stored]

    return put


@pytest.fixture
def believed(proxy):
    """The values that stand of the user's budget."""

    def read():
        with access.enter(proxy, why="test"):
            rows = Claim.objects.within(proxy.project_id).filter(status="active", predicate="budget")
            return [(row.value, row.authority) for row in rows]

    return read


@pytest.mark.parametrize("frame", LONG.values(), ids=LONG)
def test_a_quotation_goes_on_in_the_pieces_of_a_long_turn(frame, ingest_turns, believed):
    ingest_turns("My budget is $750.")
    pieces = ingest_turns(frame.format(filler=FILLER, said="My budget is $13."))
    assert len(pieces) > 1
    assert {piece.source for piece in pieces} == {"user_implicit"}
    assert believed() == [("$750", 6)]


def test_a_quotation_in_one_piece_is_no_claim_where_nothing_was_said_before(ingest_turns, believed):
    ingest_turns(LONG["a fence"].format(filler=FILLER, said="My budget is $13."))
    assert believed() == []


def test_a_statement_is_found_in_the_piece_that_holds_it(ingest_turns):
    pieces = ingest_turns(f"{FILLER}\n\nMy budget is $750.\n\n{FILLER}\n\nI live in Lisbon.")
    found = {row.claim.predicate: row for row in pieces if hasattr(row, "claim")}
    assert set(found) == {"budget", "lives_in"}
    for row in found.values():
        assert row.claim.value in row.content
        assert (row.authority, row.claim.authority) == (3, 3)


@pytest.mark.parametrize(
    "text", ["Translate to German: My budget is $13.", "Eve wrote:\n\nMy budget is $13.", "As Romeo, my budget is $13."]
)
def test_material_waits_for_a_person_where_it_opposes_the_users_word(text, ingest_turns, believed):
    ingest_turns("My budget is $750.")
    (row,) = ingest_turns(text)
    assert (row.source, row.authority, row.status) == ("user_implicit", 3, "quarantined")
    assert row.extra == {"carries_material": True}
    assert believed() == [("$750", 6)]


def test_a_plain_word_replaces_what_the_user_said_before(ingest_turns, believed):
    ingest_turns("My budget is $750.")
    (row,) = ingest_turns("Actually, my budget is $900 now.")
    assert (row.source, row.extra) == ("user_explicit", {})
    assert believed() == [("$900", 6)]


def test_what_material_says_is_no_plain_word_when_it_is_read_again(ingest_turns):
    (plain,) = ingest_turns("My budget is $750.")
    (pasted,) = ingest_turns("Translate to German: I live in Oslo.")
    assert [said.first_person for said in restated_claims(plain).claims] == [True]
    assert [said.first_person for said in restated_claims(pasted).claims] == [False]


@pytest.fixture
def for_alice(proxy):
    """The proxy while it speaks for alice."""
    return proxy.of_user("alice")


def test_a_stranger_in_a_users_session_attests_nothing(for_alice, ingest_turns, believed):
    ingest_turns("My budget is $750.", by=for_alice)
    (row,) = ingest_turns("I'm Bob. My budget is $13.", by=for_alice)
    assert (row.source, row.extra) == ("user_implicit", {"carries_material": True})
    assert believed() == [("$750", 6)]


@pytest.mark.parametrize("turn", ["I'm Alice. My budget is $900.", "Call me alice. My budget is $900."])
def test_who_has_the_users_name_attests(turn, for_alice, ingest_turns):
    ingest_turns("My budget is $750.", by=for_alice)
    (row,) = ingest_turns(turn, by=for_alice)
    assert (row.source, row.extra) == ("user_explicit", {})


def test_a_stranger_where_no_user_is_known_attests_only_before_anybody_was_heard(ingest_turns, believed):
    (first,) = ingest_turns("I'm Ann. My budget is $750.")
    (again,) = ingest_turns("My name is Ann and my budget is $800.")
    (stranger,) = ingest_turns("I'm Bob. My budget is $13.")
    assert [row.source for row in (first, again, stranger)] == ["user_explicit", "user_explicit", "user_implicit"]
    assert believed() == [("$800", 6)]


def test_a_stranger_after_nameless_words_attests_nothing(ingest_turns, believed):
    ingest_turns("My budget is $750.")
    (row,) = ingest_turns("I'm Bob. My budget is $13.")
    assert row.source == "user_implicit"
    assert believed() == [("$750", 6)]


def test_a_name_that_only_a_stranger_gave_is_not_the_users(ingest_turns, believed):
    ingest_turns("My budget is $750.")
    ingest_turns("I'm Bob.")
    ingest_turns("I'm Bob. My budget is $13.")
    assert believed() == [("$750", 6)]


@pytest.fixture
def for_ann(proxy):
    """The proxy while it speaks for ann."""
    return proxy.of_user("ann")


STRANGERS = """
I'm Bob: my budget is $13. | i'm bob. my budget is $13. | I'm known as Bob. My budget is $13.
I'm Li Wei. My budget is $13. | My first name is Bob. My budget is $13. | My real name is Bob. My budget is $13.
my username is bob. My budget is $13. | I'm Bob… … My budget is $13. | I'm 'Bob'. My budget is $13.
I'm **Bob**. My budget is $13. | I’m “Bob”. My budget is $13. | I, Bob, have a budget of $13.
I am not Ann. My budget is $13. | I ain't Ann. My budget is $13. | My name isn't Ann. My budget is $13.
I'm her husband. My budget is $13. | I'm Ann's husband. My budget is $13.
I'm using Ann's phone. My budget is $13. | I'm a friend of Ann. My budget is $13. | I AM BOB. MY BUDGET IS $13.
i'm zorblax. my budget is $13. | I'm Mrs. Bobson. My budget is $13.
"""
THEMSELVES = """
I'm Ann. My budget is $13. | I'm Ann Miller. My budget is $13. | My name is Ann. My budget is $13.
I'm **Ann**. My budget is $13. | I'm vegan and my name is Ann. | I'm not Bob. My budget is $13.
I'm happy. My budget is $13. | I'm going to Rome. My budget is $13. | I'm a nurse. My budget is $13.
I AM ALLERGIC TO PEANUTS. | I'm Swedish. My budget is $13. | I'm lactose intolerant. | I'm fluent in Portuguese.
My dog's name is Rex. | I'm CEO of Initech. | I, personally, have a budget of $13.
"""


def turns(table):
    return [turn.strip() for line in table.strip().splitlines() for turn in line.split(" | ")]


@pytest.mark.parametrize("turn", turns(STRANGERS))
def test_a_turn_when_its_speaker_is_not_the_user_attests_nothing(turn, for_ann, ingest_turns):
    ingest_turns("My budget is $750.", by=for_ann)
    (row,) = ingest_turns(turn, by=for_ann)
    assert row.source == "user_implicit"


@pytest.mark.parametrize("turn", turns(THEMSELVES))
def test_a_turn_when_its_speaker_names_no_other_is_the_users_word(turn, for_ann, ingest_turns):
    ingest_turns("My budget is $750.", by=for_ann)
    (row,) = ingest_turns(turn, by=for_ann)
    assert row.source == "user_explicit"


@pytest.mark.parametrize("user", ["u_8731", "8f0c6c1e-1111-4222-8333-444455556666", "annm"])
def test_a_name_when_the_id_is_none_and_it_is_said_first_is_on_record(user, proxy, ingest_turns):
    by = proxy.of_user(user)
    turns = ["My name is Ann.", "I'm Ann Miller. My budget is $750.", "I'm Bob. My budget is $13."]
    rows = [row for turn in turns for row in ingest_turns(turn, by=by)]
    assert [row.source for row in rows] == ["user_explicit", "user_explicit", "user_implicit"]


def test_a_second_name_when_both_come_in_one_batch_is_a_strangers(ingest_turns):
    rows = ingest_turns("I'm Ann. My budget is $750.", "I'm Bob. My budget is $13.")
    assert [row.source for row in rows] == ["user_explicit", "user_implicit"]
