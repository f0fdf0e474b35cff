"""What one side forgot comes from the other in no guise either."""

import pytest

TEXT, GUISE = "The safe opens with 4711.", "“The sаfe opens  with 4711”"


@pytest.fixture
def store_text(alice):
    """Stores a text by the API; its id."""

    def post(text, place="main"):
        body = {"namespace": f"acme:{place}", "content": text}
        answer = alice.client.post("/api/v1/fragments", body, format="json")
        assert answer.status_code == 201, answer.content
        return answer.json()["id"]

    return post


def test_a_merge_brings_no_guise_of_what_the_target_forgot(alice, store_text, fork, merge, texts):
    store_text("Otters swim.")
    fork()
    store_text(GUISE, "side")
    assert alice.client.delete(f"/api/v1/fragments/{store_text(TEXT)}").status_code == 204
    merge()
    assert GUISE not in str(texts())


def test_a_fork_copies_no_guise_of_what_its_name_forgot(alice, store_text, fork, texts):
    store_text("Otters swim.")
    assert alice.client.delete(f"/api/v1/fragments/{store_text(TEXT)}?everywhere=true").status_code == 204
    fork()
    assert "4711" not in str(texts("acme:side"))
