"""People in front of the console."""

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from memories import keys
from memories.models import Membership


def a_person(username: str, *projects: Any, role: str = "viewer") -> Any:
    """Someone who may log in and belongs to these projects."""
    user = get_user_model()._default_manager.create_user(username, password="a long enough one")
    for project in projects:
        Membership.objects.create(user=user, project=project, role=role)
    return user


def logged_in(user: Any) -> Client:
    """A browser in which the person is logged in, and which checks CSRF as a real one is checked."""
    client = Client(enforce_csrf_checks=True)
    client.force_login(user)
    return client


@pytest.fixture
def vera(project):
    """A viewer of Alice's project, in front of her browser."""
    return logged_in(a_person("vera", project))


@pytest.fixture
def carl(db):
    """A member of another project."""
    return logged_in(a_person("carl", keys.ensure_project("elsewhere"), role="admin"))


@pytest.fixture
def wanda(project):
    """A member of two projects."""
    return logged_in(a_person("wanda", project, keys.ensure_project("elsewhere")))


@pytest.fixture
def nobody(db):
    """Has an account, and belongs to no project."""
    return logged_in(a_person("nora"))
