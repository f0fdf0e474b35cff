"""Ways by which one user's memory might reach another."""

FRAGMENTS = "/api/v1/fragments"


def test_a_repeated_request_for_another_user_gets_no_answer_about_the_first(alice):
    body = {"namespace": "acme:main", "content": "Tea, never coffee."}
    headers = {"Idempotency-Key": "same", "X-NovaMem-User": "ann"}
    first = alice.client.post(FRAGMENTS, body, format="json", headers=headers)
    again = alice.client.post(FRAGMENTS, body, format="json", headers=headers)
    assert (again.status_code, again.json()["id"]) == (201, first.json()["id"])
    other = alice.client.post(FRAGMENTS, body, format="json", headers={**headers, "X-NovaMem-User": "ben"})
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_mismatch")
    addressed = alice.client.post(f"{FRAGMENTS}?user=ben", body, format="json", headers={"Idempotency-Key": "same"})
    assert addressed.status_code == 422
