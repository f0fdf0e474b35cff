"""Sessions whose rows let nobody in: found by a digest of the cookie, and signed with the cookie."""

import datetime
import hashlib
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.sessions.backends import db
from django.contrib.sessions.models import Session
from django.utils import timezone


def _row_key(cookie: str) -> str:
    return hashlib.sha256(cookie.encode()).hexdigest()[:40]  # as much as Django's column holds


class SessionStore(db.SessionStore):
    """Django's store in the database, whose rows don't say what a browser has to send."""

    @property
    def key_salt(self) -> str:
        """What the content is signed with beside the server's secret."""
        return f"memories.sessions.{self._get_or_create_session_key()}"  # type: ignore[attr-defined]  # no stub has it

    def _get_session_from_db(self) -> Session | None:
        rows = Session.objects.filter(session_key=_row_key(self.session_key or ""), expire_date__gt=timezone.now())
        if (found := rows.first()) is None:
            self._session_key = None
        return found

    def exists(self, session_key: str) -> bool:
        """Return whether there is a session of this cookie."""
        return super().exists(_row_key(session_key))

    def create_model_instance(self, data: dict[str, Any]) -> Any:
        """Return the row of the session."""
        row = super().create_model_instance(data)
        row.session_key = _row_key(row.session_key)
        return row

    def delete(self, session_key: str | None = None) -> None:
        """End a session: this one, or that of a cookie."""
        if cookie := session_key or self.session_key:
            super().delete(_row_key(cookie))

    # Django's own would go by the cookie itself.
    _aget_session_from_db = sync_to_async(_get_session_from_db)
    aexists = sync_to_async(exists)  # type: ignore[arg-type]  # mypy takes them for functions
    acreate_model_instance = sync_to_async(create_model_instance)  # type: ignore[arg-type]
    adelete = sync_to_async(delete)  # type: ignore[arg-type]


def expire(*, now: datetime.datetime) -> int:
    """Delete sessions that are over, and return how many."""
    return Session.objects.filter(expire_date__lt=now).delete()[0]
