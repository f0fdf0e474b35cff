"""Seals: the new events of a project become one signed link of its chain, in the database and in a file."""

import datetime
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO
from uuid import UUID

import structlog
from django.db import connection

from memories import access
from memories.access import Principal
from memories.audit import horizons, signatures
from memories.audit.journal import Journal, moment
from memories.audit.leaves import SealLink, genesis, leaves
from memories.errors import NovaError
from memories.models import AuditHorizon, Seal
from memories.models.sql import horizon

log = structlog.get_logger(__name__)


class SealedElsewhere(NovaError):
    """Another instance's key sealed the project last: whoever has no part in that chain would break it for good."""

    code = "sealed_elsewhere"
    title = "Another instance keeps this project’s history"

    def __init__(self, project: str, signer: str) -> None:
        super().__init__(
            f"the history of {project} is sealed by another instance, {signer}: all machines share its "
            f"NOVAMEM_DATA_DIR; if that is gone for good, `script/manage audit adopt --project {project}` goes on "
            "with this one's key"
        )


def seal(principal: Principal, *, now: datetime.datetime) -> Seal | None:
    """Seal what is new and copy it to the file; None when there is nothing new. Raise SealedElsewhere.

    To be called outside a transaction: the file gets no line that the database may still roll back.
    """
    journal = Journal(principal.project_id)
    with journal.held(), TemporaryFile(dir=journal.path.parent) as content:
        with access.enter(principal, why="seal"):
            lock_chain(principal.project_id)
            last = newest_seal(principal.project_id)
            _refuse_other_signer(principal, last, journal.elsewhere)
            _repair(journal, last)
            made = _next(principal, last, content, copied=journal.last_number(), now=now)
        if made:
            journal.append(made, content)
    return made


def sealed_elsewhere() -> str:
    """Return what keeps this instance from sealing, of one project; empty when nothing does."""
    for path in sorted(Journal.folder().glob("*.elsewhere")):
        with suppress(FileNotFoundError):
            return path.read_text()
    return ""


def _refuse_other_signer(principal: Principal, last: Seal | None, note: Path) -> None:
    signer = other_signer(last)
    if not signer:
        return note.unlink(missing_ok=True)
    error = SealedElsewhere(principal.project, signer)
    note.write_text(str(error))
    raise error


def newest_seal(project_id: UUID) -> Seal | None:
    """Return the last seal of a project."""
    found: Seal | None = Seal.objects.within(project_id).order_by("-number").first()
    return found


def other_signer(last: Seal | None) -> str:
    """Return whose the chain is, empty for this instance: of who adopted it behind the last seal, or who made that."""
    if last is None:
        return ""
    if adopted := _adopted(last):
        return "" if horizons.is_signed(adopted) else "which has adopted it"
    return "" if last.signer == signatures.fingerprint() else last.signer


def _adopted(last: Seal) -> AuditHorizon | None:
    # Retention never lets the newest seal go: a horizon there is of an adoption.
    found: AuditHorizon | None = AuditHorizon.objects.within(last.project_id).filter(number=last.number).first()
    return found


def adopt(principal: Principal, *, now: datetime.datetime) -> Seal | None:
    """Go on with another instance's chain by this one's key: a horizon stands in place of its seals, which are kept.

    Return the last seal of the other, None where the chain is this one's. To be called outside a transaction.
    """
    journal = Journal(principal.project_id)
    with journal.held():
        with access.enter(principal, why="adopt seals"):
            lock_chain(principal.project_id)
            last = newest_seal(principal.project_id)
            signer = other_signer(last)
            row = horizons.keep(last, now=now) if last and signer else last and _adopted(last)
        if row and (signer or journal.last_number() < row.number):  # or a crash came between the two
            journal.begin_anew(horizons.line(row))
        journal.elsewhere.unlink(missing_ok=True)
    if last is None or not signer:
        return None
    log.warning("seals_adopted", project=str(principal.project_id), seal=last.number, signer=signer)
    return last


def lock_chain(project_id: UUID) -> None:
    """One sealer at a time, also on another machine; writers are not held up."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 7))", [str(project_id)])


def _repair(journal: Journal, last: Seal | None) -> None:
    """Write the line that a crash kept from the file. Only that one: if more is missing, somebody cut the file off,
    and it has to stay seen."""
    if last and journal.last_number() == last.number - 1:
        former = Seal.objects.within(last.project_id).filter(number__lt=last.number).order_by("-number").first()
        former = former or AuditHorizon.objects.within(last.project_id).first()
        with TemporaryFile(dir=journal.path.parent) as content:
            _link(former, content, project_id=last.project_id, number=last.number, upto=last.upto, now=last.sealed_at)
            journal.append(last, content)
        log.warning("journal_repaired", project=str(last.project_id), seal=last.number)


def _next(
    principal: Principal, last: Seal | None, content: BinaryIO, *, copied: int, now: datetime.datetime
) -> Seal | None:
    number = last.number if last else 0
    if copied > number:
        log.error("seals_cut_off", project=str(principal.project_id), database=number, file=copied)
        number = copied  # the gap stays, so that `verify` goes on naming it
    number, upto = number + 1, horizon()
    link = _link(last, content, project_id=principal.project_id, number=number, upto=upto, now=now)
    if not link.events:
        return None
    fresh: Seal = Seal.objects.create(
        project_id=principal.project_id,
        number=number,
        upto=upto,
        events=link.events,
        digest=link.digest(),
        signature=signatures.sign(link.digest(), purpose="seal"),
        signer=signatures.fingerprint(),
        sealed_at=now,
    )
    return fresh


def _link(
    former: Seal | AuditHorizon | None,
    content: BinaryIO,
    *,
    project_id: UUID,
    number: int,
    upto: int,
    now: datetime.datetime,
) -> SealLink:
    """Return the link that follows a seal, up to a transaction; the texts of its leaves go to the file."""
    digest, since = (bytes(former.digest), former.upto) if former else (genesis(project_id), 0)
    link = SealLink(digest, number=number, upto=upto, sealed_at=moment(now))
    content.writelines(link.add(leaf) for leaf in leaves(project_id, since=since, before=upto))
    return link
