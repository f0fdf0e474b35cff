"""Users behind one key and one namespace: their chats never meet (docs/spec.md §2.2)."""

from concurrent.futures import ThreadPoolExecutor, wait
from urllib.parse import quote

import httpx2
import openai
import pytest
from django.utils import timezone

from memories import access, ingest
from memories.ingest import captures
from memories.rest.users import address_of
from tests.proxy.conftest import chat
from tests.proxy.test_reach import ALLERGY, injected

WAYS = {
    "header": lambda user: {"extra_headers": {"X-NovaMem-User": quote(user, safe="")}},
    "user": lambda user: {"user": user},
    "safety_identifier": lambda user: {"safety_identifier": user},
    "session too": lambda user: {"user": user, "extra_headers": {"X-NovaMem-Session": f"of {quote(user)}"}},
}
ALICE, BOB = "zoë/1:*", "bob"


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """However busy the machine is, nobody's memories are missing for want of time."""
    monkeypatch.setattr("memories.proxy.recall.PATIENCE", 60)


@pytest.fixture(params=WAYS)
def chat_turn(request, client, captured, memories):
    """A user says something through the real client; the answer, once a worker made memories of it."""

    def speak(user, text):
        more = WAYS[request.param](user)
        said = [{"role": "user", "content": text}]
        answer = client.chat.completions.with_raw_response.create(model="fake", messages=said, **more)
        captured()
        memories()
        return answer

    return speak


def kept(memories, user):
    return {row.content: row.status for row in memories() if row.namespace.user == user}


def test_what_one_user_says_supersedes_nothing_of_another(chat_turn, upstream, memories):
    upstream.reply = "Okay."
    chat_turn(ALICE, "I live in Lisbon.")
    chat_turn(BOB, "I live in Oslo.")
    assert kept(memories, ALICE) == {"I live in Lisbon.": "active"}
    assert kept(memories, BOB) == {"I live in Oslo.": "active"}


@pytest.fixture
def erase(web, issue):
    """Erases a user."""
    admin = issue(owner="carol", verbs=["read", "write", "admin"])

    def away(user):
        headers = {"Authorization": f"Bearer {admin}"}
        done = httpx2.delete(f"{web}/api/v1/users/{address_of(user)}", headers=headers, trust_env=False)
        assert done.status_code == 200, done.text

    return away


@pytest.mark.parametrize("place", ["main", "other"])
def test_who_is_erased_while_an_answer_streams_stays_so(
    place, client, upstream, captured, memories, erase, service, committed
):
    """Wherever something of them was kept."""
    upstream.reply = "Okay. " * 8
    draft = ingest.Draft(namespace=f"{committed.name}:{place}", content="I live in Lisbon.")
    ingest.store(service.of_user(ALICE), ingest.prepare([draft]), now=timezone.now())
    said = [{"role": "user", "content": "My locker number is 9456."}]
    answer = client.chat.completions.create(model="slow", messages=said, stream=True, user=ALICE)
    next(iter(answer))
    erase(ALICE)
    assert "Okay" in "".join(piece.choices[0].delta.content or "" for piece in answer)
    captured(0)
    assert kept(memories, ALICE) == {}
    client.chat.completions.create(model="fake", messages=said, user=ALICE)
    captured()
    assert kept(memories, ALICE) == {said[0]["content"]: "active"}


def test_an_erasure_waits_for_what_is_being_written_down_and_takes_it_along(
    service, key, main, captured, monkeypatch, committed, erase
):
    speaker = access.principal_of_key(key, now=timezone.now()).of_user(ALICE)
    ingest.store(
        service.of_user(ALICE), ingest.prepare([ingest.Draft(namespace=main, content="Tea.")]), now=timezone.now()
    )
    begun_in, real = captures.scopes_of_chat(speaker, main), access.writable
    with ThreadPoolExecutor(1) as pool:
        erasing = []

        def meanwhile(*given):
            erasing.append(pool.submit(erase, ALICE))
            wait(erasing, timeout=1)
            return real(*given)

        monkeypatch.setattr(access, "writable", meanwhile)
        turn = captures.CapturedTurn("user", "My locker number is 9456.", "t1", 1)
        more = {"namespace": main, "conversation_id": "", "receipt_id": None, "now": timezone.now()}
        assert captures.capture(speaker, [turn], **more, begun_in=begun_in)
        erasing[0].result(60)
    captured(0)


def test_what_one_user_says_stands_in_no_prompt_of_another_who_may_say_the_same(chat_turn, upstream, memories):
    upstream.reply = "Okay."
    chat_turn(ALICE, ALLERGY)
    assert chat_turn(BOB, ALLERGY).headers["X-NovaMem-Injected"] == "0"
    assert injected(upstream) == []
    assert kept(memories, ALICE) == kept(memories, BOB) == {ALLERGY: "active"}
    assert chat_turn(ALICE, "Am I allergic to peanuts?").headers["X-NovaMem-Injected"] == "1"
    assert injected(upstream) == [ALLERGY]


def test_a_chat_sees_what_all_users_may_know_and_without_a_user_only_that(
    client, upstream, remember, memories, captured
):
    remember("The shop opens at nine on weekdays.")
    upstream.reply = "Okay."
    client.chat.completions.create(model="fake", messages=[{"role": "user", "content": ALLERGY}], user=BOB)
    captured()
    memories()
    for question, user, given in (
        ("When does the shop open?", BOB, "The shop opens at nine on weekdays."),
        ("Am I allergic to peanuts?", BOB, ALLERGY),
    ):
        client.chat.completions.create(model="fake", messages=[{"role": "user", "content": question}], user=user)
        assert given in injected(upstream)
    client.chat.completions.create(model="fake", messages=[{"role": "user", "content": "Am I allergic to peanuts?"}])
    assert ALLERGY not in injected(upstream)


def test_the_header_says_it_before_the_body(send, upstream, captured):
    send(chat("I live in Lisbon.", user="body", safety_identifier="other"), X_NovaMem_User="head")
    assert [row.namespace.user for row in captured()] == ["head"]
    assert upstream.asked[-1].json["user"] == "body"
    assert "x-novamem-user" not in {name.lower() for name in upstream.asked[-1].headers}


@pytest.mark.parametrize(
    ("more", "param"),
    [
        *(({"X_NovaMem_User": value}, "X-NovaMem-User") for value in ("", "a%0Ab", "%FF", "u" * 256, "ann, bob")),
        *(({"body": {"user": value}}, "user") for value in ("", 7, ["ann"], "a\u0000b")),
        ({"body": {"safety_identifier": "u" * 256}}, "safety_identifier"),
    ],
)
def test_a_bad_user_is_named_and_the_chat_goes_nowhere(more, param, send, upstream):
    error = send(chat(**more.get("body", {})), **{name: value for name, value in more.items() if name != "body"})
    told = error.json()["error"]
    assert (error.status_code, told["code"], told["param"]) == (400, "invalid_user", param)
    assert upstream.asked == []


def test_a_key_that_requires_users_never_fails_open(issue, send, upstream):
    required = f"Bearer {issue(users='required')}"
    for headers in ({}, {"X-NovaMem-Namespace": None}, {"X_NovaMem_Mode": "recall"}, {"X_NovaMem_Mode": "capture"}):
        answer = send(chat(), Authorization=required, **headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "user_required")
    assert upstream.asked == []
    assert send(chat(), Authorization=required, X_NovaMem_Mode="off").status_code == 200
    assert send(chat(user=BOB), Authorization=required).status_code == 200


def test_the_real_client_takes_a_missing_user_for_its_own_mistake(issue, client, upstream):
    strict = client.with_options(api_key=issue(users="required"))
    with pytest.raises(openai.BadRequestError, match="name the user"):
        strict.chat.completions.create(model="fake", messages=[{"role": "user", "content": "Hello there."}])


def test_a_key_for_no_users_refuses_the_header_and_leaves_the_body_alone(issue, send, upstream, captured):
    alone = f"Bearer {issue(users='none')}"
    refused = send(chat(), Authorization=alone, X_NovaMem_User=BOB)
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "not_permitted")
    assert upstream.asked == []
    assert send(chat("I keep two geese.", user=BOB), Authorization=alone).status_code == 200
    assert [row.namespace.user for row in captured()] == [None]


def test_a_user_whom_the_key_does_not_reach_is_unknown(issue, send, upstream):
    some = f"Bearer {issue(user_patterns=['team-*'])}"
    refused = send(chat(user=BOB), Authorization=some)
    assert (refused.status_code, refused.json()["error"]["code"]) == (404, "user_not_found")
    assert upstream.asked == []
    assert send(chat(user="team-7"), Authorization=some).status_code == 200


def test_a_scope_s_name_is_namespace_and_user(send, upstream, main, captured, memories):
    upstream.reply = "Okay."
    scope = f"{main}/{quote(ALICE, safe='')}"
    for more in ({}, {"user": ALICE}, {"user": ALICE.replace("ë", "e\u0308")}):
        answer = send({**chat(ALLERGY), **more}, X_NovaMem_Namespace=scope)
        assert answer.status_code == 200, answer.json()
    assert {(row.namespace.root_name, row.namespace.user) for row in captured(3)} == {(main, ALICE)}
    memories()
    asked = chat("Am I allergic to peanuts?")
    assert send(asked, X_NovaMem_Namespace=scope).headers["X-NovaMem-Injected"] == "1"
    assert send(asked, X_NovaMem_Namespace=f"{main}/bob").headers["X-NovaMem-Injected"] == "0"


@pytest.mark.parametrize("place", ["header", "body"])
def test_a_scope_of_another_user_than_is_named_is_refused(place, send, upstream, main):
    more, headers = ({"user": BOB}, {}) if place == "body" else ({}, {"X-NovaMem-User": BOB})
    answer = send({**chat(ALLERGY), **more}, X_NovaMem_Namespace=f"{main}/ann", **headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_user")
    assert upstream.asked == []


@pytest.mark.parametrize(("users", "status"), [("none", 403), ("optional", 404)])
def test_a_scope_that_the_key_does_not_reach_is_refused(users, status, send, upstream, issue, main):
    key = issue(users=users, user_patterns=["b*"])
    answer = send(chat(ALLERGY), X_NovaMem_Namespace=f"{main}/ann", Authorization=f"Bearer {key}")
    assert (answer.status_code, upstream.asked) == (status, [])


@pytest.mark.parametrize("rest", ["/", "/a/b", "/%FF", "/%0A"])
def test_what_is_no_scope_s_name_is_no_namespace(rest, send, upstream, main):
    answer = send(chat(ALLERGY), X_NovaMem_Namespace=f"{main}{rest}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "namespace_not_found")
    assert upstream.asked == []
