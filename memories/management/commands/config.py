"""`manage.py config show`."""

import json
from typing import IO, Annotated, cast

from django_typer.management import TyperCommand, command, initialize
from rich.console import Console
from rich.table import Table
from rich.text import Text
from typer import Option

from memories.management.shown_settings import shown_settings

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
        output = shown_settings()
        if as_json or self.as_json:
            self.stdout.write(json.dumps(output))
            return
        table = Table("setting", "value", "origin", "in TOML")
        for row in output:
            table.add_row(row["setting"], Text(str(row["value"])), row["origin"], row["toml"] or "")
        Console(file=cast("IO[str]", self.stdout)).print(table)
