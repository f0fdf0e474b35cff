"""`manage.py mcp`."""

from typing import Annotated

from django.core.management import CommandError
from django_typer.management import TyperCommand
from rest_framework.exceptions import APIException
from typer import Option

from memories.mcp import serve


class Command(TyperCommand):
    """The Model Context Protocol over standard input and output."""

    help = "Serves the Model Context Protocol over standard input and output, for clients that start their servers."

    def handle(
        self,
        key: Annotated[str, Option(envvar="NOVAMEM_KEY", help="The API key to act by; better by environment.")] = "",
        namespace: Annotated[
            str, Option(envvar="NOVAMEM_NAMESPACE", help="What is meant by calls that name none: project:agent.")
        ] = "",
        user: Annotated[
            str, Option(envvar="NOVAMEM_USER", help="Whose memory is meant by calls that name no user.")
        ] = "",
    ) -> None:
        """Serves until the input ends."""
        try:
            serve(key=key, namespace=namespace, user=user or None)
        except APIException as error:
            raise CommandError(str(error.detail)) from error
