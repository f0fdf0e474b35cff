"""/namespaces/users/: the people behind agents; what is kept of each, handed out and erased."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from memories import erasure
from memories.access import NotFound, users
from memories.console.auth import member
from memories.console.errors import Refusal, run_action
from memories.console.explorer_query import ALL, ExplorerQuery, place_asked
from memories.console.form_addresses import takes_form
from memories.console.namespaces import names
from memories.console.pagination import PAGE
from memories.console.snippets import KEY, get_curl, server_url
from memories.console.undo_strip import held_in, show_done
from memories.models.enums import Verb
from memories.rest.users import address_of, exported, user_at


@dataclass(frozen=True, slots=True)
class UserRow:
    """What a namespace holds of the user; the numbers lead to the memories."""

    namespace: str
    memories: int
    url: str
    by_status: list[tuple[str, int, str]]
    tombstones: int
    newest: Any


@require_safe
@never_cache
@member
def everybody(request: Any) -> HttpResponse:
    """Return the users by name, page by page; a name that is typed in leads to its page."""
    principal = request.principal
    namespace, wanted = place_asked(request.GET)
    refusal = None
    if wanted:
        try:
            users.count_holdings(principal, wanted, namespace or None)
            return HttpResponseRedirect(_its_own(request, address_of(wanted)))
        except NotFound:
            refusal = Refusal("No such user", "Names are compared exactly, capitals and spaces too.")
    after = user_at(request.GET["cursor"]) if request.GET.get("cursor") else ""
    found = users.known_users(principal, namespace or None, after=after, limit=PAGE + 1)
    older = ""
    if len(found) > PAGE:
        there = request.GET.copy()
        there.pop("user", None)
        there["cursor"] = address_of(found[PAGE - 1].user)
        older = f"{reverse('console:users')}?{there.urlencode()}"
    base = server_url(request)
    context = {
        "rows": found[:PAGE],
        "older": older,
        "continued": bool(after),
        "namespace": namespace,
        "names": names(principal),
        "typed": wanted,
        "refusal": refusal,
        "now": timezone.now(),
        "curls": [("This list", get_curl(base, "/api/v1/users", namespace=namespace))],
    }
    return render(request, "console/users.html", context, status=404 if refusal else 200)


def _its_own(request: Any, address: str) -> str:
    """Return the page of a user, with what the address says of project and namespace."""
    kept = {name: request.GET[name] for name in ("project", "namespace") if request.GET.get(name)}
    there = reverse("console:user", args=[address])
    return f"{there}?{urlencode(kept)}" if kept else there


@require_safe
@never_cache
@member
def one(request: Any, address: str) -> HttpResponse:
    """Return what is kept of a user."""
    return _page(request, address)


def _page(request: Any, address: str, refusal: Refusal | None = None) -> HttpResponse:
    principal, user, namespace = request.principal, user_at(address), _namespace(request)
    if address != address_of(user):
        raise Http404  # one address for each
    held = users.count_holdings(principal, user, namespace)
    several = len(request.projects) > 1
    explorer_query = ExplorerQuery(project=principal.project if several else "", user=user, status=ALL)
    rows = [
        UserRow(
            one.namespace,
            sum(one.memories.values()),
            explorer_query.url(namespace=one.namespace),
            [
                (word, n, explorer_query.url(namespace=one.namespace, status=word))
                for word, n in sorted(one.memories.items())
            ],
            one.tombstones,
            one.newest,
        )
        for one in held
    ]
    may_act = Verb.ADMIN in principal.verbs
    base, path = server_url(request), f"/api/v1/users/{address}"
    params = {"namespace": namespace or ""}
    count = _count(request, user, namespace) if may_act else 0
    curls = [("All of this user", get_curl(base, f"{path}/export", **params))]
    if may_act:
        query = urlencode({name: value for name, value in {**params, "expected_count": count}.items() if value != ""})
        curls.append(("Erase", f"curl -X DELETE '{base}{path}?{query}' {KEY}"))
    context = {
        "whose": user,
        "address": address,
        "namespace": namespace,
        "rows": rows,
        "memories": sum(row.memories for row in rows),
        "everything": explorer_query.url(namespace=namespace or ""),
        "may_act": may_act,
        "count": count,
        "refusal": refusal,
        "now": timezone.now(),
        "curls": curls,
    }
    return render(request, "console/user.html", context, status=409 if refusal else 200)


def _namespace(request: Any) -> str | None:
    """Return the namespace that the page is about; all of the project when none is named. Raise Http404."""
    namespace, user = place_asked(request.GET)
    if user:
        raise Http404
    return namespace or None


def _count(request: Any, user: str, namespace: str | None) -> int:
    """Return how many memories an erasure takes: those that stand, and what is left of those that are gone."""
    now = timezone.now()
    return erasure.erase_user(request.principal, user, namespace, expected=None, dry_run=True, now=now).count


@require_safe
@never_cache
@member
def export(request: Any, address: str) -> HttpResponse:
    """Return all that is kept of a user, as a file."""
    content = exported(request.principal, user_at(address), _namespace(request), now=timezone.now())
    response = JsonResponse(content, json_dumps_params={"indent": 1, "ensure_ascii": False})
    # The user's name is a stranger's text: no part of it goes into a file's name.
    response["Content-Disposition"] = f'attachment; filename="user-{content["exported_at"]:%Y%m%dT%H%M%S}.json"'
    return response


@takes_form
@member
def erase(request: Any, address: str) -> HttpResponse:
    """Erase all that is kept of a user, once the number of it was typed."""
    principal = request.principal
    principal.require(Verb.ADMIN)
    user, namespace = user_at(address), _namespace(request)
    text = request.POST.get("confirm", "").strip()
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        return _page(request, address, Refusal("Nothing was erased", "Type how many memories are erased."))
    now = timezone.now()
    done, refusal = run_action(lambda: erasure.erase_user(principal, user, namespace, expected=int(text), now=now))
    if done is None:
        return _page(request, address, refusal)
    message = f"A user is erased: {done.count} {'memory' if done.count == 1 else 'memories'}, every copy"
    there = reverse("console:users")
    show_done(request, message, there=there, more=held_in(done.backups))
    return HttpResponseRedirect(there, status=303)
