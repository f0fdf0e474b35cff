"""Much is taken in only from who is known: a valid key, or somebody logged in."""

import datetime
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest
from django.contrib.auth import get_user_model
from django.contrib.sessions.backends.db import SessionStore
from django.db import OperationalError
from django.test import Client
from django.utils import timezone

from memories import access
from memories.access import keys
from memories.models import Membership, Seat
from memories.rest import authentication
from novamem import request_limits, sender_check
from novamem.asgi_bridge import Pages
from novamem.request_limits import Bounded
from tests.conftest import take_away
from tests.novamem import test_request_limits

MUCH = b"a" * (request_limits.LITTLE + 2)


@pytest.fixture(params=[lambda: Pages(threads=1), Bounded], ids=["pages", "streams"])
def send(request: Any, settings: Any, committed: Any, door: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Sends a body with these headers and answers (status, code or text): by its length, or in chunks."""
    settings.ROOT_URLCONF, settings.DATA_UPLOAD_MAX_MEMORY_SIZE = test_request_limits.__name__, 1
    monkeypatch.setattr(request_limits, "LINGER", 0.5)
    address, port = door(request.param())

    def post(path: str, *, chunked: bool = False, body: Any = MUCH, **headers: str) -> tuple[int, str]:
        content = iter([body[:9], body[9:]]) if chunked else body
        url = f"http://{address}:{port}{path}"
        answer = httpx2.post(url, content=content, headers=headers, trust_env=False, timeout=60)
        if answer.status_code == httpx2.codes.OK:
            return answer.status_code, answer.text
        told = answer.json()
        return answer.status_code, (told.get("error") or told)["code"]

    return post


@pytest.fixture
def issued(committed: Any) -> Any:
    """A key of an administrator of the project."""
    return keys.issue(committed, keys.KeyRequest([f"{committed.name}:*"], ["admin"], "tool_output"), owner="alice")


@pytest.fixture
def ada(committed: Any) -> Iterator[Any]:
    """Somebody who may log in."""
    user = get_user_model()._default_manager.create_user("ada-of-the-senders")
    yield user
    take_away(user.pk)


@pytest.mark.examples
@pytest.mark.parametrize("path", ["/api/v1/restores", "/v1/files"])
@pytest.mark.parametrize("chunked", [False, True])
def test_strangers_send_little(send: Any, issued: Any, path: str, chunked: bool) -> None:
    forged = f"Bearer {issued.text[:-1]}{'1' if issued.text[-1] != '1' else '2'}"
    for headers in ({}, {"Authorization": forged}, {"Authorization": "Bearer é"}, {"Cookie": "sessionid=nobody"}):
        told = {name: value.encode() for name, value in headers.items()}
        assert send(path, chunked=chunked, **told) == (401, "unauthenticated")
        assert send(path, chunked=chunked, body=b"a" * 12, **told) == (200, "12")
    assert send(path, chunked=chunked, Authorization=f"Bearer {issued.text}") == (200, str(len(MUCH)))


@pytest.mark.examples
@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize(
    ("places", "verbs"), [("*", ["read"]), ("*", ["read", "write", "review"]), ("main", ["read", "write", "admin"])]
)
def test_a_bundle_is_only_taken_in_from_an_administrator_of_it_all(
    send: Any, committed: Any, places: str, verbs: list[str], chunked: bool
) -> None:
    """Before a byte of it lies on the disk."""
    key = keys.issue(committed, keys.KeyRequest([f"{committed.name}:{places}"], verbs, "tool_output"), owner="bob").text
    told = {"Authorization": f"Bearer {key}"}
    assert send("/api/v1/restores", chunked=chunked, **told) == (403, "not_permitted")
    assert send("/v1/files", chunked=chunked, **told) == (200, str(len(MUCH)))


def test_so_many_uploads_are_on_their_way_at_a_time(
    send: Any, issued: Any, committed: Any, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.UPLOADS_PER_KEY = 1
    other = keys.issue(committed, keys.KeyRequest([f"{committed.name}:*"], ["read"], "tool_output"), owner="bob").text
    held, told = threading.Event(), {"Authorization": f"Bearer {issued.text}"}

    def slowly() -> Iterator[bytes]:
        yield MUCH
        assert held.wait(30)

    with ThreadPoolExecutor(1) as thread:
        first = thread.submit(send, "/v1/files", body=slowly(), **told)
        while not Seat.objects.filter(kind="upload").exists():
            time.sleep(0.02)
        assert send("/v1/files", **told) == (429, "rate_limited")
        assert send("/v1/files", Authorization=f"Bearer {other}")[0] == 200, "another key has seats of its own"
        held.set()
        assert first.result(30) == (200, str(len(MUCH)))
    while Seat.objects.filter(kind="upload").exists():
        time.sleep(0.02)
    assert send("/v1/files", **told)[0] == 200


def test_an_upload_keeps_its_seat_while_it_goes_on(send: Any, issued: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """And loses it soon after its server was killed."""
    monkeypatch.setattr(sender_check, "TELL", 0.0)
    ends: list[datetime.datetime] = []

    def slowly() -> Iterator[bytes]:
        for _ in range(3):
            yield MUCH
            deadline = time.monotonic() + 30
            while time.monotonic() < deadline:
                found = Seat.objects.filter(kind="upload").values_list("until", flat=True).first()
                if found and (not ends or found > ends[-1]):
                    ends.append(found)
                    break
                time.sleep(0.02)

    assert send("/v1/files", body=slowly(), Authorization=f"Bearer {issued.text}")[0] == 200
    assert len(ends) == 3
    assert ends[-1] < timezone.now() + sender_check.LEASE


def test_a_key_that_ended_opens_nothing(send: Any, issued: Any, committed: Any) -> None:
    with access.enter(access.system_principal(committed), why="test"):
        issued.row.expires_at = timezone.now() - datetime.timedelta(seconds=1)
        issued.row.save()
    assert send("/api/v1/restores", Authorization=f"Bearer {issued.text}") == (401, "unauthenticated")


def test_who_is_logged_in_may_send_much(send: Any, ada: Any, committed: Any) -> None:
    membership = Membership.objects.create(user=ada, project=committed, role="reviewer")
    browser = Client()
    browser.force_login(ada)
    session = browser.cookies["sessionid"].value
    assert send("/v1/files", Cookie=f"theme=dark; sessionid={session}") == (200, str(len(MUCH)))
    assert send("/api/v1/restores", Cookie=f"theme=dark; sessionid={session}") == (403, "not_permitted")
    membership.role = "admin"
    membership.save()
    assert send("/api/v1/restores", Cookie=f"theme=dark; sessionid={session}") == (200, str(len(MUCH)))
    browser.logout()
    assert send("/api/v1/restores", Cookie=f"sessionid={session}") == (401, "unauthenticated")
    nobodys = SessionStore()
    nobodys.create()
    assert send("/api/v1/restores", Cookie=f"sessionid={nobodys.session_key}") == (401, "unauthenticated")
    nobodys.delete()


def test_nobody_is_known_while_the_database_is_away(send: Any, issued: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def away() -> None:
        raise OperationalError

    monkeypatch.setattr(authentication, "connect", away)
    assert send("/api/v1/restores", Authorization=f"Bearer {issued.text}") == (503, "database_unavailable")
