"""The cast of the property tests."""

import pytest

from memories.access import keys


@pytest.fixture
def alice(project, agent_of):
    """Alice in a hurry: her key has no limit."""
    return agent_of(project, owner="alice", ceiling="user_explicit", may_read_wide=True, requests_per_minute=0)


@pytest.fixture
def charlie(agent_of):
    """As Alice, in another project."""
    return agent_of(keys.ensure_project("elsewhere"), owner="charlie", requests_per_minute=0)
