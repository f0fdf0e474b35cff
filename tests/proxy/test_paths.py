"""What of the operator's account at the upstream a key reaches: what computes, and what its grant names."""

import httpx2
import pytest

from memories.access import keys

pytestmark = pytest.mark.examples

STATEFUL = [
    *[("DELETE", "files/file-abc"), ("GET", "files"), ("POST", "files"), ("GET", "assistants")],
    *[("POST", "fine_tuning/jobs"), ("GET", "organization/admin_api_keys"), ("GET", "responses/resp_1")],
    *[("DELETE", "models/ft:x"), ("POST", "batches"), ("GET", "vector_stores"), ("GET", "chat/completions/c1")],
    *[("POST", "responses/resp_1/cancel"), ("PATCH", "models/x"), ("OPTIONS", "files"), ("POST", "models")],
]


@pytest.mark.parametrize(("method", "path"), STATEFUL)
def test_stored_state_of_the_account_is_refused_to_a_key_without_a_grant(method, path, send, upstream, issue):
    for key in (issue(), issue(verbs=["read"]), issue(verbs=["read", "write", "review", "admin"])):
        answer = send({}, method=method, path=f"/v1/{path}", Authorization=f"Bearer {key}")
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "path_not_permitted")
    assert upstream.asked == []


@pytest.mark.parametrize(
    "path", ["//files", "files/", "models/../files", "models/%2e%2e/files", "FILES", "models//files"]
)
def test_a_path_that_is_spelled_otherwise_reaches_no_stored_state(path, send, upstream):
    send({}, method="GET", path=f"/v1/{path}")
    assert all(asked.path.startswith("/v1/models") for asked in upstream.asked)


@pytest.mark.parametrize("up", ["..;", "..;v=1", "%252e%252e", "%25252e.", ".%2e%3b", "..%255c"])
def test_no_spelling_of_the_way_up_reaches_the_upstream(up, send, upstream):
    answer = send({}, method="GET", path=f"/v1/models/{up}/files")
    assert (answer.status_code, upstream.asked) == (404, [])


def test_a_path_that_is_encoded_over_and_over_is_none(send, upstream):
    answer = send({}, method="GET", path=f"/v1/models/%{'25' * 3000}")
    assert (answer.status_code, upstream.asked) == (404, [])


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "models"), ("GET", "models/gpt"), *[("POST", p) for p in ("embeddings", "moderations", "audio/speech")]],
)
def test_what_only_computes_passes_for_a_key_that_reads(method, path, send, upstream, issue):
    answer = send({}, method=method, path=f"/v1/{path}", Authorization=f"Bearer {issue(verbs=['read'])}")
    assert answer.status_code == 200
    assert upstream.asked[-1].path == f"/v1/{path}"


@pytest.mark.parametrize(("method", "path"), [("GET", "models"), ("POST", "chat/completions")])
def test_too_many_parameters_are_no_failure_of_ours(method, path, send, upstream):
    many = "&".join(f"a{n}=1" for n in range(1001))
    assert send({}, method=method, path=f"/v1/{path}?{many}").status_code < 500


def test_a_grant_names_what_passes_further(send, upstream, issue):
    key = issue(upstream_paths=["GET files/*", "batches"])

    def status(method, path, *, of=key):
        return send({}, method=method, path=f"/v1/{path}", Authorization=f"Bearer {of}").status_code

    assert [status("GET", "files/file-abc"), status("POST", "batches"), status("GET", "batches")] == [200] * 3
    assert [status("DELETE", "files/file-abc"), status("GET", "files"), status("GET", "assistants")] == [403] * 3
    reads = issue(upstream_paths=["files*"], verbs=["read"])
    assert [status("GET", "files/x", of=reads), status("DELETE", "files/x", of=reads)] == [200, 403]


@pytest.mark.parametrize("pattern", ["", "get files", "GET  files", "files?x", "/files", "a" * 201, "GET files\0"])
def test_a_pattern_that_names_no_path_is_refused(pattern, committed):
    wish = keys.KeyRequest(
        namespaces=[f"{committed.name}:*"], verbs=["read"], ceiling="inference", upstream_paths=[pattern]
    )
    with pytest.raises(keys.BadGrant, match="upstream path"):
        keys.issue(committed, wish, owner=None)


def test_no_cookie_of_the_upstream_is_kept_sent_or_handed_on(send, upstream):
    for _ in range(2):
        answer = send({}, path="/v1/embeddings", Cookie="mine=1")
        assert "Set-Cookie" not in answer.headers
    assert [asked for asked in upstream.asked if "cookie" in {name.lower() for name in asked.headers}] == []


@pytest.mark.parametrize("header", ["x-api-key", "x-goog-api-key", "api-key"])
def test_a_callers_key_for_another_service_stays_here(header, web, key, upstream):
    headers = {"Authorization": f"Bearer {key}", header: "SECRETX"}
    with httpx2.Client(trust_env=False) as http:
        assert http.post(f"{web}/v1/embeddings", headers=headers, json={}).status_code == 200
    assert "SECRETX" not in str(upstream.asked[-1].headers)
