"""Sealing: the new events of a project become one signed link of its chain, in the database and in a file."""

import datetime

import structlog
from django.db import connection

from memories import access
from memories.access import Principal
from memories.audit import signing
from memories.audit.journal import Journal, Line, moment
from memories.audit.leaves import Leaf, chain, genesis, leaves
from memories.models import Seal
from memories.models.raw import horizon

log = structlog.get_logger(__name__)


def seal(principal: Principal, *, now: datetime.datetime) -> Seal | None:
    """Seals what is new and copies it to the file; None when there is nothing new.

    To be called outside a transaction: the file gets no line that the database may still roll back.
    """
    journal = Journal(principal.project_id)
    with journal.held():
        with access.enter(principal, why="seal"):
            _lock(principal)
            last = Seal.objects.within(principal.project_id).order_by("-number").first()
            _repair(journal, last)
            made = _next(principal, last, copied=journal.last_number(), now=now)
        if made:
            journal.append(Line.of(*made))
    return made and made[0]


def _lock(principal: Principal) -> None:
    """One sealer at a time, also on another machine; writers are not held up."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 7))", [str(principal.project_id)])


def _repair(journal: Journal, last: Seal | None) -> None:
    """Writes the line that a crash kept from the file. Only that one: if more is missing, somebody cut the file off,
    and it has to stay seen."""
    if last and journal.last_number() == last.number - 1:
        former = Seal.objects.within(last.project_id).filter(number__lt=last.number).order_by("-number").first()
        content = leaves(last.project_id, since=former.upto if former else 0, before=last.upto)
        journal.append(Line.of(last, content))
        log.warning("journal_repaired", project=str(last.project_id), seal=last.number)


def _next(
    principal: Principal, last: Seal | None, *, copied: int, now: datetime.datetime
) -> tuple[Seal, list[Leaf]] | None:
    former = bytes(last.digest) if last else genesis(principal.project_id)
    since, number = (last.upto, last.number) if last else (0, 0)
    if copied > number:
        log.error("seals_cut_off", project=str(principal.project_id), database=number, file=copied)
        number = copied  # the gap stays, so that `verify` goes on naming it
    before = horizon()
    content = leaves(principal.project_id, since=since, before=before)
    if not content:
        return None
    digest = chain(former, number=number + 1, upto=before, sealed_at=moment(now), content=content)
    fresh: Seal = Seal.objects.create(
        project_id=principal.project_id,
        number=number + 1,
        upto=before,
        events=len(content),
        digest=digest,
        signature=signing.sign(digest, purpose="seal"),
        signer=signing.fingerprint(),
        sealed_at=now,
    )
    return fresh, content
