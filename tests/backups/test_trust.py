"""Whom a restore believes is the operator's to say; a principal brings nothing back above its ceiling."""

import io

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.utils import timezone

from conflicts.public import ClaimDraft
from memories import access, audit, jobs
from memories.models import Fragment, Membership, Operation
from memories.models.history import events_of
from tests.backups.conftest import forged

URL = "/api/v1/restores"


@pytest.fixture
def low(project, agent_of):
    """Administers the project, believed as little as can be."""
    return agent_of(project, owner="mallory", verbs=["read", "write", "review", "admin"], ceiling="inference")


@pytest.fixture
def truth(alice, store):
    """What the user said."""
    claim = ClaimDraft("user", "budget", "$750")
    content = "The user's budget is $750."
    return store("acme:main", content, by=alice.principal, claim=claim, source="user_explicit")


@pytest.fixture
def forgery(truth, back_up, storage, another_key, settings):
    """A file in which the user said something else later, signed by somebody of whom nobody knows."""

    def say_otherwise(told):
        told[0]["publicKey"] = audit.public_key().hex()
        for line in told:
            if line.get("kind") == "fragment":
                row = line["row"]
                now = timezone.now().isoformat()
                row |= {"content": "The user's budget is $14.", "updated_at": now, "revision": 9}
                line["claim"] = {**line["claim"], "value": "$14"} if line.get("claim") else line.get("claim")

    def sign():
        home, row = settings.DATA_DIR, back_up()
        stranger = another_key(adopts=False)
        forged(storage / row.file, say_otherwise)
        settings.DATA_DIR = home
        assert stranger != audit.fingerprint()
        return (storage / row.file).read_bytes(), stranger

    return sign


def upload(agent, data, **more):
    return agent.client.post(URL, {"upload": io.BytesIO(data), **more}, format="multipart")


def run(principal, answer):
    assert answer.status_code == 202, answer.content
    ended = jobs.run(principal, answer.json()["id"])
    assert ended.state == "succeeded", ended.error
    return ended


def believed(principal, row):
    with access.enter(principal, why="test"):
        found = Fragment.objects.get(id=row.id)
        return found.content, found.authority, found.status


def test_a_key_can_not_trust_a_signer(low, alice, principal, truth, forgery):
    data, signer = forgery()
    for agent in (low, alice):
        answer = upload(agent, data, trust_signer=signer)
        assert (answer.status_code, answer.json()["code"]) == (403, "not_permitted")
        assert "TRUSTED_SIGNERS" in answer.json()["detail"]
        body = {"kind": "restore", "options": {"backup_id": str(truth.id), "trust_signer": signer}}
        assert agent.client.post("/api/v1/operations", body, format="json").json()["code"] == "not_permitted"
    assert believed(principal, truth) == ("The user's budget is $750.", 6, "active")
    with access.enter(principal, why="test"):
        assert not Operation.objects.filter(kind="restore").exists()


def test_a_bundle_that_its_bringer_signed_changes_nothing_above_the_ceiling(low, principal, truth, forgery):
    data, _ = forgery()
    ended = run(principal, upload(low, data))
    assert (ended.report["foreign"], ended.report["update"]) == (True, 0)
    assert believed(principal, truth) == ("The user's budget is $750.", 6, "active")


@pytest.mark.parametrize(("ceiling", "authority", "source"), [("inference", 1, "inference"), ("system", 2, "document")])
def test_what_a_stranger_brings_is_believed_up_to_the_ceiling_of_who_restores_it(
    ceiling, authority, source, project, agent_of, principal, truth, forgery, wipe
):
    data, _ = forgery()
    wipe()
    brings = agent_of(project, owner="mallory", verbs=["read", "admin"], ceiling=ceiling)
    run(principal, upload(brings, data))
    with access.enter(principal, why="test"):
        row = Fragment.objects.select_related("claim").get(id=truth.id)
        assert (row.authority, row.source, row.claim.authority) == (authority, source, authority)
        assert row.owner_id == brings.principal.owner_id


def test_a_signer_whom_the_operator_named_is_believed(low, principal, truth, forgery, wipe, settings):
    data, signer = forgery()
    wipe()
    settings.TRUSTED_SIGNERS = [signer]
    ended = run(principal, upload(low, data, trust_signer=signer))
    assert ended.report["foreign"] is False
    assert believed(principal, truth)[:2] == ("The user's budget is $14.", 6)


def test_history_names_who_restored(low, alice, principal, truth, back_up, wipe):
    row = back_up()
    wipe()
    run(principal, alice.client.post(URL, {"backup_id": str(row.id)}, format="json"))
    with access.enter(principal, why="test"):
        event = events_of(Fragment).objects.filter(pgh_obj_id=truth.id, pgh_label="insert").latest("pgh_id")
    assert event.pgh_context["kind"] == "key"
    assert event.pgh_context["key"] == str(alice.principal.key_id)
    assert event.pgh_context["owner"] == str(alice.principal.owner_id)
    assert event.pgh_context["why"] == "restore"


class TestConsole:
    """In the console a superuser trusts, others do not."""

    def plan(self, user, row):
        client = Client()
        client.force_login(user)
        there = f"/backups/{row.id}/restore/"
        page = client.get(there).text
        return page, client.post(there, {"step": "plan", "trust": "yes"})

    @pytest.fixture
    def person(self, project):
        """Makes an admin of the project."""

        def make(name):
            user = get_user_model()._default_manager.create_user(name, password="a long enough one")
            Membership.objects.create(user=user, project=project, role="admin")
            return user

        return make

    def test_an_admin_is_not_offered_it_and_refused(self, person, principal, truth, back_up, another_key):
        row = back_up()
        another_key()
        page, planned = self.plan(person("ann"), row)
        assert 'name="trust"' not in page
        assert planned.status_code == 403
        with access.enter(principal, why="test"):
            assert not Operation.objects.filter(kind="restore").exists()

    def test_a_superuser_may(self, superuser_of, project, truth, back_up, another_key):
        row = back_up()
        another_key()
        root = superuser_of("root")
        Membership.objects.create(user=root, project=project, role="admin")
        page, planned = self.plan(root, row)
        assert 'name="trust"' in page
        assert planned.status_code == 303
