"""/notices/: which answers carried something that does not hold any more, or holds again."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from memories import access
from memories.access import Principal
from memories.console.auth import member
from memories.console.pagination import page_of
from memories.console.snippets import get_curl, server_url
from memories.models import ApiKey, Fragment, RecallNotice
from memories.models.enums import STANDING, NoticeReason, Status

REASONS = {
    NoticeReason.SUPERSEDED: "replaced",
    NoticeReason.RULED_OUT: "ruled out",
    NoticeReason.DISPUTED: "disputed",
    NoticeReason.CONTAINED: "set aside",
    NoticeReason.RESTORED: "stands again",
}
ICONS = {
    NoticeReason.SUPERSEDED: "arrow-uturn-right",
    NoticeReason.RULED_OUT: "scale",
    NoticeReason.DISPUTED: "exclamation-triangle",
    NoticeReason.CONTAINED: "shield-exclamation",
    NoticeReason.RESTORED: "check-circle",
}


@dataclass(frozen=True, slots=True)
class ShownNotice:
    """A notice in words; the memory and what holds instead as far as they are there and may be read."""

    row: RecallNotice
    says: str
    icon: str
    memory: Fragment | None
    instead: Fragment | None
    key: ApiKey | None

    @property
    def holds(self) -> Fragment | None:
        """What holds now in its place; None where it stands again, but for one of its claims."""
        stands = self.memory is not None and self.memory.status in STANDING and not self.row.claim_id
        return None if stands else self.instead

    @property
    def since_then(self) -> str:
        """What the memory is by now, where it is not what the notice says; empty for one that is gone."""
        if self.memory is None or self.holds:
            return ""
        stands, restored = self.memory.status == Status.ACTIVE, self.row.reason == NoticeReason.RESTORED
        return "" if stands == restored else f"By now it is {self.memory.status}."

    @property
    def agent(self) -> str:
        """Who was answered."""
        return self.key.owner.name.removeprefix("user:") if self.key else ""


@require_safe
@never_cache
@member
def everything(request: Any) -> HttpResponse:
    """Return the notices, newest first, of one reason or namespace or of all."""
    principal = request.principal
    reason, place = request.GET.get("reason", ""), request.GET.get("namespace", "")
    with access.enter(principal, why="console"):
        names = [row.name for row in access.all_readable(principal)]
        if (reason and reason not in REASONS) or (place and place not in names):
            raise Http404
        page = page_of(_asked(principal, reason, place), request.GET, of="notices")
        rows = _shown(principal, page.rows)
    context = {
        "rows": rows,
        "older": page.older,
        "reasons": [(str(one), says) for one, says in REASONS.items()],
        "names": names,
        "reason": reason,
        "place": place,
        "is_narrowed": bool(reason or place),
        "now": timezone.now(),
        "curls": [("This list", get_curl(server_url(request), "/api/v1/notices", reason=reason, namespace=place))],
    }
    return render(request, "console/notices.html", context)


def _asked(principal: Principal, reason: str, place: str) -> Any:
    scopes = access.readable_scopes(principal, [place] if place else None)
    rows = RecallNotice.objects.within(principal.project_id).filter(namespace__in=scopes).select_related("namespace")
    return rows.filter(reason=reason) if reason else rows


def _shown(principal: Principal, rows: Sequence[RecallNotice]) -> list[ShownNotice]:
    heirs = RecallNotice.objects.heirs(principal.project_id, {row.superseded_by for row in rows if row.superseded_by})
    wanted = {row.fragment_id for row in rows} | set(heirs.values())
    found = Fragment.objects.within(principal.project_id).select_related("namespace").in_bulk(wanted)
    memories: Mapping[uuid.UUID | None, Fragment] = {
        i: row for i, row in found.items() if principal.covers_reading(row.namespace.name)
    }
    keys = ApiKey.objects.within(principal.project_id).select_related("owner")
    named = keys.in_bulk({row.key_id for row in rows if row.key_id})
    return [
        ShownNotice(
            row,
            REASONS[NoticeReason(row.reason)],
            ICONS[NoticeReason(row.reason)],
            memories.get(row.fragment_id),
            memories.get(heirs.get(row.superseded_by)),
            named.get(row.key_id),
        )
        for row in rows
    ]
