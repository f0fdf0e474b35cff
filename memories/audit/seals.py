"""Seals: the new events of a project become one signed link of its chain, in the database and in a file."""

import datetime
from tempfile import TemporaryFile
from typing import BinaryIO
from uuid import UUID

import structlog
from django.db import connection

from memories import access
from memories.access import Principal
from memories.audit import signatures
from memories.audit.journal import Journal, moment
from memories.audit.leaves import SealLink, genesis, leaves
from memories.models import AuditHorizon, Seal
from memories.models.sql import horizon

log = structlog.get_logger(__name__)


def seal(principal: Principal, *, now: datetime.datetime) -> Seal | None:
    """Seal what is new and copy it to the file; None when there is nothing new.

    To be called outside a transaction: the file gets no line that the database may still roll back.
    """
    journal = Journal(principal.project_id)
    with journal.held(), TemporaryFile(dir=journal.path.parent) as content:
        with access.enter(principal, why="seal"):
            lock_chain(principal.project_id)
            last = Seal.objects.within(principal.project_id).order_by("-number").first()
            _repair(journal, last)
            made = _next(principal, last, content, copied=journal.last_number(), now=now)
        if made:
            journal.append(made, content)
    return made


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
