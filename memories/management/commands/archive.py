"""`manage.py archive`."""

from typing import Annotated

from django_typer.management import TyperCommand
from typer import Option

from memories.management.job_runner import print_reports, run_here


class Command(TyperCommand):
    """Put away what lay archived for long."""

    help = "Moves what lay archived for PUT_AWAY_DAYS to the archive; a tombstone stays."

    def handle(
        self,
        project: Annotated[str, Option(help="Only this project.")] = "",
        namespace: Annotated[str, Option(help="Only this namespace (project:agent).")] = "",
        dry_run: Annotated[bool, Option("--dry-run", help="Only tell what would leave.")] = False,
        as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
    ) -> None:
        """Puts away here and now; exit code 1 when a project did not succeed."""
        reports = run_here("archive", options={}, project=project, namespace=namespace, dry_run=dry_run)
        columns = ("would_put_away",) if dry_run else ("put_away",)
        print_reports(reports, columns=columns, as_json=as_json)
