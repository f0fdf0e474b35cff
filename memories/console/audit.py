"""/audit/: who changed what, and why; how far the chain of seals reaches."""

import datetime
import re
import uuid
from dataclasses import asdict, dataclass, replace
from typing import Any, Self
from urllib.parse import urlencode

from django.contrib.auth import get_user_model
from django.db import models
from django.db.models import Q
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from conflicts.public import PendingConflict, Ruling
from memories import access, jobs
from memories import audit as audit_room
from memories.access import Principal
from memories.console.auth import member
from memories.console.review_items import names_of
from memories.models import AccountEvent, ApiKey, Backup, Fragment, Grant, Membership, Namespace, Operation, Seal
from memories.models.enums import Verb
from memories.models.history import actor_of, events_of

PAGE = 50
KINDS: dict[str, tuple[type[models.Model], str, str]] = {
    "memory": (Fragment, "memory", "status"),
    "conflict": (PendingConflict, "conflict", "resolution"),
    "ruling": (Ruling, "", ""),
    "operation": (Operation, "operation", "state"),
    "backup": (Backup, "backup", "policy"),
    "key": (ApiKey, "", ""),
    "grant": (Grant, "", ""),
    "namespace": (Namespace, "", ""),
    "member": (Membership, "", "role"),
    "account": (AccountEvent, "", "powers"),
}
PLACE = re.compile(r"<(?:\w+:)?(\w+)>")
PEOPLE = ("member", "account")  # whose events are about an account, not a row of the project
VERBS = {"insert": "made", "update": "changed", "delete": "deleted"}


@dataclass(frozen=True, slots=True, order=True)
class AuditPosition:
    """Where an event stands among those of all kinds: by transaction, number in its table, and table.

    All events of a transaction have one time, so a time alone is no place.
    """

    recorded_in: int
    number: int
    table: int

    @classmethod
    def of(cls, kind: str, event: Any) -> Self:
        """Return the place of an event."""
        return cls(int(event.recorded_in), event.pgh_id, list(KINDS).index(kind))

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Return the place that an address names, None for none. Raise Http404."""
        if not text:
            return None
        if not re.fullmatch(r"\d{1,18}-\d{1,18}-\d{1,2}", text, re.ASCII):
            raise Http404
        return cls(*map(int, text.split("-")))

    def __str__(self) -> str:
        return f"{self.recorded_in}-{self.number}-{self.table}"

    def older(self, kind: str) -> Q:
        """Return the events of a kind that stand before it."""
        last = self.number if list(KINDS).index(kind) < self.table else self.number - 1
        # Said twice: the first is what the index can begin at.
        return Q(recorded_in__lte=self.recorded_in) & (Q(recorded_in__lt=self.recorded_in) | Q(pgh_id__lte=last))


@dataclass(frozen=True, slots=True)
class AuditLine:
    """One event: `url` leads to what it is about, where it can be undone too."""

    at: datetime.datetime
    kind: str
    verb: str
    state: str
    who: str
    why: str
    url: str
    # Of a member the name, of anything else the id.
    id: uuid.UUID | str
    place: AuditPosition
    # Where it can be taken back: the operation's own undo, the settled conflict.
    undo: str = ""
    # What the person wrote who decided.
    note: str = ""


@require_safe
@never_cache
@member
def audit(request: Any) -> HttpResponse:
    """Return the newest events, of one kind or all."""
    principal, kind, now = request.principal, request.GET.get("kind", ""), timezone.now()
    principal.require(Verb.ADMIN)
    if kind and kind not in KINDS:
        raise Http404
    before = AuditPosition.parse(request.GET.get("before", ""))
    with access.enter(principal, why="console"):
        options = _read_filter(request)
        rows = _lines(principal, [kind] if kind else list(KINDS), before, options)
        seals = Seal.objects.within(principal.project_id)
        context = {
            "rows": rows[:PAGE],
            "older": str(rows[PAGE - 1].place) if len(rows) > PAGE else "",
            "kind": kind,
            "wish": options,
            "kinds": list(KINDS),
            "seal": seals.order_by("-number").first(),
            "silence": audit_room.witness_silence(),
            "now": now,
        }
    return render(request, "console/audit.html", context)


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which events: for what reason, of what object; with or without those of restores."""

    why: str
    about: str
    restores: str

    @property
    def query(self) -> str:
        """As the address carries it."""
        return urlencode({name: value for name, value in asdict(self).items() if value})

    def conditions(self) -> Q:
        """Return the same of an event."""
        condition = _reason(self.why) if self.why else Q()
        condition &= Q(pgh_obj_id=uuid.UUID(self.about)) if self.about else Q()
        return condition & ~Q(pgh_context__why="restore") if self.restores == "no" else condition


def _read_filter(request: Any) -> AuditFilter:
    texts = {name: request.GET.get(name, "").strip()[:100] for name in ("why", "about", "restores")}
    if any("\0" in text for text in texts.values()) or texts["restores"] not in ("", "no"):
        raise Http404
    try:
        texts["about"] = str(uuid.UUID(texts["about"])) if texts["about"] else ""
    except ValueError as error:
        raise Http404 from error
    return AuditFilter(**texts)


def _lines(
    principal: Principal, kinds: list[str], before: AuditPosition | None, request: AuditFilter
) -> list[AuditLine]:
    found = []
    for kind in kinds:
        if request.about and kind in PEOPLE:  # which have no such id
            continue
        events = _events(principal, kind).filter(request.conditions())
        events = events.filter(before.older(kind)) if before else events
        found += [(kind, event) for event in events.order_by("-recorded_in", "-pgh_id")[: PAGE + 1]]
    found.sort(key=lambda pair: AuditPosition.of(*pair), reverse=True)
    found = found[: PAGE + 1]
    names = names_of(principal, [actor_of(event) for _, event in found])
    accounts = {account for kind, event in found for account in (_account(kind, event), _actor(event))}
    people = _people([account for account in accounts if account])
    undos = _undos(principal, [event.pgh_obj_id for kind, event in found if kind == "operation"])
    decisions = _decisions(principal, [event for kind, event in found if kind == "conflict"])
    lines = []
    for kind, event in found:
        undo, note = undos.get(event.pgh_obj_id, ""), ""
        if kind == "conflict":
            undo, note = decisions.get(event.pgh_id, ("", ""))
        line = replace(_line(kind, event, names, people), undo=undo, note=note)
        about = _account(kind, event)
        lines.append(line if about is None else replace(line, id=people.get(about, f"user {about}")))
    return lines


def _events(principal: Principal, kind: str) -> Any:
    """Return the events of a kind that are the project's to see: of accounts those of its members and of superusers."""
    if kind != "account":
        return events_of(KINDS[kind][0]).objects.filter(project=principal.project_id)
    members = Membership.objects.filter(project=principal.project_id).values("user_id")
    return AccountEvent.objects.filter(Q(pgh_obj_id__in=members) | Q(is_superuser=True))


def _account(kind: str, event: Any) -> int | None:
    """Return the account that an event is about."""
    if kind == "member":
        return int(event.user_id)
    return int(event.pgh_obj_id) if kind == "account" else None


def _actor(event: Any) -> int | None:
    """Return the account of the person who made it."""
    text = (event.pgh_context or {}).get("user")
    return int(text) if text else None


def _people(ids: list[int]) -> dict[int, str]:
    """Return the names of accounts that are still there."""
    if not ids:
        return {}
    return {user.pk: user.get_username() for user in get_user_model()._default_manager.filter(pk__in=ids)}


def _undos(principal: Principal, ids: list[uuid.UUID]) -> dict[uuid.UUID, str]:
    """Return by operation: where it can be undone."""
    rows = Operation.objects.within(principal.project_id).filter(id__in=ids) if ids else []
    return {row.id: reverse("console:operation", args=[row.id]) for row in rows if jobs.can_undo(row)}


def _decisions(principal: Principal, events: list[Any]) -> dict[int, tuple[str, str]]:
    """Return by event: where a decision that still stands is taken back, and what was noted with it."""
    if not events:
        return {}
    rows = PendingConflict.objects.within(principal.project_id).in_bulk({event.pgh_obj_id for event in events})
    found = {}
    for event in events:
        row = rows.get(event.pgh_obj_id)
        if row and row.resolution and row.revision == event.revision:
            found[event.pgh_id] = (reverse("console:conflict", args=[row.id]) if row.before else "", row.note)
    return found


def _line(kind: str, event: Any, names: dict[uuid.UUID | None, str], people: dict[int, str]) -> AuditLine:
    context = event.pgh_context or {}
    _, page, state = KINDS[kind]
    gone = event.pgh_label == "delete"
    url = reverse(f"console:{page}", args=[event.pgh_obj_id]) if page and not gone else ""
    became = str(getattr(event, state) or "") if state else ""
    if kind == "ruling":
        url = reverse("console:conflict", args=[event.conflict_id]) if event.conflict_id else ""
        became = "" if gone else "replaced" if event.replaced_by_id else "in force"
    became = _powers(event) if kind == "grant" else became
    return AuditLine(
        at=event.pgh_created_at,
        kind=kind,
        verb=VERBS.get(event.pgh_label, event.pgh_label),
        state=f"was {became}" if gone and became else became,
        who=names.get(actor_of(event), "") or people.get(_actor(event) or 0, "") or context.get("kind", "unknown"),
        why=_why(context.get("why", "")),
        url=url,
        id=event.pgh_obj_id,
        place=AuditPosition.of(kind, event),
    )


def _why(text: str) -> str:
    """Return the reason as people read it; a request's address as the API documents it."""
    method, is_request, route = text.partition(" api/")
    shown = PLACE.sub(r"{\1}", route)
    return f"{method} /api/{shown}" if is_request else text.replace("_", " ")


def _reason(text: str) -> Q:
    """Return what an event with this reason satisfies, as it is kept or as it is shown."""
    method, is_request, route = text.partition(" /api/")
    if not is_request:
        return Q(pgh_context__why=text)
    kept = re.sub(r"\\{(\w+)\\}", r"<(\\w+:)?\1>", re.escape(f"{method} api/{route}"))
    return Q(pgh_context__why__regex=f"^{kept}$")


def _powers(event: Any) -> str:
    """Return what a grant allows; events of before do not say where."""
    if event.verbs is None:
        return ""
    return f"{', '.join(event.verbs)} on {', '.join(event.namespaces)} up to {event.ceiling}"
