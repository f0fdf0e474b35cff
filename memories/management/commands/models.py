"""`manage.py models list|add|backfill|compare|activate|retire`."""

import json
from typing import IO, Annotated, Any, cast

from django.core.management import CommandError
from django.utils import timezone
from django_typer.management import TyperCommand, command
from rich.console import Console
from rich.table import Table
from typer import Argument, Option

from memories import access, jobs, upkeep
from memories.access import NotFound
from memories.management.operation_commands import AcceptLoss
from memories.models import EmbeddingModel, Project
from memories.providers import EmbeddingFailed, active_model
from memories.recall_checks import RecallLost

Questions = list[str] | None
Name = Annotated[str, Argument(help="The model's name.")]
AsJson = Annotated[bool, Option("--json", help="Print JSON.")]
REFUSALS = (
    upkeep.model_registry.ModelTaken,
    upkeep.model_registry.UnfitModel,
    upkeep.model_registry.UnfitState,
    upkeep.model_registry.VectorsMissing,
    EmbeddingFailed,
    NotFound,
    RecallLost,
)


class Command(TyperCommand):
    """Embedding models: list, add, fill, compare, switch, retire."""

    help = "Embedding models of the installation: list, add, fill, compare, switch, retire. A worker does the work."

    @command()
    def list(self, as_json: AsJson = False) -> None:
        """Lists the models, with how many memories of all projects have no vector of each."""
        rows = [{**_model_json(row), "missing": _missing(row)} for row in EmbeddingModel.objects.order_by("created_at")]
        if as_json:
            self.stdout.write(json.dumps(rows))
            return
        table = Table("name", "provider", "dim", "state", "missing")
        for row in rows:
            table.add_row(*(str(row[name]) for name in ("name", "provider", "dim", "state", "missing")))
        Console(file=cast("IO[str]", self.stdout)).print(table)

    @command()
    def add(
        self,
        name: Name,
        provider: Annotated[str, Option(help="One of: sentence-transformers, openai, minilm, minilm-int8.")],
        dim: Annotated[int, Option(help="How many dimensions.")],
        as_json: AsJson = False,
    ) -> None:
        """Adds a model: new memories get a vector of it at once, older ones by a backfill."""
        row = _tried(lambda: upkeep.model_registry.add_model(name=name, provider=provider, dim=dim, now=timezone.now()))
        self._print_row(row, as_json=as_json)

    @command()
    def backfill(self, name: Name, as_json: AsJson = False) -> None:
        """Starts to embed what has no vector of it, in every project."""
        row = _model(name)
        jobs.fill_model(row, now=timezone.now())
        self._print_row(row, as_json=as_json)

    @command()
    def compare(
        self,
        name: Name,
        project: Annotated[str, Option(help="Whose memories are asked.")],
        namespace: Annotated[str, Option(help="Only this namespace (project:agent).")] = "",
        query: Annotated[Questions, Option(help="A question; may be given again.")] = None,
        sample: Annotated[int, Option(help="How many of the newest memories are asked for their likes.", min=0)] = 20,
        as_json: AsJson = False,
    ) -> None:
        """Tells which share of the ten best of the active model this one finds too."""
        found = Project.objects.filter(name=project).first()
        if found is None:
            raise CommandError(f"There is no project {project!r}.")
        model, active, principal = _model(name), active_model(), access.system_principal(found)
        rows = _tried(
            lambda: upkeep.model_comparison.compare(
                principal, model, active, queries=query or [], namespace=namespace or None, sample=sample
            )
        )
        shares = [row.share for row in rows if row.share is not None]
        output: dict[str, Any] = {
            "model": model.name,
            "against": active.name,
            "depth": upkeep.model_comparison.DEPTH,
            "mean": round(sum(shares) / len(shares), 4) if shares else None,
            "least": min(shares, default=None),
            "queries": [{"source": row.source, "overlap": row.share} for row in rows],
            "missing": upkeep.vector_backfill.missing(principal, model),
        }
        words = "{model} against {against}: mean {mean}, least {least}, {missing} memories without a vector"
        self.stdout.write(json.dumps(output) if as_json else words.format(**output))

    @command()
    def activate(
        self,
        name: Name,
        force: Annotated[bool, Option("--force", help="Although vectors are missing; they follow.")] = False,
        accept_recall_loss: AcceptLoss = False,
        as_json: AsJson = False,
    ) -> None:
        """Makes it the model of questions; the former one stays ready to be switched back to."""
        row = _model(name)
        options: dict[str, Any] = {"force": force, "accept_recall_loss": accept_recall_loss, "now": timezone.now()}
        self._print_row(_tried(lambda: jobs.activate_model(row, **options)), as_json=as_json)

    @command()
    def retire(self, name: Name, as_json: AsJson = False) -> None:
        """Ends a model and starts to drop its vectors, in every project."""
        row = _model(name)
        _tried(lambda: jobs.retire_model(row, now=timezone.now()))
        self._print_row(row, as_json=as_json)

    def _print_row(self, row: EmbeddingModel, *, as_json: bool) -> None:
        row.refresh_from_db()
        self.stdout.write(json.dumps(_model_json(row)) if as_json else f"{row.name} is {row.state}")


def _tried(act: Any) -> Any:
    try:
        return act()
    except REFUSALS as error:
        raise CommandError(str(error)) from error


def _model(name: str) -> EmbeddingModel:
    row: EmbeddingModel | None = EmbeddingModel.objects.filter(name=name).first()
    if row is None:
        raise CommandError(f"There is no model {name!r}.")
    return row


def _missing(row: EmbeddingModel) -> int:
    return sum(upkeep.vector_backfill.missing(access.system_principal(one), row) for one in Project.objects.all())


def _model_json(row: EmbeddingModel) -> dict[str, Any]:
    return {name: getattr(row, name) for name in ("name", "provider", "dim", "state", "floor")}
