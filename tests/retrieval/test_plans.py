"""How the database goes about a search where it does not know yet how much there is."""

import json

from django.db import connection
from django.utils import timezone

from memories import access, ingest, retrieval
from memories.access import system_principal
from tests.conftest import as_owner

TURNS = 60


def told(project):
    """Store a conversation."""
    drafts = [
        ingest.Draft(
            namespace=f"{project.name}:main",
            content=f"Ann: the heron came to mill {number}",
            source_type="conversation",
            source_id=f"t{number}",
            conversation_id="one",
            sequence=number,
        )
        for number in range(TURNS)
    ]
    ingest.store(system_principal(project), ingest.prepare(drafts), now=timezone.now())


def thrown_away(plan):
    """Return how many memories were read for nothing."""
    own = plan.get("Rows Removed by Filter", 0) * plan["Actual Loops"]
    own *= plan.get("Relation Name") == "memories_fragment"
    return own + sum(thrown_away(part) for part in plan.get("Plans", ()))


def test_a_project_that_no_statistics_have_seen_is_not_read_for_each_memory(neighbour, committed):
    told(neighbour)
    with as_owner() as owner:
        owner.execute("ANALYZE memories_fragment")
    told(committed)
    principal, statements = system_principal(committed), []

    def noted(execute, sql, params, many, context):
        if "WITH words" in str(sql):
            statements.append((sql, params))
        return execute(sql, params, many, context)

    question = retrieval.Question("What did Ann say of the heron?", [f"{committed.name}:main"], top_k=20)
    with connection.execute_wrapper(noted):
        assert len(retrieval.find(principal, question, now=timezone.now()).hits) == 20
    ((statement, params),) = statements
    with access.enter(principal, why="test"), connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", params)
        ((plan,),) = cursor.fetchall()
    plan = json.loads(plan) if isinstance(plan, str) else plan
    assert thrown_away(plan[0]["Plan"]) <= 4 * TURNS  # neighbours' own turns; a look-up of each was TURNS times this
