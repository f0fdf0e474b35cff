"""/admin/: raw rows of the global tables, for superusers."""

import re

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.test import Client

from memories.models import AccountEvent, Membership

LISTS = ("project", "embeddingmodel", "membership")


@pytest.fixture
def root(project):
    """A superuser."""
    user = get_user_model()._default_manager.create_superuser("root", password="a long enough one")
    Membership.objects.create(user=user, project=project, role="admin")
    client = Client()
    client.force_login(user)
    return client


@pytest.mark.parametrize("table", LISTS)
def test_works(root, table):
    assert root.get(f"/admin/memories/{table}/").status_code == 200


def test_a_row(root, project):
    page = root.get(f"/admin/memories/project/{project.id}/change/")
    assert page.status_code == 200
    assert "acme" in page.text
    assert "salt" not in page.text.lower()


def test_the_console_leads_superusers_there(root):
    assert 'href="/admin/"' in root.get("/memories/").text


def test_others_are_not_led_there(vera):
    assert 'href="/admin/"' not in vera.get("/memories/").text
    assert vera.get("/admin/memories/project/").status_code == 302


@pytest.mark.parametrize("table", ["project", "embeddingmodel"])
def test_rows_that_code_looks_after_are_not_made_by_hand(root, table):
    assert root.get(f"/admin/memories/{table}/add/").status_code == 403


def test_no_tenant_table_is_there():
    tenant = {model for model in apps.get_models() if hasattr(model, "catalogue")}
    assert len(tenant) > 10
    assert tenant.isdisjoint(admin.site._registry)


ADDRESS = {"user": "/admin/auth/user", "membership": "/admin/memories/membership"}


@pytest.fixture
def other(db):
    """An account that belongs to no project."""
    return get_user_model()._default_manager.create_user("otto", password="a long enough one")


def audited(root, kind):
    page = root.get(f"/audit/?kind={kind}").text
    return re.findall(r"<tr><td>.*?</tr>", page)


def test_who_gave_a_membership_stands_in_the_audit(root, other, project):
    root.get("/memories/")
    told = {"user": other.pk, "project": project.pk, "role": "admin"}
    assert root.post(f"{ADDRESS['membership']}/add/", told).status_code == 302
    row = audited(root, "member")[0]
    assert "<td>root</td><td>administration</td><td>member made</td>" in row
    assert "otto" in row


@pytest.mark.parametrize(
    ("change", "became"),
    {
        "is_superuser": "superuser, active",
        "is_staff": "staff, active",
    }.items(),
)
def test_who_gave_an_account_powers_stands_in_the_audit(change, became, root, other, project):
    root.get("/memories/")
    Membership.objects.create(user=other, project=project, role="viewer")
    told = {
        "username": "otto",
        "is_active": "on",
        change: "on",
        "date_joined_0": "2026-01-01",
        "date_joined_1": "00:00",
    }
    assert root.post(f"{ADDRESS['user']}/{other.pk}/change/", told).status_code == 302
    row = audited(root, "account")[0]
    assert "<td>root</td><td>administration</td><td>account changed</td>" in row
    assert became in row


def test_a_new_password_is_told_without_it(root, other, project):
    root.get("/memories/")
    Membership.objects.create(user=other, project=project, role="viewer")
    told = {"password1": "a wholly other one", "password2": "a wholly other one", "usable_password": "true"}
    assert root.post(f"{ADDRESS['user']}/{other.pk}/password/", told).status_code == 302
    row = audited(root, "account")[0]
    assert "active, credentials" in row
    assert "pbkdf2" not in row


def test_accounts_of_other_projects_are_not_told(root, other, project):
    other.set_password("a wholly other one")
    other.save()
    assert not [row for row in audited(root, "account") if "otto" in row]


def test_a_refused_change_leaves_nothing(root, other):
    before = AccountEvent.objects.count()
    assert root.post(f"{ADDRESS['user']}/{other.pk}/change/", {"username": ""}).status_code == 200
    assert AccountEvent.objects.count() == before
