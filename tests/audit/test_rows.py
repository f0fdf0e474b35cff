"""Live rows against their history: whatever an owner of the database forges in place is found and named."""

import json

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import connections, transaction

from memories import audit
from memories.access import keys, members
from memories.models import Membership
from memories.models.enums import Role
from tests.conftest import take_away

FORGERIES = {
    "content": ("memories_fragment", "content = 'The budget is $14.'", ("content", "words")),
    "another spelling of the same content": ("memories_fragment", "content = upper(content)", ("words",)),
    "content and its fingerprint": (
        "memories_fragment",
        """content = 'No budget.', fingerprint = nova_fingerprint(project_id, 'No budget.')""",
        ("fingerprint", "content", "words"),
    ),
    "authority and source": ("memories_fragment", "authority = 1, source = 'inference'", ("source", "authority")),
    "lineage": ("memories_fragment", "parents = ARRAY[gen_random_uuid()]", ("words",)),
    "a claim's value": ("memories_claim", "value = '$14'", ("words",)),
    "a claim's authority": ("memories_claim", "authority = 1", ("authority",)),
    "a namespace's name": ("memories_namespace", "name = name || '2'", ("words",)),
    "a grant's verbs and ceiling": (
        "memories_grant",
        "verbs = '{read,write,review,admin}', ceiling = 'system'",
        ("ceiling", "verbs"),
    ),
    "a grant's namespaces": ("memories_grant", "namespaces = '{*}'", ("namespaces",)),
    "a grant's users": ("memories_grant", "user_patterns = '{bob}'", ("words",)),
    "a key's digest": ("memories_apikey", "digest = sha256('mine')", ("digest",)),
    "a key's end": ("memories_apikey", "revoked_at = now()", ("revoked_at",)),
    "a role": ("memories_membership", "role = 'admin'", ("role",)),
}


@pytest.fixture
def forge():
    """Runs SQL as the owner of the database with every trigger off."""

    def run(table, statement, *values):
        with transaction.atomic(using="owner"), connections["owner"].cursor() as cursor:
            cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
            cursor.execute(statement, values)
            assert cursor.rowcount > 0, "nothing was forged"
            cursor.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")

    return run


@pytest.fixture
def account(committed):
    """An account that is a viewer of the project."""
    made = get_user_model().objects.create_user("vera", password="a long enough one")
    Membership.objects.create(user=made, project=committed, role=Role.VIEWER)
    yield made
    take_away(made.pk)


@pytest.fixture
def kept(committed, service, agent_of, account):
    """A memory with a claim, a key with its grant, a member."""
    agent = agent_of(committed, ceiling="user_explicit", verbs=["read", "write"], owner="ann")
    told = {
        "namespace": f"{committed.name}:main",
        "content": "The user's budget is $750.",
        "claim": {"subject": "user", "predicate": "budget", "value": "$750"},
        "provenance": {"source": "user_explicit"},
    }
    answer = agent.client.post("/api/v1/fragments", told, format="json")
    assert answer.status_code == 201, answer.content
    return agent


def test_untouched_rows_are_whole(service, kept):
    found = audit.prove(service)
    assert found.rows.differences == []
    assert found.rows.rows >= 6
    assert found.rows.without_digest == 0
    assert found.is_whole


@pytest.mark.parametrize("which", FORGERIES)
def test_a_forged_row_is_named_with_its_columns(which, service, kept, seal, forge):
    seal()
    table, change, columns = FORGERIES[which]
    forge(table, f"UPDATE {table} SET {change} WHERE project_id = %s", service.project_id)
    found = audit.prove(service)
    assert found.chain.finding is None, "the events themselves are whole"
    (difference,) = found.rows.differences
    assert (difference.kind, difference.table, difference.columns) == ("row_changed", table, columns)
    assert not found.is_whole


def test_a_row_without_an_event_is_named(service, kept, forge):
    forge(
        "memories_fragment",
        """INSERT INTO memories_fragment SELECT (jsonb_populate_record(f, jsonb_build_object(
            'id', gen_random_uuid(), 'content', 'Slipped in.'))).* FROM memories_fragment f WHERE project_id = %s""",
        service.project_id,
    )
    (difference,) = audit.prove(service).rows.differences
    assert (difference.kind, difference.table) == ("row_without_event", "memories_fragment")


def test_an_event_without_its_row_is_named(service, kept, forge):
    forge("memories_claim", "DELETE FROM memories_claim WHERE project_id = %s", service.project_id)
    (difference,) = audit.prove(service).rows.differences
    assert (difference.kind, difference.table) == ("event_without_row", "memories_claim")


@pytest.mark.parametrize(
    ("change", "columns"),
    {
        "is_superuser = true": ("is_superuser",),
        "is_staff = true": ("is_staff",),
        "is_active = false": ("is_active",),
        "password = 'pbkdf2_sha256$1$mine$mine'": ("credentials",),
        "username = 'root'": ("credentials",),
    }.items(),
)
def test_a_forged_account_is_named(change, columns, service, account, forge):
    assert audit.prove(service).rows.differences == []
    forge("auth_user", f"UPDATE auth_user SET {change} WHERE id = %s", account.pk)
    (difference,) = audit.prove(service).rows.differences
    assert (difference.table, difference.row, difference.columns) == ("auth_user", str(account.pk), columns)


def test_what_people_and_agents_do_leaves_no_difference(committed, service, kept, account, now):
    fragment = kept.client.get("/api/v1/fragments", {"namespace": f"{committed.name}:main"}).json()["results"][0]["id"]
    place = f"/api/v1/fragments/{fragment}"
    assert kept.client.patch(place, {"tags": ["money"]}, format="json").status_code == 200
    account.set_password("another long one")
    account.save(update_fields=["password"])
    members.close(account.username, closed=True)
    assert kept.client.delete(place).status_code in (200, 204)
    keys.revoke(committed, kept.row.key_id, now=now)
    assert audit.prove(service).rows.differences == []


def test_the_command_names_rows_and_ends_badly(committed, service, kept, forge, capsys):
    forge("memories_claim", "UPDATE memories_claim SET value = '$14' WHERE project_id = %s", service.project_id)
    with pytest.raises(SystemExit):
        call_command("audit", "verify", "--project", committed.name)
    out = capsys.readouterr().out
    assert "1 of " in out
    assert "row_changed: memories_claim" in out
    with pytest.raises(SystemExit):
        call_command("audit", "verify", "--project", committed.name, "--json")
    (told,) = json.loads(capsys.readouterr().out)[committed.name]["rows"]["differences"]
    assert (told["table"], told["columns"]) == ("memories_claim", ["words"])
