"""Reading a text, a memory or a question: entities, topics, mood, kind. Offline; no rows."""

from memories.language.classification import Routing, route, route_kept

__all__ = ["Routing", "route", "route_kept"]
