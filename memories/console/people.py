"""From a logged-in person to the principal they are in one project."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from memories import access
from memories.access import NotFound, Principal
from memories.models import Membership

View = Callable[..., HttpResponse]


class MemberRequest(HttpRequest):
    """A request that `member` let through."""

    principal: Principal
    projects: list[str]


def member(view: View) -> View:
    """For people who belong to a project; gives the view `request.principal` and `request.projects`.

    The project is `?project=`, else the one chosen last, else the first. Foreign and missing ones answer 404 alike;
    whoever belongs to none gets a page that says what to do.
    """

    @login_required
    @wraps(view)
    def guarded(request: Any, *args: Any, **kwargs: Any) -> HttpResponse:
        request.projects = _projects(request)
        if not request.projects:
            return render(request, "console/no_project.html", status=403)
        principal = access.principal_of_member(request.user, project=_chosen(request))
        if principal is None:
            raise Http404
        request.principal = principal
        try:
            return view(request, *args, **kwargs)
        except NotFound as error:
            raise Http404 from error

    return guarded


def _projects(request: HttpRequest) -> list[str]:
    rows = Membership.objects.filter(user=request.user.pk).order_by("project__name")
    return list(rows.values_list("project__name", flat=True))


def _chosen(request: MemberRequest) -> str:
    """The project's name; a choice in the URL is remembered."""
    wanted = request.GET.get("project", "")
    if wanted and wanted not in request.projects:
        raise Http404
    last: str = request.session.get("project", "")
    chosen = wanted or (last if last in request.projects else request.projects[0])
    if wanted and wanted != last:
        request.session["project"] = wanted
    return chosen
