"""/login/ and the second factor: a password, a code where somebody has a factor, and the page to have one or not."""

import time
from collections.abc import Callable
from typing import Any

import django_otp
from django import forms
from django.contrib.admin import AdminSite
from django.contrib.admin.forms import AdminPasswordChangeForm
from django.contrib.auth import get_user_model, login
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView, PasswordChangeView, redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render, resolve_url
from django.urls import reverse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods
from django_htmx.http import HttpResponseClientRedirect

from memories.access import logins, password_resets
from memories.console import flash
from memories.models.enums import LoginOutcome

PENDING, PATIENCE = "entering", 300  # seconds between the password and the code
GUARDED = ("console", "admin")
RESETS = ("console:reset", "console:reset-sent", "console:reset-confirm", "console:reset-done")
FREE = {"console:login", "console:logout", "console:code", "console:factor", "admin:login", "admin:logout", *RESETS}


class PasswordForm(AuthenticationForm):
    """A name and a password; refused for a while after too many tries."""

    def clean(self) -> dict[str, Any]:
        """Note the try before the password is looked at."""
        assert self.request is not None
        name = self.cleaned_data.get("username")
        if name and self.cleaned_data.get("password"):
            try:
                self.tried = logins.begin(name, remote_address(self.request), now=timezone.now())
            except logins.Locked as error:
                self.locked = locked_text(error)
                raise forms.ValidationError(self.locked, code="locked") from error
        return super().clean()


class LogIn(LoginView):
    """The first step; whoever has a second factor is not in after it."""

    template_name = "console/login.html"
    authentication_form = PasswordForm
    redirect_authenticated_user = True

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Say whether a password can be had by mail."""
        return super().get_context_data(**kwargs) | {"has_mail": password_resets.has_mail()}

    def form_valid(self, form: Any) -> HttpResponse:
        """In, or on to the code."""
        user = form.get_user()
        if logins.factor_of(user) is None:
            logins.succeed(form.tried.id)
            return super().form_valid(form)
        pending = {"user": user.pk, "backend": user.backend, "tried": form.tried.id, "at": time.time()}
        self.request.session[PENDING] = pending
        return _to("code", self.get_success_url())


def remote_address(request: HttpRequest) -> str:
    """Return where a request comes from."""
    return str(request.META.get("REMOTE_ADDR", ""))


def locked_text(error: logins.Locked) -> str:
    """Return what somebody reads who tried too often."""
    unit = "minute" if error.minutes == 1 else "minutes"
    return f"Too many tries failed. Wait {error.minutes} {unit}, then try again."


def _to(page: str, there: str) -> HttpResponseRedirect:
    return redirect_to_login(there, reverse(f"console:{page}"))


def _next(request: HttpRequest) -> str:
    there = request.POST.get("next", request.GET.get("next", ""))
    allowed = url_has_allowed_host_and_scheme(there, {request.get_host()}, require_https=request.is_secure())
    return there if allowed else resolve_url("console:dashboard")


def _entering(request: Any) -> tuple[Any, dict[str, Any]]:
    """Return who has given the password and not yet the code, and what is kept of that; (None, {}) for nobody."""
    kept = request.session.get(PENDING)
    if kept and time.time() - kept["at"] < PATIENCE:
        return get_user_model()._default_manager.filter(pk=kept["user"], is_active=True).first(), kept
    if request.user.is_authenticated and logins.factor_of(request.user):  # has one since this session began
        return request.user, {}
    return None, {}


@never_cache
@require_http_methods(["GET", "POST"])
@sensitive_variables("code")
def ask_code(request: Any) -> HttpResponse:
    """Return the second step: a code of the app, or a recovery code."""
    user, kept = _entering(request)
    if user is None:
        return _to("login", _next(request))
    wrong = ""
    if request.method == "POST":
        tried, wrong = _checked(request, user)
        if tried:
            logins.succeed(tried, *([kept["tried"]] if kept else []))
            return HttpResponseRedirect(_enter(request, user, kept))
    return render(request, "console/code.html", {"wrong": wrong, "next": _next(request)})


def _checked(request: Any, user: Any) -> tuple[int, str]:
    """Return the try that led in, or 0 and why it did not; `request.proof` is then what the code proved."""
    try:
        tried = logins.begin(user.get_username(), remote_address(request), now=timezone.now())
    except logins.Locked as error:
        return 0, locked_text(error)
    request.proof = logins.check_code(user, request.POST.get("code", ""))
    return (tried.id, "") if request.proof else (0, "This code is not valid. Each works once.")


def _enter(request: Any, user: Any, kept: dict[str, Any]) -> str:
    there = _next(request)
    if kept:
        login(request, user, backend=kept["backend"])
        request.session.pop(PENDING, None)
    if request.proof.name == logins.RECOVERY:
        logins.note(user, LoginOutcome.RECOVERED, address=remote_address(request), now=timezone.now())
    # What the session keeps is that a factor was shown; a recovery code stands for the app.
    django_otp.login(request, logins.factor_of(user))
    return there


@never_cache
@require_http_methods(["GET", "POST"])
@sensitive_variables("told", "codes")
def factor(request: Any) -> HttpResponse:
    """Return one's own second factor: have one, have new recovery codes, have none."""
    if not request.user.is_authenticated:
        return _to("login", request.path)
    wrong = ""
    if request.method == "POST":
        act: Callable[[Any], HttpResponse | str] | None = ACTS.get(request.POST.get("action", ""))
        done = act(request) if act else "Nothing was asked for."
        if isinstance(done, HttpResponse):
            return done
        wrong = done
    return _page(request, wrong)


def _page(request: Any, wrong: str) -> HttpResponse:
    user = request.user
    has = logins.factor_of(user)
    draft = None if has else logins.draft_factor(user)
    context = {
        "has": has,
        "must": logins.must_have_factor(user),
        "picture": logins.picture_of(draft) if draft else "",
        "secret": logins.secret_of(draft) if draft else "",
        "left": logins.codes_left(user),
        "wrong": wrong,
        "next": _next(request),
        **flash.pop_message(request),
    }
    return render(request, "console/factor.html", context, status=409 if wrong else 200)


@sensitive_variables("codes")
def _confirm(request: Any) -> HttpResponse | str:
    if logins.factor_of(request.user):
        return "You have a second factor already."
    try:
        tried = logins.begin(request.user.get_username(), remote_address(request), now=timezone.now())
    except logins.Locked as error:
        return locked_text(error)
    codes = logins.confirm_factor(request.user, request.POST.get("code", ""))
    if not codes:
        return "This is not the code that the app shows now. Is its clock right?"
    logins.succeed(tried.id)
    logins.note(request.user, LoginOutcome.FACTOR_ADDED, address=remote_address(request), now=timezone.now())
    django_otp.login(request, logins.factor_of(request.user))
    return _show_codes(request, codes)


@sensitive_variables("codes")
def _renew(request: Any) -> HttpResponse | str:
    tried, wrong = _checked(request, request.user)
    if not tried:
        return wrong
    logins.succeed(tried)
    return _show_codes(request, logins.new_codes(request.user))


def _remove(request: Any) -> HttpResponse | str:
    tried, wrong = _checked(request, request.user)
    if not tried:
        return wrong
    logins.succeed(tried)
    logins.remove_factor(request.user)
    logins.note(request.user, LoginOutcome.FACTOR_REMOVED, address=remote_address(request), now=timezone.now())
    return HttpResponseRedirect(reverse("console:factor"), status=303)


@sensitive_variables("codes")
def _show_codes(request: Any, codes: list[str]) -> HttpResponse:
    response = HttpResponseRedirect(redirect_to_login(_next(request), reverse("console:factor")).url, status=303)
    flash.add_message(request, response, {"codes": codes})
    return response


ACTS = {"confirm": _confirm, "renew": _renew, "remove": _remove}


class NarrowPassword:
    """A form's password is kept; of an account the pages may write no other column."""

    cleaned_data: dict[str, Any]

    def set_password_and_save(self, user: Any, password_field_name: str = "", commit: bool = True) -> Any:  # Django's
        """Keep the password."""
        user.set_password(self.cleaned_data[password_field_name])
        user.save(update_fields=["password"])
        return user


class OwnPasswordForm(NarrowPassword, AdminPasswordChangeForm):
    """A new password of one's own."""


class Administration(AdminSite):
    """Django's admin: without a login of its own, and without the password of an operator, who may not change it."""

    @method_decorator(never_cache)
    def login(self, request: Any, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Lead to the one login; whoever is in and may not see the admin is told so."""
        if request.user.is_authenticated:
            return render(request, "403.html", status=403)
        return _to("login", _next(request))

    def password_change(self, request: Any, extra_context: dict[str, Any] | None = None) -> Any:
        """Let a person change their own password."""
        if request.user.is_superuser:
            return render(request, "console/operator_password.html", status=403)
        there, context = reverse("admin:password_change_done"), self.each_context(request)
        view = PasswordChangeView.as_view(form_class=OwnPasswordForm, success_url=there, extra_context=context)
        return view(request)


class SecondFactorGate:
    """Lets nobody to a page of the console or of Django's admin who has a second factor and has not shown it in this
    session, or has none where the operator wants one."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request."""
        return self.get_response(request)

    def process_view(self, request: Any, view: Any, args: Any, kwargs: Any) -> HttpResponse | None:
        """Lead away from a page, or do nothing."""
        match = request.resolver_match
        if not match.namespaces or match.namespaces[0] not in GUARDED or match.view_name in FREE:
            return None
        if not request.user.is_authenticated or request.user.is_verified():
            return None
        if logins.factor_of(request.user):
            page = "code"
        elif logins.must_have_factor(request.user):
            page = "factor"
        else:
            return None
        there = _to(page, request.get_full_path() if request.method == "GET" else resolve_url("console:dashboard"))
        return HttpResponseClientRedirect(there.url) if request.htmx else there
