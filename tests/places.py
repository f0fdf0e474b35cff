"""Namespaces by name."""

import pytest

from memories import access
from memories.models import Namespace


@pytest.fixture
def place_of(principal):
    """A namespace by name."""

    def find(name):
        with access.enter(principal, why="test"):
            return Namespace.objects.within(principal.project_id).get(name=name)

    return find
