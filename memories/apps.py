"""The Django app."""

from django.apps import AppConfig


class MemoriesConfig(AppConfig):
    """Fragments and everything around them."""

    name = "memories"

    def ready(self) -> None:
        """Lets the OpenAPI document know our extensions."""
        from memories.api import openapi  # noqa: F401
