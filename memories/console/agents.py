"""/agents/: the keys, what each may do, and what came of what it wrote."""

import datetime
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from django.db.models import Count
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_safe

from memories import access
from memories.access import authorizations, keys, members
from memories.console import flash
from memories.console.auth import member
from memories.console.errors import Refusal, run_action
from memories.console.explorer_query import normalise_newlines
from memories.console.form_addresses import takes_form
from memories.console.pagination import page_of
from memories.console.undo_strip import offer_undo
from memories.models import ApiKey, Authorization, Fragment, Membership, Project
from memories.models.enums import Role, SourceClass, Status, Users, Verb
from memories.models.key import every_user

ENDS = ("rotate", "revoke")
USERS = {
    Users.OPTIONAL.value: "may name a user",
    Users.REQUIRED.value: "has to name a user",
    Users.NONE.value: "may name none",
}


@dataclass(frozen=True, slots=True)
class AgentRow:
    """A key and what its writes came to, by status; whose client it is, where a person let one in."""

    key: ApiKey
    ended: bool
    kept: list[tuple[str, int]]
    client: str = ""


@require_safe
@never_cache
@member
def everything(request: Any) -> HttpResponse:
    """Return the keys and the members."""
    request.principal.require(Verb.ADMIN)
    return _page(request)


def _page(request: Any, refusal: Refusal | None = None) -> HttpResponse:
    principal, now = request.principal, timezone.now()
    with access.enter(principal, why="console"):
        every = ApiKey.objects.within(principal.project_id).select_related("grant", "owner")
        page = page_of(every, request.GET, of="agents")
        rows = page.rows
        written = Fragment.objects.within(principal.project_id).filter(grant_id__in={row.grant_id for row in rows})
        written = written.unforked()
        counted = written.order_by().values_list("grant_id", "status").annotate(n=Count("id"))
        counts = Counter({(grant, status): n for grant, status, n in counted})
        clients = {row.key_id: row for row in Authorization.objects.within(principal.project_id).filter(key__in=rows)}
    context = {
        "rows": [
            AgentRow(
                row,
                _has_ended(row, clients.get(row.id), now=now),
                [(word, counts[row.grant_id, word]) for word in Status.values if counts[row.grant_id, word]],
                client=str(clients.get(row.id, "")),
            )
            for row in rows
        ],
        "older": page.older,
        "members": Membership.objects.filter(project=principal.project_id)
        .select_related("user")
        .order_by("user__username"),
        "roles": Role.values,
        "verbs": Verb.values,
        "ceilings": SourceClass.values,
        "all_namespaces": f"{principal.project}:*",
        "users": [(word, word == request.POST.get("users", Users.OPTIONAL), label) for word, label in USERS.items()],
        "kept": request.POST,
        "ticked": request.POST.getlist("verbs") if "ceiling" in request.POST else [Verb.READ, Verb.WRITE],
        "ceiling": request.POST.get("ceiling", SourceClass.TOOL_OUTPUT),
        **flash.pop_message(request),
        "refusal": refusal,
        "now": now,
    }
    return render(request, "console/agents.html", context, status=409 if refusal else 200)


def _has_ended(key: ApiKey, authorization: Authorization | None, *, now: datetime.datetime) -> bool:
    """Return whether nobody can use it again; a client makes its own anew."""
    end = authorization.refreshed_at + authorizations.REFRESH_LIFE if authorization else key.expires_at
    return any(at and at <= now for at in (key.revoked_at, end))


@takes_form
@never_cache
@member
@sensitive_variables("made")
def issue(request: Any) -> HttpResponse:
    """Make a key; its text is shown on the next page and never again."""
    request.principal.require(Verb.ADMIN)
    form = request.POST
    options = keys.KeyRequest(
        namespaces=form.get("namespaces", "").split(),
        verbs=form.getlist("verbs"),
        ceiling=form.get("ceiling", ""),
        may_attest_user=form.get("attest") == "yes",
        may_read_wide=form.get("read_wide") == "yes",
        users=form.get("users", Users.OPTIONAL),
        user_patterns=[line for line in normalise_newlines(form.get("user_patterns", "")).split("\n") if line]
        or every_user(),
    )
    project = Project.objects.get(id=request.principal.project_id)
    owner = form.get("owner", "").strip()[:100] or None
    if owner and ("\0" in owner or owner.startswith(("user:", "client:"))):
        return _page(request, Refusal("This key can’t be made", "Another name for the owner, please."))
    made, refusal = run_action(lambda: keys.issue(project, options, owner=owner, by=request.principal))
    return _page(request, refusal) if made is None else _redirect(request, issued=made.text)


@takes_form
@never_cache
@member
@sensitive_variables("added")
def add_member(request: Any) -> HttpResponse:
    """Take a person into the project; a new person's password is shown on the next page and never again."""
    request.principal.require(Verb.ADMIN)
    project = Project.objects.get(id=request.principal.project_id)
    name, wanted = request.POST.get("username", "").strip(), request.POST.get("role", "")
    added, refusal = run_action(lambda: members.add(project, name, role=wanted, by=request.principal))
    if added is None:
        return _page(request, refusal)
    row = Membership.objects.get(project=project, user__username=name)
    here, its_own = reverse("console:agents"), reverse("console:role", args=[row.user_id])
    offer_undo(request, f"{name} is {wanted}", its_own, there=here, label="Take out again", role="")
    return _redirect(request, added=asdict(added))


@takes_form
@never_cache
@member
def role(request: Any, user_id: int) -> HttpResponse:
    """Give a member another role, or take them out of the project."""
    request.principal.require(Verb.ADMIN)
    project = Project.objects.get(id=request.principal.project_id)
    wanted = request.POST.get("role", "")
    row = Membership.objects.filter(project=project, user=user_id).select_related("user").first()
    _, refusal = run_action(lambda: members.set_role(project, user_id, role=wanted, by=request.principal))
    if refusal or row is None:
        return _page(request, refusal)
    here, name = reverse("console:agents"), row.user.get_username()
    if wanted:
        offer_undo(request, f"{name} is {wanted}", request.path, there=here, role=row.role)
    else:
        back = {"username": name, "role": row.role}
        offer_undo(request, f"{name} is no member any more", reverse("console:add-member"), there=here, **back)
    return HttpResponseRedirect(here, status=303)


@takes_form
@never_cache
@member
@sensitive_variables("made")
def end(request: Any, key_id: str, how: str) -> HttpResponse:
    """Revoke a key at once, or make another in its place (the old one works for a day more)."""
    request.principal.require(Verb.ADMIN)
    if how not in ENDS:
        raise Http404
    project = Project.objects.get(id=request.principal.project_id)
    with access.enter(request.principal, why="console"):
        if not ApiKey.objects.within(project.id).filter(key_id=key_id).exists():
            raise access.NotFound("key")
    options: dict[str, Any] = {"now": timezone.now(), "by": request.principal}
    if how == "rotate":
        made, refusal = run_action(lambda: keys.rotate(project, key_id, **options))
        return _page(request, refusal) if made is None else _redirect(request, issued=made.text, replaced=key_id)
    if request.POST.get("confirm") != "yes":
        return _page(request, Refusal("Nothing was revoked", "Tick that whoever uses this key is locked out."))
    ended, refusal = run_action(lambda: keys.revoke(project, key_id, **options))
    return _page(request, refusal) if ended is None else _redirect(request, revoked=ended.key_id)


def _redirect(request: Any, **message: Any) -> HttpResponse:
    """To the page, which tells it this once: loading that again does nothing anew."""
    response = HttpResponseRedirect(reverse("console:agents"), status=303)
    flash.add_message(request, response, message)
    return response
