"""The tests that LangGraph has of its store in memory."""

import tests.test_store as theirs
from ours import Fresh, taken
from reasons import LEFT_OUT

theirs.InMemoryStore = Fresh
fake_embeddings = theirs.fake_embeddings
globals().update(taken(theirs, LEFT_OUT["langgraph-checkpoint", "test_store"]))
