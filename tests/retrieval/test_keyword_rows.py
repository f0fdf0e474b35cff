"""What keyword rows hold is what the functions that filters and statistics ask say."""

from memories import access
from memories.models.sql import fetch


def test_marks_and_length_are_those_of_their_functions(alice, principal):
    wish = {
        "namespace": "acme:main",
        "content": "The heron and the other heron nest behind the mill.",
        "tags": ["a", "b c"],
        "outcome": "positive",
        "conversation_id": "c1",
        "workflow_id": "w1",
        "importance": 1,
    }
    for more in (wish, {"namespace": "acme:main", "content": "Plain."}):
        assert alice.client.post("/api/v1/fragments", more, format="json").status_code == 201
    with access.enter(principal, why="test"):
        rows = fetch(
            """SELECT k.length = nova_word_count(to_tsvector('english', f.content)),
                   k.words = to_tsvector('english', f.content) || array_to_tsvector(nova_marks(f))
               FROM memories_keywords k JOIN memories_fragment f ON f.id = k.fragment_id
               WHERE f.project_id = nova_project()""",
            [],
        )
    assert rows == [(True, True)] * 2
