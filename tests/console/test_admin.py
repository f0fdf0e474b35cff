"""/admin/: raw rows of the global tables, for superusers."""

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.test import Client

from memories.models import Membership

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
