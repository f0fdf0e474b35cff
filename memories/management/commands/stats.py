"""`manage.py stats`."""

import json
from typing import Annotated, Any

from django.db.models import Count
from django_typer.management import TyperCommand
from rich.console import Console
from rich.progress_bar import ProgressBar
from rich.table import Table
from typer import Option

from memories import access, upkeep
from memories.management.job_runner import projects_named
from memories.models import Fragment, Project
from memories.models.enums import FragmentType, Status, Tier

WORDS = {"status": Status.values, "tier": Tier.values, "type": FragmentType.values}
WIDTH = 30


class Command(TyperCommand):
    """What there is, and how full it is."""

    help = "Counts memories by status, tier and type; tells sizes and capacity."

    def handle(
        self,
        project: Annotated[str, Option(help="Only this project.")] = "",
        as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
    ) -> None:
        """Counts now."""
        output = [_counted(found) for found in projects_named(project)]
        if as_json:
            self.stdout.write(json.dumps(output))
            return
        console = Console()
        for report in output:
            console.print(_table(report))


def _counted(project: Project) -> dict[str, Any]:
    principal = access.system_principal(project)
    with access.enter(principal, why="stats"):
        rows = Fragment.objects.within(project.id).order_by()
        counts = {
            f"by_{field}": dict.fromkeys(words, 0) | dict(rows.values_list(field).annotate(n=Count("id")))
            for field, words in WORDS.items()
        }
        full = upkeep.lifecycle.capacities(project.id)["all"]
        capacity = {
            "ratio": round(full.ratio, 4),
            "status": full.status,
            "fragments": full.fragments,
            "limit": full.limit,
        }
        return {
            "project": project.name,
            **counts,
            "tier_bytes": upkeep.lifecycle.sizes(project.id),
            "capacity": capacity,
        }


def _table(report: dict[str, Any]) -> Table:
    capacity, table = report["capacity"], Table("", "memories", "share", title=report["project"])
    total = capacity["fragments"]
    for field in WORDS:
        for word, number in report[f"by_{field}"].items():
            size = f" · {report['tier_bytes'][word]:,} octets" if field == "tier" else ""
            table.add_row(f"{field} {word}", f"{number:,}{size}", _bar(number, total))
        table.add_section()
    output = f"{total:,} of {capacity['limit']:,} · {capacity['status']}"
    table.add_row("capacity", output, _bar(total, capacity["limit"]))
    return table


def _bar(part: int, whole: int) -> ProgressBar:
    return ProgressBar(total=whole or 1, completed=part, width=WIDTH)
