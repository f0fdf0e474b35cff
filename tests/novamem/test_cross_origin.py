"""Pages of other origins may ask with a key where the operator says so (CORS)."""

from typing import Any

import httpx2
import pytest

from memories.access import keys
from tests.conftest import web_server

APP = "https://app.example.com"
ASKED = {"Origin": APP, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
ALLOWED = "Access-Control-Allow-Origin"
PATHS = ("/api/v1/search", "/v1/chat/completions", "/v1/messages", "/compat/mem0/v1/memories/", "/api/v1/events")


@pytest.mark.long
@pytest.mark.parametrize(("origins", "told"), [(f"https://other.example.com,{APP}", APP), ("*", "*")])
def test_origins_that_are_allowed(origins: str, told: str, committed: Any, web_environment: dict[str, str]) -> None:
    key = keys.issue(committed, keys.KeyRequest([f"{committed.name}:*"], ["read"], "tool_output"), owner=None).text
    with (
        web_server({**web_environment, "CORS_ALLOWED_ORIGINS": origins}) as url,
        httpx2.Client(base_url=url, trust_env=False, timeout=60) as page,
    ):
        for path in PATHS:
            preflight = page.options(path, headers=ASKED)
            assert (preflight.status_code, preflight.headers[ALLOWED]) == (200, told), path
            assert "POST" in preflight.headers["Access-Control-Allow-Methods"]
            assert "authorization" in preflight.headers["Access-Control-Allow-Headers"]
            assert "Access-Control-Allow-Credentials" not in preflight.headers
        for headers in ({"Authorization": f"Bearer {key}"}, {}):
            answer = page.get("/api/v1/namespaces", headers={"Origin": APP, **headers})
            assert (answer.status_code, answer.headers[ALLOWED]) == (200 if headers else 401, told)
            assert answer.headers["Access-Control-Expose-Headers"] == "*"
        assert ALLOWED not in page.get("/login/", headers={"Origin": APP}).headers, (
            "pages of people are for nobody else"
        )
        stranger = page.options(PATHS[0], headers={**ASKED, "Origin": "https://evil.example.com"})
        assert stranger.headers.get(ALLOWED) == ("*" if told == "*" else None)


def test_by_default_there_are_none(web: str) -> None:
    for path in PATHS:
        answer = httpx2.options(f"{web}{path}", headers=ASKED, trust_env=False)
        assert not [name for name in answer.headers if name.lower().startswith("access-control")]
