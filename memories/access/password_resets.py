"""A new password by mail: who may have a link, and the worker that sends it."""

from collections.abc import Iterator
from typing import Any

import structlog
from celery import current_app
from django.conf import settings
from django.contrib.auth.forms import PasswordResetForm
from kombu.exceptions import OperationalError as BrokerAway

log = structlog.get_logger(__name__)
SUBJECT, MAIL = "console/reset_subject.txt", "console/reset_mail.txt"


class LinkForm(PasswordResetForm):
    """Django's, which sends a link to each person of an address; operators change their password as the owner."""

    def get_users(self, email: str) -> Iterator[Any]:
        """Return who may have a link."""
        return (user for user in super().get_users(email) if not user.is_superuser)


def has_mail() -> bool:
    """Return whether links are sent: where mail is set up, and ALLOWED_HOSTS says which names are this server's.

    A link leads to the host of the request that asked for it.
    """
    return bool(settings.EMAIL_HOST) and "*" not in settings.ALLOWED_HOSTS


def request_link(email: str, *, host: str, is_secure: bool) -> None:
    """Let a worker send a link, if somebody has this address: asking takes as long whether somebody does or not."""
    try:
        current_app.send_task("memories.tasks.send_reset_link", args=[email, host, is_secure])
    except BrokerAway as error:
        log.warning("broker_away", task="send_reset_link", error=type(error).__name__)


def send_link(email: str, host: str, *, is_secure: bool) -> None:
    """Send each person of an address their link; what the mail server refuses is logged."""
    form = LinkForm({"email": email})
    if has_mail() and form.is_valid():
        form.save(domain_override=host, use_https=is_secure, subject_template_name=SUBJECT, email_template_name=MAIL)
