"""The Django app."""

from django.apps import AppConfig


class MemoriesConfig(AppConfig):
    """Fragments and everything around them."""

    name = "memories"
