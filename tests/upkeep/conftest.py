"""How much a project may hold."""

import pytest


@pytest.fixture
def capacity(settings):
    """Sets how many fragments a project, or a tier, may hold."""

    def may_hold(**limits):
        settings.CAPACITY = {"all": 0, "hot": 0, "warm": 0, "cold": 0, **limits}

    return may_hold
