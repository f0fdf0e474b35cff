"""From a logged-in person to the principal they are in one project."""

from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import urlsplit

from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django_htmx.http import HttpResponseClientRedirect

from memories import access
from memories.access import NotFound, NotPermitted, Principal
from memories.models import Membership

# What says which project a page was made for: a form's field, and a header of requests in the background.
FORM, HEADER = "in_project", "X-NovaMem-Project"
FOLLOWED = ("console:operation", "console:operations")  # the job that deletes a project is one
View = Callable[..., HttpResponse]


class MemberRequest(HttpRequest):
    """A request that `member` let through."""

    principal: Principal
    projects: list[str]


def member(view: View) -> View:
    """For people who belong to a project; give the view `request.principal` and `request.projects`.

    The project is the one that the form or the page was made for, else that of `?project=`: what is done in one tab
    never lands where another tab is. Who has several is led from an address that names none to the one that does.
    Foreign and missing ones answer 404 alike; whoever belongs to none gets a page that says what to do.
    """

    def opened(request: Any, project: str, *args: Any, **kwargs: Any) -> HttpResponse:
        principal = access.principal_of_member(request.user, project=project)
        if principal is None:
            raise Http404
        request.principal = principal
        try:
            return view(request, *args, **kwargs)
        except NotFound as error:
            raise Http404 from error
        except NotPermitted:
            return render(request, "403.html", status=403)

    @wraps(view)
    def guarded(request: Any, *args: Any, **kwargs: Any) -> HttpResponse:
        if not request.user.is_authenticated:
            return _to_login(request)
        request.projects = _projects(request)
        if _follows_what_is_gone(request):
            return HttpResponseClientRedirect(reverse("console:dashboard"))
        if not request.projects:
            return render(request, "console/no_project.html", status=403)
        if _is_nameless(request):
            return _redirect_to_project(
                request, lambda project: opened(request, project, *args, **kwargs), has_id=bool(kwargs)
            )
        return opened(request, _chosen(request), *args, **kwargs)

    return guarded


def _follows_what_is_gone(request: MemberRequest) -> bool:
    """Return whether a page that asks again by itself, of a job, is of a project that is none of the person's now."""
    follows = request.resolver_match is not None and request.resolver_match.view_name in FOLLOWED
    return follows and request.headers.get(HEADER, "") not in ("", *request.projects)


def _is_nameless(request: MemberRequest) -> bool:
    """Return whether it asks for a page that could be of several projects."""
    named = "project" in request.GET or HEADER in request.headers
    return request.method in ("GET", "HEAD") and len(request.projects) > 1 and not named


def _redirect_to_project(
    request: MemberRequest, opened: Callable[[str], HttpResponse], *, has_id: bool
) -> HttpResponse:
    """To the same page of the project where the link to it stood, else where its id is, else of the one chosen last."""
    last = _last(request)
    came_from = QueryDict(urlsplit(_path_here(request, request.headers.get("Referer", ""))).query).get("project")
    if came_from in request.projects or not has_id:
        return _named(request, came_from if came_from in request.projects else last)
    for project in sorted(request.projects, key=lambda name: name != last):
        try:
            opened(project)
        except Http404:
            continue
        return _named(request, project)
    raise Http404


def _named(request: MemberRequest, project: str) -> HttpResponse:
    query = request.GET.copy()
    query["project"] = project
    return HttpResponseRedirect(f"{request.path}?{query.urlencode()}")


def _to_login(request: Any) -> HttpResponse:
    """To the login, and from there to the page that the person stands on: what was posted to can't be got."""
    if request.htmx:
        there = redirect_to_login(_path_here(request, request.headers.get("HX-Current-URL", "")))
        return HttpResponseClientRedirect(there.url)
    is_page = request.method in ("GET", "HEAD")
    return redirect_to_login(
        request.get_full_path() if is_page else _path_here(request, request.headers.get("Referer", ""))
    )


def _path_here(request: HttpRequest, url: str) -> str:
    """Return the path of an address on this server; of any other, the first page."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return reverse("console:dashboard")
    if parts.netloc != request.get_host():
        return reverse("console:dashboard")
    return f"{parts.path}?{parts.query}" if parts.query else parts.path


def _projects(request: HttpRequest) -> list[str]:
    rows = Membership.objects.filter(user=request.user.pk).order_by("project__name")
    return list(rows.values_list("project__name", flat=True))


def _chosen(request: MemberRequest) -> str:
    """The project's name; a choice in the URL or in a form is remembered, that of a page in the background is not."""
    wanted = request.POST.get(FORM, "") or request.GET.get("project", "")
    page = wanted or request.headers.get(HEADER, "")
    if page and page not in request.projects:
        raise Http404
    if request.method == "POST" and not page and len(request.projects) > 1:
        raise Http404  # nobody guesses where a write is meant to go
    if wanted and wanted != request.session.get("project") and HEADER not in request.headers:
        request.session["project"] = wanted
    return page or _last(request)


def _last(request: MemberRequest) -> str:
    """Return the project that was chosen last, at first the first."""
    last: str = request.session.get("project", "")
    return last if last in request.projects else request.projects[0]
