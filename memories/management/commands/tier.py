"""`manage.py tier`."""

from typing import Annotated

from django_typer.management import TyperCommand
from typer import Option

from memories.management.job_runner import print_reports, run_here


class Command(TyperCommand):
    """Move memories between tiers."""

    help = "Moves memories between hot, warm and cold by use, age and size."

    def handle(
        self,
        project: Annotated[str, Option(help="Only this project.")] = "",
        namespace: Annotated[str, Option(help="Only this namespace (project:agent).")] = "",
        dry_run: Annotated[bool, Option("--dry-run", help="Only tell what would move.")] = False,
        as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
    ) -> None:
        """Tiers here and now; exit code 1 when a project did not succeed."""
        reports = run_here("tier", options={}, project=project, namespace=namespace, dry_run=dry_run)
        print_reports(reports, columns=("moved", "moves", "too_large"), as_json=as_json)
