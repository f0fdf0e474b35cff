"""Retention of history: what is older than the setting goes, once it was verified."""

import datetime
from uuid import UUID

import structlog
from django.conf import settings
from django.db.models import Max, Min

from memories import access
from memories.access import Principal
from memories.audit import horizons
from memories.audit.journal import Journal
from memories.audit.seals import lock_chain
from memories.audit.verification import find_until
from memories.audit.witness import Receipts
from memories.models import AuditHorizon, Backup, Project, Seal
from memories.models.sql import fetch

log = structlog.get_logger(__name__)


def let_go(principal: Principal, *, now: datetime.datetime) -> int:
    """Let go of history older than HISTORY_DAYS, once it was verified; how many events went. 0 days keep all.

    To be called outside a transaction. A chain that is not whole is left as it is: it is evidence. Backups go on from
    others by history: what is younger than the oldest stays.
    """
    if not settings.HISTORY_DAYS:
        return 0
    before = now - datetime.timedelta(days=settings.HISTORY_DAYS)
    journal = Journal(principal.project_id)
    with journal.held():
        with access.enter(principal, why="retention"):
            cut = _last_to_go(principal.project_id, before=before)
            if cut is None:
                return 0
            if finding := find_until(principal.project_id, journal, last=cut.number):
                log.error("history_is_not_whole", project=str(principal.project_id), finding=finding.kind)
                return 0
            lock_chain(principal.project_id)
            asked = [principal.project_id, str(cut.upto), cut.number]
            ((gone,),) = fetch("SELECT nova_let_history_go(%s, %s::text::xid8, %s)", asked)
            horizon = horizons.keep(cut, now=now)
        journal.begin_after(horizon.number, horizons.line(horizon))
    Receipts(principal.project_id).begin_after(cut.number)
    return int(gone)


def let_lost_history_go(*, now: datetime.datetime) -> int:
    """Let go of old history of projects that are no more, with their files; how many events went."""
    if not settings.HISTORY_DAYS:
        return 0
    before = now - datetime.timedelta(days=settings.HISTORY_DAYS)
    ((gone,),) = fetch("SELECT nova_let_lost_history_go(%s)", [before])
    known = {str(project_id) for project_id in Project.objects.values_list("id", flat=True)}
    for path in Journal.folder().glob("*.*"):
        if path.stem not in known and path.stat().st_mtime < before.timestamp():
            path.unlink(missing_ok=True)
    return int(gone)


def _last_to_go(project_id: UUID, *, before: datetime.datetime) -> Seal | None:
    """Return the last seal whose events go: never the newest, on which the next one is hashed."""
    behind = AuditHorizon.objects.within(project_id).aggregate(number=Max("number"))["number"] or 0
    rows = Seal.objects.within(project_id).filter(number__gt=behind)  # an adopted chain keeps seals before its horizon
    newest = rows.aggregate(number=Max("number"))["number"] or 0
    base = Backup.objects.within(project_id).aggregate(upto=Min("upto"))["upto"]
    old = rows.filter(sealed_at__lt=before, number__lt=newest)
    found: Seal | None = (old.filter(upto__lte=base) if base is not None else old).order_by("-number").first()
    return found
