"""The Django app."""

from django.apps import AppConfig


class ConflictsConfig(AppConfig):
    """What is believed, and what waits for a person."""

    name = "conflicts"
