"""`manage.py reembed --model NAME`."""

import json
from typing import Annotated, Any

from django.core.management import CommandError
from django.utils import timezone
from django_typer.management import TyperCommand
from rich.console import Console
from rich.progress import Progress
from typer import Option

from memories import access, jobs, upkeep
from memories.management.operation_commands import AcceptLoss
from memories.models import EmbeddingModel, Project
from memories.models.enums import OperationState
from memories.models.search import LARGEST_DIM
from memories.providers import offered
from memories.recall_checks import RecallLost


class Command(TyperCommand):
    """Embed all memories by a further model."""

    help = "Embeds the memories that have no vector of a model yet, and switches to it when asked to."

    def handle(
        self,
        model: Annotated[str, Option(help="Its name; for sentence-transformers also a folder.")],
        provider: Annotated[str, Option(help="To add it: sentence-transformers, openai, minilm or minilm-int8.")] = "",
        dim: Annotated[int, Option(help="To add it: how many dimensions.", min=0, max=LARGEST_DIM)] = 0,
        project: Annotated[str, Option(help="Only this project.")] = "",
        activate: Annotated[bool, Option(help="Switch to it when nothing is missing.")] = False,
        force: Annotated[bool, Option(help="Switch although vectors are missing; they follow.")] = False,
        accept_recall_loss: AcceptLoss = False,
        as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
    ) -> None:
        """Here and now, as operations that others can watch; exit code 1 when something is missing at the end."""
        projects = Project.objects.filter(name=project) if project else Project.objects.order_by("name")
        if project and not projects:
            raise CommandError(f"There is no project {project!r}.")
        row = self._model(model, provider, dim)
        upkeep.model_registry.begin_backfill(row.id)
        reports = [self._reembed_one(found, row) for found in projects]
        complete = all(report["state"] == OperationState.SUCCEEDED and not report["missing"] for report in reports)
        if activate and (force or (complete and upkeep.model_registry.is_complete(row))):
            row = self._switched(row, accept_recall_loss)
        row.refresh_from_db()
        self._print_output({"model": row.name, "state": row.state, "projects": reports}, as_json=as_json)
        if not complete or (activate and row.state != "active"):
            raise SystemExit(1)

    def _switched(self, row: EmbeddingModel, accept_recall_loss: bool) -> EmbeddingModel:
        try:
            return jobs.switch_model(row, accept_recall_loss=accept_recall_loss, now=timezone.now())
        except RecallLost as error:
            raise CommandError(f"{error}; the model before is active still") from error

    def _model(self, name: str, provider: str, dim: int) -> EmbeddingModel:
        row: EmbeddingModel | None = EmbeddingModel.objects.filter(name=name).first()
        if row is None:
            if provider not in offered() or not dim:
                raise CommandError(f"There is no model {name!r}. To add it, give --provider and --dim.")
            return upkeep.model_registry.add_model(name=name, provider=provider, dim=dim, now=timezone.now())
        if provider not in ("", row.provider) or dim not in (0, row.dim):
            raise CommandError(f"{name!r} is of the provider {row.provider} and has {row.dim} dimensions.")
        return row

    def _reembed_one(self, project: Project, model: EmbeddingModel) -> dict[str, object]:
        principal = access.system_principal(project)
        operation = jobs.start_for_model(principal, kind="backfill", model=model, now=timezone.now(), wake_up=False)
        with Progress(console=Console(stderr=True)) as bar:
            task = bar.add_task(f"{project.name} {model.name}", total=None)
            ended = jobs.run(
                principal, operation.id, watcher=lambda _, done, total: bar.update(task, completed=done, total=total)
            )
        report = (ended or operation).report or {}
        return {
            "project": project.name,
            "operation": str(operation.id),
            "state": (ended or operation).state,
            "embedded": report.get("embedded", 0),
            "missing": upkeep.vector_backfill.missing(principal, model),
        }

    def _print_output(self, text: dict[str, Any], *, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps(text))
            return
        for report in text["projects"]:
            self.stdout.write("{project}: {state}, {embedded} embedded, {missing} missing".format(**report))
        self.stdout.write(f"{text['model']} is {text['state']}")
