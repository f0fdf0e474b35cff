"""What the user says before our eyes counts as user_explicit, if the grant may attest it (SPEC §4)."""

import dataclasses

import pytest

from memories import ingest
from memories.ingest import Draft

TURN = Draft(namespace="acme:main", content="My budget is $750.", extract_claim=True, default_source="user_implicit")


@pytest.fixture
def keep(now):
    def put(principal, draft):
        return ingest.keep(principal, ingest.prepare([draft]), now=now)[0].fragment

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
