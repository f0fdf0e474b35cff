"""`manage.py fakeupstream`: a chat service for trying things out."""

from contextlib import suppress
from typing import Annotated

from django.core.management import CommandError
from django_typer.management import TyperCommand
from typer import Option

from memories.providers.fake_upstream import MODES, serve


class Command(TyperCommand):
    """An OpenAI-compatible chat service without a model."""

    help = "Serves OpenAI-compatible chats without a model, for trying: right, slow, odd, wrong, dropping or dead."
    requires_system_checks: list[str] = []

    def handle(
        self,
        port: Annotated[int, Option(help="Its port on 127.0.0.1.")] = 9002,
        mode: Annotated[str, Option(help=f"One of: {', '.join(MODES)}.")] = "right",
    ) -> None:
        """Serves until Ctrl-C."""
        if mode not in MODES:
            raise CommandError(f"There is no mode {mode!r}. Use one of: {', '.join(MODES)}.")
        self.stdout.write(f"PROXY_UPSTREAM_URL=http://127.0.0.1:{port}/v1")
        with suppress(KeyboardInterrupt):
            serve(port=port, mode=mode)
