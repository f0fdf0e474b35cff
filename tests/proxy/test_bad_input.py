"""What callers may send, and what they may never reach."""

import json
import socket
from urllib.parse import urlsplit

import openai
import pytest

from memories.providers import fake_upstream
from tests.proxy.conftest import NAMESPACE, chat

pytestmark = pytest.mark.examples


@pytest.mark.parametrize(
    ("body", "param"),
    [
        (b"", None),
        (b"{", None),
        (b"[]", None),
        (b'"text"', None),
        (b"\xff\xfe", None),
        (b'{"messages": NaN}', None),
        (b"[" * 100_000, None),
        ({}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": None}, "messages"),
        ({"messages": "Hello"}, "messages"),
        ({"messages": {"role": "user", "content": "Hello"}}, "messages"),
        ({"messages": ["Hello"]}, "messages[0]"),
        ({"messages": [{"content": "Hello"}]}, "messages[0]"),
        ({"messages": [{"role": 3, "content": "Hello"}]}, "messages[0]"),
        ({"messages": [{"role": "user"}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": None}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": 7}]}, "messages[0].content"),
        ({"messages": [*chat()["messages"], {"role": "tool", "content": ["text"]}]}, "messages[1].content"),
    ],
)
def test_a_bad_request_is_named_and_goes_nowhere(body, param, send, upstream, captured):
    answer = send(body)
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert (set(error), error["type"], error["param"]) == (
        {"message", "type", "param", "code"},
        "invalid_request_error",
        param,
    )
    assert upstream.asked == []
    assert captured(0) == []


def test_content_may_be_null_where_tools_are_called(send, upstream):
    call = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    messages = [*chat()["messages"], {"role": "assistant", "content": None, "tool_calls": [call]}]
    messages.append({"role": "tool", "tool_call_id": "call_1", "content": "Sunny."})
    assert send({"model": "fake", "messages": messages}).status_code == 200


@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "system", "content": "Speak of anything."}],
        [{"role": "user", "content": ""}],
        [{"role": "user", "content": []}],
        [{"role": "user", "content": [{"type": "text", "text": None}, {"type": "image_url"}, {"text": 3}, {}]}],
        [{"role": "narrator", "content": "Once upon a time, long ago."}],
        [{"role": "user", "content": "A lone \ud83d surrogate and a NUL \x00 of mine."}],
        [{"role": "user", "content": "x", "name": "\u202e", "extra": [[[[]]]]}],
    ],
)
def test_strange_chats_are_the_upstreams_business(messages, send, upstream):
    raw = json.dumps({"model": "fake", "messages": messages}).encode()
    assert send(raw).status_code == 200
    assert upstream.asked[-1].json["messages"] == messages


def test_a_question_with_half_a_character_is_answered_from_memory(send, upstream, remember):
    remember("The heron nests behind the old mill.")
    raw = json.dumps(chat("\ud83d Where does the heron nest?")).encode()
    assert send(raw).headers["X-NovaMem-Injected"] == "1"


def test_a_number_that_json_has_not_is_not_made(send, upstream, remember):
    remember("The heron nests behind the old mill.")
    raw = json.dumps(chat()).encode().replace(b'"fake"', b'"fake", "temperature": 1e999')
    assert send(raw).status_code == 200
    assert upstream.asked[-1].body == raw, "passed as it came, without memory"


def test_five_megabytes_pass_and_nine_do_not(send, upstream, captured):
    text = "heron mill " * 476_000
    answer = send(chat(text))
    assert answer.status_code == 200
    assert upstream.asked[-1].json["messages"][0]["content"].startswith(text)
    assert [turn["role"] for turn in captured()[0].turns] == ["assistant"], "a turn that long is no memory"
    refused = send(chat(text * 2))
    assert (refused.status_code, refused.json()["error"]["code"]) == (413, "too_large")
    assert len(upstream.asked) == 1
    captured(1)


def test_a_body_that_does_not_say_its_length_is_measured(web, key, upstream, settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    with socket.create_connection((urlsplit(web).hostname, urlsplit(web).port)) as raw:
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n"
        raw.sendall(f"{head}Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n".encode())
        raw.sendall(b"7d0\r\n" + b" " * 2000 + b"\r\n0\r\n\r\n")
        assert b" 413 " in raw.makefile("rb").readline()
    assert upstream.asked == []


@pytest.mark.parametrize(
    "authorization", [None, "", "Bearer", "Bearer sk-of-the-upstream", "Basic abc", "Bearer nova_x_y_z", "é"]
)
def test_a_bad_key_looks_as_openais_client_expects(authorization, send, upstream, captured):
    for path in ("/v1/chat/completions", "/v1/models", "/v1/anything"):
        answer = send(chat(), path=path, Authorization=authorization and authorization.encode())
        assert answer.status_code == 401
        assert answer.json()["error"]["code"] == "invalid_api_key"
    assert upstream.asked == []
    assert captured(0) == []


def test_openais_client_knows_the_errors(client, upstream):
    with pytest.raises(openai.AuthenticationError, match="Incorrect API key"):
        client.with_options(api_key="sk-x").chat.completions.create(**chat())
    with pytest.raises(openai.NotFoundError, match="no such namespace"):
        client.with_options(default_headers={NAMESPACE: "elsewhere:main"}).chat.completions.create(**chat())
    with pytest.raises(openai.BadRequestError, match="messages"):
        client.chat.completions.create(model="fake", messages=[])
    with pytest.raises(openai.RateLimitError, match="the upstream is busy"):
        client.chat.completions.create(**chat(), extra_body={"model": "busy"})
    with pytest.raises(openai.InternalServerError, match="the upstream is broken"):
        client.chat.completions.create(**chat(), extra_body={"model": "broken"})


@pytest.mark.parametrize("namespace", ["elsewhere:main", "nonsense", "*", "acme:", "a:b:c", "'; DROP", "ACME:main"])
def test_uncovered_and_impossible_namespaces_are_not_found(namespace, send, upstream, captured):
    answer = send(chat(), X_NovaMem_Namespace=namespace)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "namespace_not_found")
    assert upstream.asked == []
    assert captured(0) == []


@pytest.mark.parametrize(("name", "value"), [("X-NovaMem-Mode", "yes"), ("X-NovaMem-Session", "x" * 256)])
def test_headers_that_say_nothing(name, value, send, upstream):
    answer = send(chat(), **{name: value})
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, name)
    assert upstream.asked == []


def test_verbs(send, upstream, issue, remember, captured, main, committed):
    remember("The heron nests behind the old mill.")
    reads, writes = issue(verbs=["read"]), issue(verbs=["write"])
    narrow = issue(namespaces=[f"{committed.name}:side"])
    shared = f"{committed.name}:shared"
    for key, mode, status in (
        (reads, "full", 403),
        (reads, "capture", 403),
        (writes, "full", 403),
        (writes, "recall", 403),
        (reads, "recall", 200),
        (reads, None, 200),
    ):
        assert send(chat(), Authorization=f"Bearer {key}", X_NovaMem_Mode=mode).status_code == status
    assert send(chat(), Authorization=f"Bearer {issue(verbs=['review'])}").status_code == 403
    headers = {"Authorization": f"Bearer {narrow}", "X-NovaMem-Namespace": shared}
    assert send(chat(), **headers, X_NovaMem_Mode="full").status_code == 404
    assert send(chat(), **headers).status_code == 200
    assert captured(0) == []
    assert send(chat(), Authorization=f"Bearer {writes}").headers["X-NovaMem-Injected"] == "0"
    assert len(captured()[0].turns) == 2


def test_only_posts_are_chats(send, upstream):
    for method in ("GET", "PUT", "DELETE"):
        assert send(chat(), method=method).status_code == 405
    assert upstream.asked == []


def test_an_upstream_that_a_caller_names_is_never_asked(send, upstream, web, key):
    with fake_upstream.serving() as private:
        answer = send(
            {**chat(), "base_url": private.url, "api_base": private.url, "upstream": private.url, "url": private.url},
            X_NovaMem_Upstream=private.url,
            X_Upstream_Url=private.url,
            X_Forwarded_Host=private.url,
            X_Base_Url=private.url,
        )
        assert answer.status_code == 200
        for target in (
            f"{private.url}/chat/completions",
            f"http://127.0.0.1:{private.server_port}",
            f"//127.0.0.1:{private.server_port}/v1/models",
            f"/v1/@127.0.0.1:{private.server_port}/x",
            f"/v1/{private.url}/models",
        ):
            ask_raw(web, target, key)
        assert private.asked == []


@pytest.mark.parametrize(
    "path", ["/v1/../admin", "/v1/a/../../admin", "/v1/%2e%2e/admin", "/v1/..%2fadmin", "/v1/..%5cadmin"]
)
def test_nobody_climbs_out_of_the_upstreams_path(path, web, key, upstream):
    assert ask_raw(web, path, key) == 403
    assert upstream.asked == []


def ask_raw(web, target, key):
    """The status of a GET whose target no client has tidied up."""
    with socket.create_connection((urlsplit(web).hostname, urlsplit(web).port)) as raw:
        head = f"GET {target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\nConnection: close\r\n\r\n"
        raw.sendall(head.encode())
        return int(raw.makefile("rb").readline().split()[1])


def test_headers_in_any_letters_pass_as_they_came(send, upstream):
    title = "Zoë's app".encode()
    assert send(chat(), X_Title=title).status_code == 200
    (asked,) = upstream.asked
    assert {name.lower(): value for name, value in asked.headers.items()}["x-title"].encode("latin-1") == title
