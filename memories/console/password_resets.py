"""/login/reset/: a link by mail to a new password, where mail is set up. Nobody learns who has an account."""

from typing import Any

from django.contrib.auth.forms import SetPasswordForm
from django.contrib.auth.views import (
    PasswordResetCompleteView,
    PasswordResetConfirmView,
    PasswordResetDoneView,
    PasswordResetView,
)
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse_lazy
from django.utils import timezone
from django.views.generic.base import TemplateResponseMixin, View

from memories.access import logins, password_resets
from memories.console.logins import NarrowPassword, locked_text, remote_address
from memories.models.enums import LoginOutcome

TEMPLATE = "console/reset.html"


class MailNeeded(TemplateResponseMixin, View):
    """A page that is there only where mail is set up."""

    template_name = TEMPLATE

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer the request. Raise Http404."""
        if not password_resets.has_mail():
            raise Http404
        return super().dispatch(request, *args, **kwargs)


class QueuedLinkForm(password_resets.LinkForm):
    """Takes an address, and leaves it to a worker who has it."""

    def save(self, *args: Any, request: Any = None, use_https: bool = False, **kwargs: Any) -> None:
        """Ask a worker."""
        password_resets.request_link(self.cleaned_data["email"], host=request.get_host(), is_secure=use_https)


class ResetRequest(MailNeeded, PasswordResetView):
    """The address is asked for; asking counts as a try to log in does."""

    form_class = QueuedLinkForm
    success_url = reverse_lazy("console:reset-sent")
    extra_context = {"told": "ask"}

    def form_valid(self, form: Any) -> HttpResponse:
        """Ask for the link, unless this address was asked for too often."""
        try:  # no username holds a space: tries of a login are counted apart
            logins.begin(f"reset {form.cleaned_data['email']}", remote_address(self.request), now=timezone.now())
        except logins.Locked as error:
            form.add_error(None, locked_text(error))
            return self.form_invalid(form)
        return super().form_valid(form)


class ResetSent(MailNeeded, PasswordResetDoneView):
    """What comes next, whether somebody has the address or not."""

    extra_context = {"told": "sent"}


class NewPasswordForm(NarrowPassword, SetPasswordForm):  # type: ignore[type-arg]  # generic for checkers alone
    """A new password, twice."""


class ResetConfirm(MailNeeded, PasswordResetConfirmView):
    """The link: a new password, which ends all sessions and is noted beside the logins."""

    form_class = NewPasswordForm
    success_url = reverse_lazy("console:reset-done")
    extra_context = {"told": "new"}

    def get_user(self, uidb64: str) -> Any:
        """Return whose link it is, if they may log in and are no operator."""
        found: Any = super().get_user(uidb64)
        return found if found and found.is_active and not found.is_superuser else None

    def form_valid(self, form: Any) -> HttpResponse:
        """Keep the password."""
        with transaction.atomic():
            answer = super().form_valid(form)
            address = remote_address(self.request)
            logins.note(self.user, LoginOutcome.PASSWORD_RESET, address=address, now=timezone.now())
        return answer


class ResetDone(MailNeeded, PasswordResetCompleteView):
    """On to the login."""

    extra_context = {"told": "done"}
