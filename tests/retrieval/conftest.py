"""Memories that no database knows, for what is pure."""

import datetime
import uuid

import pytest

from memories.models import Fragment, Project

BIRTH = datetime.datetime(2026, 5, 1, 9, tzinfo=datetime.UTC)


@pytest.fixture
def fragment():
    """Builds a fragment without storing it."""

    def build(content="The mill turns.", **more):
        values = {"id": uuid.uuid4(), "type": "semantic", "agent_id": "main", "created_at": BIRTH, "updated_at": BIRTH}
        values |= {"source": "inference", "authority": 1, "importance": 0.5, "project": Project(name="acme")}
        return Fragment(content=content, **{**values, **more})

    return build
