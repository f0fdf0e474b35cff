"""More fields, files and parameters than anybody needs are the sender's mistake at every door, and none of ours."""

import pytest
from django.test import Client

MANY = "&".join(f"a{n}=1" for n in range(1001))
FIELDS = {f"f{n}": "1" for n in range(5000)}


def test_a_form_of_5000_fields_is_a_problem(alice):
    answer = alice.client.post("/api/v1/restores", FIELDS)
    assert (answer.status_code, answer.json()["code"]) == (400, "malformed")


def test_a_form_that_breaks_off_is_a_problem(alice):
    content = "multipart/form-data; boundary=x"
    for body in (b"--x\r\n", b'--x\r\nContent-Disposition: form-data; name="upload"; filename="a"\r\n\r\nabc', b""):
        answer = alice.client.generic("POST", "/api/v1/restores", body, content_type=content)
        assert answer.status_code == 400
    answer = alice.client.generic("POST", "/api/v1/restores", b"x", content_type="multipart/form-data")
    assert answer.status_code == 400


@pytest.mark.parametrize(
    "path",
    [
        "/api/schema",
        "/api/docs/",
        "/compat/mem0/v1/ping/",
        "/readyz",
        "/metrics",
        "/healthz",
        "/login/",
        "/",
        "/memories/",
    ]
    + ["/review/", "/admin/"],
)
def test_no_door_fails_on_too_many_parameters(path, alice, vera):
    for client in (alice.client, vera, Client()):
        assert client.get(f"{path}?{MANY}").status_code < 500


@pytest.mark.parametrize(
    "path", ["/login/", "/memories/views/", "/review/decide/", "/backups/upload/", "/admin/login/"]
)
def test_no_form_of_the_console_fails_on_too_many_fields(path, adam):
    assert adam.post(path, FIELDS).status_code in (400, 403)
