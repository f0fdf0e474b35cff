"""/timeline/: what people and the service decided and did, on one line, and what changed since a point of it."""

import datetime
import uuid
from dataclasses import dataclass
from itertools import groupby
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from memories import access
from memories.access import Principal
from memories.console.auth import member
from memories.console.errors import Refusal, run_action
from memories.console.snippets import get_curl, server_url
from memories.cursors import BadCursor, Cursor
from memories.models import Owner
from memories.models.enums import Verb
from memories.timeline import PLACE, Entry, TimelineKind, difference, entries

PAGE = 50
MOMENT = datetime.timedelta(microseconds=1)
# An icon and the words for each kind, as done and as taken back.
WORDS = {
    TimelineKind.CONSOLIDATION: ("arrows-pointing-in", "Consolidated", "Consolidation undone"),
    TimelineKind.RESTORE: ("lifebuoy", "Restored from a backup", "Restore undone"),
    TimelineKind.MERGE: ("arrows-right-left", "Merged", "Merge undone"),
    TimelineKind.FORK: ("document-duplicate", "Forked", "Fork undone"),
    TimelineKind.BACKUP: ("lifebuoy", "Backed up", "Backup undone"),
    TimelineKind.EVICTION: ("archive-box", "Evicted", "Eviction undone"),
    TimelineKind.FORGETTING: ("trash", "Forgot many", "Forgetting undone"),
    TimelineKind.DELETION: ("trash", "Deleted a namespace", "Deletion undone"),
    TimelineKind.CONTAINMENT: ("shield-exclamation", "Contained", "Containment taken back"),
    TimelineKind.ROLLBACK: ("clock", "Rolled back", "Rollback undone"),
}
DECISIONS = {
    "supersede": "The challenger was chosen",
    "reject": "The challenger was rejected",
    "keep_both": "Both were kept",
}
# What was forgotten at once, not by an operation.
AT_ONCE = {"memories": "Forgot", "user": "Erased a user"}
PAGES = {TimelineKind.DECISION: "conflict", TimelineKind.CONTAINMENT: "containment"}


@dataclass(frozen=True, slots=True)
class ShownEntry:
    """An entry with its words, its icon, who did it and where it leads."""

    entry: Entry
    icon: str
    words: str
    who: str
    address: str
    # Where an admin brings the namespace back to the moment before it.
    back: str


@require_safe
@never_cache
@member
def line(request: Any) -> HttpResponse:
    """Return the line, newest first, a page of it."""
    principal, kind = request.principal, request.GET.get("kind", "")
    if kind and kind not in TimelineKind.values:
        raise Http404
    try:
        cursor = Cursor.read(text, **PLACE) if (text := request.GET.get("cursor", "")) else None
        page = entries(principal, limit=PAGE, cursor=cursor, kinds=[kind] if kind else TimelineKind.values)
    except BadCursor as error:
        raise Http404 from error
    shown = _shown(principal, page.entries)
    older = {"kind": kind, "cursor": str(page.entries[-1].cursor())} if page.more else {}
    context = {
        "days": [(day, list(same)) for day, same in groupby(shown, key=lambda one: timezone.localdate(one.entry.at))],
        "kinds": TimelineKind.choices,
        "kind": kind,
        "older": older and f"{reverse('console:timeline')}?{urlencode(older)}",
        "now": timezone.now(),
        "curls": [("This line", get_curl(server_url(request), "/api/v1/timeline", kind=kind))],
    }
    return render(request, "console/timeline.html", context)


def _shown(principal: Principal, found: Any) -> list[ShownEntry]:
    with access.enter(principal, why="console"):
        owners = Owner.objects.within(principal.project_id).filter(id__in={one.owner_id for one in found})
        names = dict(owners.values_list("id", "name"))
    return [_entry(one, names, is_admin=Verb.ADMIN in principal.verbs) for one in found]


def _entry(entry: Entry, names: dict[uuid.UUID, str], *, is_admin: bool) -> ShownEntry:
    icon, done, undone = WORDS.get(
        TimelineKind(entry.kind), ("scale", DECISIONS.get(entry.action, "Decided"), "A decision was taken back")
    )
    who = names.get(entry.owner_id, "") if entry.owner_id else ""
    before = {"namespace": entry.namespace or "", "to": (entry.at - MOMENT).isoformat()}
    back = f"{reverse('console:rollbacks')}?{urlencode(before)}" if is_admin else ""
    words = AT_ONCE.get(entry.action) or (undone if entry.undoes else done)
    return ShownEntry(entry, icon, words, who, _address(entry, is_admin=is_admin), back)


def _address(entry: Entry, *, is_admin: bool) -> str:
    """Return where an entry leads; containments, and the audit of what is gone, are for admins to see."""
    if entry.action in AT_ONCE:
        return f"{reverse('console:audit')}?{urlencode({'about': entry.id})}" if is_admin else ""
    page = PAGES.get(TimelineKind(entry.kind), "operation")
    return reverse(f"console:{page}", args=[entry.id]) if is_admin or page != "containment" else ""


@require_safe
@never_cache
@member
def changes(request: Any) -> HttpResponse:
    """Return what is believed otherwise than at a point."""
    since = parse_datetime(request.GET.get("since", "").replace(" ", "+"))
    if since is None or since.tzinfo is None:
        raise Http404
    now = timezone.now()
    found, refusal = run_action(lambda: difference(request.principal, since=since, until=now, now=now))
    context: dict[str, Any] = {"since": since, "now": now, "found": found, "refusal": refusal}
    context["may_roll_back"] = Verb.ADMIN in request.principal.verbs
    address = {"since": since.isoformat()}
    context["curls"] = [("These", get_curl(server_url(request), "/api/v1/timeline/difference", **address))]
    return render(request, "console/timeline_changes.html", context, status=_status(refusal))


def _status(refusal: Refusal | None) -> int:
    return 409 if refusal else 200
