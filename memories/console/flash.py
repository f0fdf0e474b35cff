"""What the next page tells once: an answer that nobody keeps, such as the text of a new key.

The session holds it encrypted, the browser alone holds what opens it, and both last for one view or a minute.
"""

import json
from collections.abc import Mapping
from typing import Any

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings
from django.http import HttpResponse
from django.views.decorators.debug import sensitive_variables

NAME = "told-once"
SECONDS = 60


@sensitive_variables()
def add_message(request: Any, response: HttpResponse, answer: Mapping[str, Any]) -> None:
    """Keep an answer for the page that the response leads to."""
    key = Fernet.generate_key()
    request.session[NAME] = Fernet(key).encrypt(json.dumps(answer).encode()).decode()
    secure = settings.SESSION_COOKIE_SECURE or request.is_secure()
    response.set_cookie(
        NAME,
        key.decode(),
        max_age=SECONDS,
        path=settings.SESSION_COOKIE_PATH,
        httponly=True,
        samesite="Strict",
        secure=secure,
    )


@sensitive_variables()
def pop_message(request: Any) -> dict[str, Any]:
    """Return the answer, this once; nothing when there is none, or it is too old."""
    if request.method != "GET" or NAME not in request.session:
        return {}
    kept = request.session.pop(NAME)
    try:
        opened = Fernet(request.COOKIES.get(NAME, "").encode()).decrypt(kept.encode(), ttl=SECONDS)
    except (InvalidToken, ValueError):
        return {}
    answer: dict[str, Any] = json.loads(opened)
    return answer
