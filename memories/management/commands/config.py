"""`manage.py config show`."""

import json
import re
from typing import IO, Annotated, Any, cast

from django.conf import settings
from django_typer.management import TyperCommand, command, initialize
from rich.console import Console
from rich.table import Table
from rich.text import Text
from typer import Option

SECRET = {"SECRET_KEY", "EMBEDDINGS_API_KEY", "OLLAMA_API_KEY", "PROXY_UPSTREAM_KEY"}
WITH_PASSWORD = {
    *("DATABASE_URL", "CELERY_BROKER_URL", "EMBEDDINGS_URL", "LLM_SIDECAR_URL", "OLLAMA_HOST", "PROXY_UPSTREAM_URL")
}
HIDDEN = "(not shown)"
AsJson = Annotated[bool, Option("--json", "-j", help="Print JSON.")]


class Command(TyperCommand):
    """The configuration."""

    help = "The configuration: what is in force, and where it comes from."
    as_json = False

    @initialize()
    def options(self, all_json: AsJson = False) -> None:
        """The configuration."""
        self.as_json = all_json

    @command()
    def show(self, as_json: AsJson = False) -> None:
        """Each setting with its value and origin: environment, .env, TOML or default. Secrets are not shown."""
        output = [
            {"setting": name, "value": _masked(name, value), "origin": settings.ENV_ORIGINS[name], "toml": place}
            for name, value in settings.ENV.items()
            for place in [settings.ENV_PLACES.get(name)]
        ]
        if as_json or self.as_json:
            self.stdout.write(json.dumps(output))
            return
        table = Table("setting", "value", "origin", "in TOML")
        for row in output:
            table.add_row(row["setting"], Text(str(row["value"])), row["origin"], row["toml"] or "")
        Console(file=cast("IO[str]", self.stdout)).print(table)


def _masked(name: str, value: Any) -> Any:
    """The value without its secrets."""
    if name in SECRET:
        return HIDDEN if value else ""
    return re.sub(r"//([^:/@]*):[^@]*@", rf"//\1:{HIDDEN}@", value) if name in WITH_PASSWORD else value
