"""Addresses that only take a form: opened again, such as after a refusal or a login, they lead to the page above."""

from functools import wraps
from typing import Any

from django.http import HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.urls import Resolver404, get_script_prefix, resolve

from memories.console.auth import View


def takes_form(view: View) -> View:
    """Let POST through; whoever opens the address comes to the page above it, anything else is a 405."""

    @wraps(view)
    def answered(request: Any, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.method == "POST":
            return view(request, *args, **kwargs)
        if request.method not in ("GET", "HEAD"):
            return HttpResponseNotAllowed(["POST"])
        query = f"?{asked}" if (asked := request.META.get("QUERY_STRING")) else ""
        return HttpResponseRedirect(get_script_prefix() + page_above(request.path_info).removeprefix("/") + query)

    return answered


def page_above(path: str) -> str:
    """Return the nearest address above a path at which there is something; at last that is the dashboard."""
    above = path.rstrip("/").rpartition("/")[0] + "/"
    try:
        resolve(above)
    except Resolver404:
        return page_above(above)
    return above
