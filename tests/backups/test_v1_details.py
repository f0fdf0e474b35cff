"""Claims in the metadata of V1 chunks: none gains authority on the way."""

from memories.backups.bundle import v1_details

CLAIM = {"subject": "user", "predicate": "budget", "value": "$750"}


def authority_of(claim):
    (found,) = v1_details.read({"claim": claim}, "The budget is $750.").claims
    return found["authority"]


def test_a_claim_keeps_its_authority_and_is_an_inference_without_one():
    assert authority_of(CLAIM | {"authority": 3}) == 3
    assert authority_of(CLAIM) == 1


def test_an_authority_that_is_none_leaves_the_claim_to_extra():
    assert v1_details.read({"claim": CLAIM | {"authority": 7}}, "x").claims == []
