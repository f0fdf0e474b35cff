"""Long answers are packed for who takes it."""

import gzip
import json

import pytest

from memories.rest.compression import LEAST

LIST = "/api/v1/fragments?limit=200"


@pytest.fixture
def filled(alice):
    """More memories than fit into a short answer."""
    drafts = [{"namespace": "acme:main", "content": f"The heron number {n} nests behind mill {n}."} for n in range(100)]
    assert alice.client.post("/api/v1/fragments/batch", {"fragments": drafts}, format="json").status_code == 201
    return alice


def ids(page):
    return [row["id"] for row in page["results"]]


@pytest.mark.parametrize(("takes", "packed"), [("gzip", True), ("br, gzip;q=0.5", True), ("br", False), (None, False)])
def test_a_long_answer(takes, packed, filled):
    headers = {"Accept-Encoding": takes} if takes else {}
    plain = filled.client.get(LIST)
    answer = filled.client.get(LIST, headers=headers)
    assert len(plain.content) > LEAST
    assert answer.headers.get("Content-Encoding") == ("gzip" if packed else None)
    assert answer.headers["Content-Length"] == str(len(answer.content))
    told = json.loads(gzip.decompress(answer.content) if packed else answer.content)
    assert ids(told) == ids(plain.json())  # all else but what fades meanwhile
    assert not packed or len(answer.content) < len(plain.content) / 5
    assert "Accept-Encoding" in answer.headers["Vary"]


def test_a_short_answer_is_not_packed(filled):
    answer = filled.client.get("/api/v1/fragments?limit=2", headers={"Accept-Encoding": "gzip"})
    assert "Content-Encoding" not in answer.headers


def test_the_document_of_the_api_is_packed(client):
    answer = client.get("/api/schema", headers={"Accept-Encoding": "gzip"})
    assert b"openapi" in gzip.decompress(answer.content)[:100]
