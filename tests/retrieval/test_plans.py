"""How the database goes about a search in a project that its statistics do not know yet."""

from django.db import connection
from django.utils import timezone

from memories import retrieval
from memories.models.sql import PROJECT


def test_what_is_looked_up_by_id_leaves_the_planner_no_project_to_look_up(principal, store):
    """Else a new project counts as empty, and each of 240 hits may be looked up by reading all of it."""
    store("acme:main", "Ann: the heron came to the mill", source_type="conversation", conversation_id="one", sequence=1)
    statements = []

    def noted(execute, sql, params, many, context):
        statements.append(str(sql))
        return execute(sql, params, many, context)

    question = retrieval.Question("What did Ann say of the heron?", ["acme:main"], top_k=20)
    with connection.execute_wrapper(noted):
        assert len(retrieval.find(principal, question, now=timezone.now()).hits) == 1
    (candidates,) = (statement for statement in statements if "WITH words" in statement)
    assert "project_id = %s" not in candidates
    assert candidates.count(PROJECT) > 5
