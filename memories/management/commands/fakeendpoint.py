"""`manage.py fakeendpoint`: an embeddings endpoint for trying things out."""

from contextlib import suppress
from typing import Annotated

from django.core.management import CommandError
from django_typer.management import TyperCommand
from typer import Option

from memories.providers.fake_endpoint import MODES, serve


class Command(TyperCommand):
    """An OpenAI-compatible embeddings endpoint without a model."""

    help = "Serves an OpenAI-compatible embeddings endpoint without a model, for trying: right, slow, wrong or dead."
    requires_system_checks: list[str] = []

    def handle(
        self,
        port: Annotated[int, Option(help="Its port on 127.0.0.1.")] = 9001,
        dim: Annotated[int, Option(help="How many dimensions.", min=1, max=4000)] = 384,
        mode: Annotated[str, Option(help=f"One of: {', '.join(MODES)}.")] = "right",
    ) -> None:
        """Serves until Ctrl-C."""
        if mode not in MODES:
            raise CommandError(f"There is no mode {mode!r}. Use one of: {', '.join(MODES)}.")
        self.stdout.write(f"EMBEDDINGS_URL=http://127.0.0.1:{port}/v1")
        with suppress(KeyboardInterrupt):
            serve(port=port, dim=dim, mode=mode)
