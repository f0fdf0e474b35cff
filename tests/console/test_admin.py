"""/admin/: raw rows of the global tables, for superusers."""

import re

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.test import Client

from memories.access import members
from memories.models import AccountEvent, Membership
from tests.console.conftest import logged_in, post

LISTS = ("project", "embeddingmodel", "membership")


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
    tenant = {model for model in apps.get_models() if hasattr(model, "spec")}
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
    assert post(root, f"{ADDRESS['membership']}/add/", **told).status_code == 302
    row = audited(root, "member")[0]
    assert "<td>root</td><td>administration</td><td>member made</td>" in row
    assert "otto" in row


@pytest.mark.parametrize("table", ["user", "group"])
def test_accounts_are_no_pages_to_change(root, other, table):
    for page in ("add/", f"{other.pk}/change/", f"{other.pk}/delete/"):
        assert post(root, f"/admin/auth/{table}/{page}").status_code in (403, 404)


def test_an_account_is_looked_at(root, other):
    page = root.get(f"{ADDRESS['user']}/{other.pk}/change/").text
    assert "otto" in page
    assert "md5" not in page


PASSWORDS = {
    "old_password": "a long enough one",
    "new_password1": "a wholly other one",
    "new_password2": "a wholly other one",
}


@pytest.fixture
def mona(project):
    """A person as projects add them."""
    user = members.make("mona", "a long enough one")
    Membership.objects.create(user=user, project=project, role="viewer")
    return logged_in(user)


def test_a_new_password_is_told_without_it(root, mona):
    assert post(mona, "/admin/password_change/", **PASSWORDS).status_code == 302
    (row,) = [row for row in audited(root, "account") if "account changed" in row and "mona" in row]
    assert "<td>mona</td><td>administration</td>" in row
    assert "active, credentials" in row
    assert "md5" not in row
    assert Client().login(username="mona", password="a wholly other one")


def test_a_superusers_password_is_changed_at_the_command_line(root):
    for answer in (root.get("/admin/password_change/"), post(root, "/admin/password_change/", **PASSWORDS)):
        assert answer.status_code == 403
        assert "changepassword --database owner root" in answer.text
    assert Client().login(username="root", password="a long enough one")


def test_a_superuser_logs_in_whose_hash_is_an_old_one(db, superuser_of, settings):
    superuser_of("root")
    settings.PASSWORD_HASHERS = [
        "django.contrib.auth.hashers.PBKDF2PasswordHasher",
        "django.contrib.auth.hashers.MD5PasswordHasher",
    ]
    assert not Client().login(username="root", password="a wrong one")
    assert Client().login(username="root", password="a long enough one")


def test_accounts_of_other_projects_are_not_told(root, other, project):
    other.set_password("a wholly other one")
    other.save(update_fields=["password"])
    assert not [row for row in audited(root, "account") if "otto" in row]


def test_a_refused_change_leaves_nothing(mona):
    before = AccountEvent.objects.count()
    assert post(mona, "/admin/password_change/", **PASSWORDS | {"old_password": "wrong"}).status_code == 200
    assert AccountEvent.objects.count() == before
