"""`manage.py apidocs`."""

from django.core.management.base import BaseCommand

from memories.api import markdown


class Command(BaseCommand):
    """Writes docs/api.md."""

    help = "Writes docs/api.md anew, of docs/api.in.md, the OpenAPI document and the errors."

    def handle(self, *_: object, **__: object) -> None:
        """Does so."""
        markdown.PAGE.write_text(markdown.page())
