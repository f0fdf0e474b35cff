"""Reading a text, a memory or a question: entities, topics, mood, kind. Offline and deterministic; no rows."""

from memories.language.classification import Routing, route

__all__ = ["Routing", "route"]
