"""Principals × endpoints × another user's ids: nobody reads, learns of or changes what is another user's.

The rows are those of the matrix of tenants, where a test sees to it that every path of the API stands among them.
"""

import json

import pytest
from django.apps import apps
from rest_framework.test import APIClient

from memories import access, jobs
from memories.models import Namespace, Operation
from memories.models.sql import fetch
from tests.security.endpoints import TABLE
from tests.security.test_matrix import call

pytestmark = pytest.mark.examples

WHOSE = "ann"
# What a row may name of hers, by its path.
HERS = ("fragment", "archived", "replaced", "tombstone", "episode", "cluster", "conflict", "settled", "proposal",
        "decided", "run", "pack", "operation", "user", "backup", "check")  # fmt: skip
# Names of a project, which all its users have in common, and a person's own rights, which whoever has the verb for all
# of the namespace carries out.
OF_ALL = (
    "namespaces",
    "projects",
    "users",
    "backups",
    "restores",
    "operations",
    "erasures",
    "packs",
    "universes",
    "models",
)
EVERYTHING = {"verbs": ["read", "write", "review", "admin"], "ceiling": "user_explicit", "may_read_wide": True}
WAYS = {
    "for ben": (EVERYTHING, "ben"),
    "for nobody": (EVERYTHING, None),
    "bound to ben, for ben": ({**EVERYTHING, "user_patterns": ["ben"]}, "ben"),
    "bound to ben, for nobody": ({**EVERYTHING, "user_patterns": ["ben"]}, None),
}


def _of_a_scope():
    """The tables that have rows of a scope, by the condition."""
    for model in apps.get_models():
        names = {field.name for field in model._meta.fields}
        ours = model._meta.app_label in ("memories", "conflicts") and "Event" not in model.__name__
        if ours and model is not Operation and names & {"namespace", "fragment"}:
            within = "namespace_id = s.id"
            if "namespace" not in names:
                within = "fragment_id IN (SELECT f.id FROM memories_fragment f WHERE f.namespace_id = s.id)"
            yield model._meta.db_table, within


# In one statement, for it is asked some eight hundred times.
HERS_IN_TABLES = " UNION ALL ".join(
    f"SELECT '{table}', t::text FROM scope s JOIN {table} t ON t.{within}" for table, within in _of_a_scope()
)


@pytest.fixture
def hers(principal, ground):
    """All rows of ann's scope, in whichever table."""

    def take():
        with access.enter(principal, why="test"):
            scope = Namespace.objects.within(principal.project_id).get(parent__name="acme:main", user=WHOSE)
            rows = fetch(f"WITH scope AS (SELECT %s::uuid AS id) {HERS_IN_TABLES} ORDER BY 1, 2", [scope.id])
            assert {table for table, _ in rows} > {"memories_fragment", "memories_claim", "memories_episode"}
            return rows

    return take


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("path", "method", "body"), [row[:3] for row in TABLE], ids=[f"{m} {p}" for p, m, *_ in TABLE])
def test_another_users_memories_are_out_of_reach(way, path, method, body, agent_of, project, principal, ground, hers):
    grant, user = WAYS[way]
    agent = agent_of(project, **grant)
    if user:  # who has a scope of his own besides
        kept = {"namespace": "acme:main", "user": user, "content": "Ben was here.", "key": "its-own"}
        assert agent.client.post("/api/v1/fragments", kept, format="json").status_code == 201
    before, operations = hers(), _operations(principal)
    headers = {"Authorization": f"Bearer {agent.key}", **({"X-NovaMem-User": user} if user else {})}
    answer = call(APIClient(headers=headers), path, method, body, ground)
    told = b"".join(answer.streaming_content) if answer.streaming else answer.content
    if user is None and "bound" not in way and any(path.removeprefix("bridges/").startswith(name) for name in OF_ALL):
        assert answer.status_code < 500
        return
    assert answer.status_code < 500
    if path.startswith("users?"):  # whom the key reaches, whoever the request is for
        assert (b'"ann"' in told) == ("bound" not in way)
        return
    if any(f"{{{name}}}" in path for name in HERS):
        assert answer.status_code in (403, 404), told
    sent = json.dumps(body) + path
    for name in HERS:
        assert f"{{{name}}}" in sent or str(ground[name]).encode() not in told, name
    assert b"Something" not in told
    for made in set(_operations(principal)) - set(operations):
        jobs.run(principal, made)
    assert hers() == before


def _operations(principal):
    with access.enter(principal, why="test"):
        return list(Operation.objects.values_list("id", flat=True))
