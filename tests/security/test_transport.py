"""Behind a proxy that ends TLS: cookies, HSTS, who asks; and what is told to whom."""

import json

import httpx2
import pytest

from tests.conftest import web_server

pytestmark = pytest.mark.long  # each starts processes

TOKEN = "of the scraper"
NAME = "memory.example.org"
PROXIED = {"Host": NAME, "X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.9"}


@pytest.fixture(scope="module")
def behind(web_environment):
    """A client of a server behind TLS."""
    settings = {"BEHIND_TLS": "true", "METRICS_TOKEN": TOKEN, "ALLOWED_HOSTS": f"127.0.0.1,{NAME}"}
    with (
        web_server({**web_environment, **settings}) as url,
        httpx2.Client(base_url=url, trust_env=False, timeout=60) as client,
    ):
        yield client


def test_behind_tls_cookies_are_secure_and_browsers_told_to_come_back_so(behind):
    page = behind.get("/login/", headers=PROXIED)
    assert "; Secure" in page.headers["Set-Cookie"]
    assert page.headers["Strict-Transport-Security"] == "max-age=31536000"
    assert "Server" not in page.headers


def test_a_form_from_the_own_origin_is_taken_behind_tls(behind):
    page = behind.get("/login/", headers=PROXIED)
    token = page.headers["Set-Cookie"].split("csrftoken=")[1].split(";")[0]
    form = {"username": "nobody", "password": "wrong", "csrfmiddlewaretoken": token}
    sent = {**PROXIED, "Cookie": f"csrftoken={token}"}
    own, foreign = (
        behind.post("/login/", data=form, headers={**sent, "Origin": origin})
        for origin in (f"https://{NAME}", "https://elsewhere.example")
    )
    assert (own.status_code, foreign.status_code) == (200, 403)


def test_metrics_are_told_afar_by_token_only(behind):
    def status(**headers):
        return behind.get("/metrics", headers=headers).status_code

    assert status() == 200, "on this machine"
    assert status(**PROXIED) == 401
    assert status(**PROXIED, Authorization="Bearer wrong") == 401
    assert status(**PROXIED, Authorization=f"Bearer {TOKEN}") == 200


def test_readiness_tells_strangers_states_and_no_details(behind):
    def details(**headers):
        parts = behind.get("/readyz", headers=headers).json()["parts"]
        assert parts["embedder"]["state"] == "ok"
        return [name for name, part in parts.items() if "detail" in part]

    assert details(**PROXIED) == []
    assert "embedder" in details()
    assert "embedder" in details(**PROXIED, Authorization=f"Bearer {TOKEN}")


def test_without_tls_nobody_says_for_whom_they_ask(web):
    answer = httpx2.get(f"{web}/metrics", headers={"X-Forwarded-For": "127.0.0.1"}, trust_env=False)
    assert (answer.status_code, answer.json()["code"]) == (403, "not_permitted")
    page = httpx2.get(f"{web}/login/", headers={"X-Forwarded-Proto": "https"}, trust_env=False)
    assert "Strict-Transport-Security" not in page.headers


def test_the_admin_has_the_same_policy_of_content(anonymous, db):
    policies = {anonymous.get(path, follow=True)["Content-Security-Policy"] for path in ("/admin/", "/login/")}
    assert len(policies) == 1
    assert "unsafe" not in policies.pop()


def test_a_wrong_host_gets_a_problem_and_a_line_in_the_log(web_environment, tmp_path):
    path = tmp_path / "log"
    with path.open("w") as log, web_server({**web_environment, "LOG_FORMAT": "json"}, log=log) as url:
        for there in ("/api/v1/fragments", "/compat/mem0/v1/memories/", "/v1/models", "/login/"):
            answer = httpx2.get(url + there, headers={"Host": "evil.example"}, trust_env=False, timeout=60)
            assert answer.status_code == 400
            told = answer.headers["Content-Type"]
            if there == "/login/":
                assert told.startswith("text/html")
            elif there == "/v1/models":
                assert answer.json()["error"]["code"] == "malformed"
            else:
                assert told == "application/problem+json"
                assert (answer.json()["code"], answer.json()["detail"]) == (
                    "malformed",
                    "This host is not served here.",
                )
    told = path.read_text()
    assert "Traceback" not in told
    lines = [line for line in told.splitlines() if "evil.example" in line]
    assert len(lines) == 4
    assert "Invalid HTTP_HOST header" in json.loads(lines[0])["event"]
