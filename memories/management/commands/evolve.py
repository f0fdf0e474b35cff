"""`manage.py evolve`."""

from typing import Annotated, Any

from django.utils import timezone
from django_typer.management import TyperCommand
from typer import Option

from memories import jobs
from memories.access import Principal
from memories.management.job_runner import print_reports
from memories.management.operation_commands import OfUser, requested_namespaces, run_with_progress
from memories.models import Namespace


class Command(TyperCommand):
    """Look for contradictions in free texts."""

    help = "Asks the language model which newer texts make older ones untrue; what it finds is proposed, never done."

    def handle(
        self,
        project: Annotated[str, Option(help="Only this project.")] = "",
        namespace: Annotated[str, Option(help="Only this namespace (project:agent).")] = "",
        user: OfUser = "",
        as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
    ) -> None:
        """Looks here and now, in one namespace or in each; exit code 1 when one did not succeed."""
        reports = [self._run(*found) for found in requested_namespaces(namespace, project, user)]
        print_reports(reports, columns=("namespace", "pairs", "outcomes", "ended_early"), as_json=as_json)

    def _run(self, principal: Principal, namespace: Namespace) -> dict[str, Any]:
        wish: dict[str, Any] = {"kind": "evolve", "namespace": namespace, "options": {}, "now": timezone.now()}
        ended = run_with_progress(principal, jobs.start(principal, **wish, wake_up=False), namespace.name)
        error = {"error": ended.error} if ended.error else {}
        place = {"project": principal.project, "namespace": namespace.name}
        return {**place, "operation": str(ended.id), "state": ended.state, **(ended.report or {}), **error}
