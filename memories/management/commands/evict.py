"""`manage.py evict`."""

from typing import Annotated, Any

from django_typer.management import TyperCommand
from typer import Option

from memories.management.job_runner import print_reports, run_here


class Command(TyperCommand):
    """Evict what weighs least."""

    help = "Evicts what weighs least where a project is nearly full; a tombstone and a copy stay."

    def handle(
        self,
        project: Annotated[str, Option(help="Only this project.")] = "",
        tier: Annotated[str, Option(help="Only of this tier: hot, warm or cold.")] = "",
        target: Annotated[float, Option(help="Down to this share of the capacity, whatever it is now.")] = -1.0,
        dry_run: Annotated[bool, Option("--dry-run", help="Only tell what would leave.")] = False,
        as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
    ) -> None:
        """Evicts here and now; exit code 1 when a project did not succeed."""
        options: dict[str, Any] = {"tier": tier} if tier else {}
        options |= {"target": target} if target != -1.0 else {}
        reports = run_here("evict", options=options, project=project, dry_run=dry_run)
        columns = ("would_evict" if dry_run else "evicted", "short")
        print_reports(reports, columns=columns, as_json=as_json)
