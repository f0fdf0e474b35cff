"""What LangGraph's tests of its stores in Postgres ask for, with our store in its place."""

import pytest
from ours import Fresh


@pytest.fixture
def store():
    """In place of theirs."""
    return Fresh()


@pytest.fixture
def vector_store():
    """In place of theirs."""
    return Fresh()


@pytest.fixture
def fake_embeddings():
    """What their tests hand to a store."""
    from tests.embed_test_utils import CharacterEmbeddings  # LangGraph's, which lies on the path of its tests only

    return CharacterEmbeddings(dims=500)
