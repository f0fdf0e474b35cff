"""`manage.py audit verify`."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated, Any

from django.core.management import CommandError
from django.utils import timezone
from django_typer.management import TyperCommand, command
from rich.console import Console
from rich.progress import Progress
from typer import Option

from memories import access, audit
from memories.models import Project

Json = Annotated[bool, Option("--json", help="Print JSON.")]


class Command(TyperCommand):
    """The audit chain."""

    help = "The audit chain: verify it, seal what is new."

    @command()
    def verify(
        self,
        project: Annotated[str, Option(help="Only this project.")] = "",
        as_json: Json = False,
    ) -> None:
        """Names the first event that was changed, removed, slipped in or cut off, and rows that were forged.

        Exit code 1 when anything is wrong.
        """
        proofs = {p.name: _proven(p) for p in _projects(project)}
        if as_json:
            self.stdout.write(json.dumps({name: _describe_proof(proof) for name, proof in proofs.items()}))
        else:
            for name, proof in proofs.items():
                self.stdout.write("\n".join(_lines(name, proof)))
        if not all(proof.is_whole for proof in proofs.values()):
            raise SystemExit(1)

    @command()
    def seal(
        self,
        project: Annotated[str, Option(help="Only this project.")] = "",
        as_json: Json = False,
    ) -> None:
        """Seals new events now instead of at the next minute."""
        told: list[dict[str, Any]] = []
        for found in _projects(project):
            try:
                sealed = audit.seal(access.system_principal(found), now=timezone.now())
            except audit.SealedElsewhere as error:
                raise CommandError(str(error)) from error
            sent = audit.send_seals(access.system_principal(found), now=timezone.now())
            told.append({"project": found.name, "events": sealed.events if sealed else 0, "witnessed": sent})
        if as_json:
            self.stdout.write(json.dumps(told))
            return
        for each in told:
            self.stdout.write(f"{each['project']}: {each['events']} events sealed")
            if each["witnessed"]:
                self.stdout.write(f"{each['project']}: {each['witnessed']} seals told to the witness")

    @command()
    def adopt(
        self,
        project: Annotated[str, Option(help="The project.")],
        as_json: Json = False,
    ) -> None:
        """Goes on with the chain of an instance that is gone for good, by this one's key.

        Its seals stay, and can't be verified here any more: the chain begins anew behind the last of them.
        """
        (found,) = _projects(project)
        last = audit.adopt(access.system_principal(found), now=timezone.now())
        if as_json:
            self.stdout.write(json.dumps({"project": found.name, "behind": last.number if last else None}))
            return
        self.stdout.write(
            f"{found.name}: goes on behind seal {last.number} of {last.signer}"
            if last
            else f"{found.name}: its history is this instance's already"
        )


def _proven(project: Project) -> audit.Proof:
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(project.name, total=None)

        def show(stage: str, done: int, total: int) -> None:
            bar.update(task, description=f"{project.name} {stage}", completed=done, total=total)

        return audit.prove(access.system_principal(project), watcher=show)


def _describe_proof(proof: audit.Proof) -> dict[str, Any]:
    witness = asdict(proof.witness) if proof.witness else None
    return {**asdict(proof.chain), "rows": asdict(proof.rows), "witness": witness}


def _lines(name: str, proof: audit.Proof) -> Iterator[str]:
    chain, rows = proof.chain, proof.rows
    text = f"{chain.finding.kind}: {chain.finding.what}" if chain.finding else "whole"
    yield f"{name}: {text} ({chain.seals} seals, {chain.events} events, {chain.unsealed} not sealed yet)"
    yield f"{name}: {rows.differ or 'none'} of {rows.rows} rows differ from their history" + (
        f"; of {rows.without_digest} the words are from before they had a digest" if rows.without_digest else ""
    )
    yield from (f"  {difference}" for difference in rows.differences)
    if proof.witness:
        yield f"{name}: {proof.witness.kind}: {proof.witness.what}"


def _projects(name: str) -> list[Project]:
    rows = Project.objects.filter(name=name) if name else Project.objects.order_by("name")
    if name and not rows:
        raise CommandError(f"There is no project {name!r}.")
    return list(rows)
