"""`manage.py compact`."""

from typing import Annotated, Any

from django_typer.management import TyperCommand
from typer import Option

from memories.management.job_runner import print_reports, run_here

COLUMNS = ("compacted_count", "skipped_high_weight", "already_compressed")


class Command(TyperCommand):
    """Shorten what was not used for long."""

    help = "Shortens what was not used for long; the archive keeps what was said."

    def handle(
        self,
        project: Annotated[str, Option(help="Only this project.")] = "",
        namespace: Annotated[str, Option(help="Only this namespace (project:agent).")] = "",
        tier: Annotated[str, Option(help="Only this tier: hot, warm or cold.")] = "",
        dry_run: Annotated[bool, Option("--dry-run", help="Only tell what it would do.")] = False,
        as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
    ) -> None:
        """Compacts here and now; exit code 1 when a project did not succeed."""
        options: dict[str, Any] = {"tier": tier} if tier else {}
        reports = run_here("compact", options=options, project=project, namespace=namespace, dry_run=dry_run)
        columns = ("would_compact", *COLUMNS[1:]) if dry_run else COLUMNS
        print_reports(reports, columns=columns, as_json=as_json)
