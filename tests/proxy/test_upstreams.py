"""Several upstreams by name, and keys of the caller's own where the operator allows them."""

import anthropic
import openai
import pytest

from memories.providers import fake_upstream
from tests.proxy.conftest import chat
from tests.proxy.test_chat import ASKED, HERON, USER
from tests.proxy.test_formats import Messages


@pytest.fixture
def fast(settings):
    """Another upstream, which the operator calls fast."""
    with fake_upstream.serving() as running:
        settings.PROXY_UPSTREAMS, settings.PROXY_UPSTREAM_KEYS = {"fast": running.url}, {"fast": "sk-of-the-fast"}
        yield running


def sent(upstream):
    return {name.lower(): value for name, value in upstream.asked[-1].headers.items()}


def test_a_chat_goes_where_its_header_says_with_memory(client, upstream, fast, remember, captured):
    remember(HERON)
    named = client.with_options(default_headers={**client.default_headers, "X-NovaMem-Upstream": "fast"})
    fast.reply = "It nests behind the mill, as far as I know."
    assert named.chat.completions.create(model="fake", messages=USER).choices[0].message.content == fast.reply
    assert "<memory-context" in fast.asked[-1].json["messages"][0]["content"]
    assert sent(fast)["authorization"] == "Bearer sk-of-the-fast"
    assert not [name for name in sent(fast) if name.startswith("x-novamem")]
    assert captured()[0].turns[1]["content"] == fast.reply
    named.models.list()
    assert (fast.asked[-1].path, upstream.asked) == ("/v1/models", [])
    client.chat.completions.create(model="fake", messages=USER)
    assert sent(upstream)["authorization"] == "Bearer sk-of-the-upstream"


def test_messages_go_there_with_the_key_in_their_way(claude, upstream, fast, captured):
    named = claude.with_options(default_headers={"X-NovaMem-Upstream": "fast"})
    Messages(named).ask(ASKED)
    assert sent(fast)["x-api-key"] == "sk-of-the-fast"
    assert "authorization" not in sent(fast)
    captured()


@pytest.mark.parametrize("path", ["chat/completions", "models", "messages"])
def test_a_name_that_is_none_goes_nowhere(path, send, upstream, fast):
    body = {**chat(), "max_tokens": 9}
    refused = send(body, path=f"/v1/{path}", method="GET" if path == "models" else "POST", X_NovaMem_Upstream="slow")
    error = refused.json()["error"]
    assert (refused.status_code, error["code"], error["param"]) == (400, "unknown_upstream", "X-NovaMem-Upstream")
    assert upstream.asked == fast.asked == []


def test_an_upstream_by_name_is_enough(send, upstream, fast, settings):
    settings.PROXY_UPSTREAM_URL = ""
    assert send(chat(), X_NovaMem_Upstream="fast").status_code == 200
    assert send(chat()).json()["error"]["code"] == "no_upstream"


def test_a_callers_own_key_where_it_is_allowed(client, claude, upstream, fast, settings, captured):
    own = {"X-NovaMem-Upstream-Key": "sk-of-the-caller"}
    theirs = client.with_options(default_headers={**client.default_headers, **own})
    with pytest.raises(openai.PermissionDeniedError, match="takes no keys"):
        theirs.chat.completions.create(model="fake", messages=USER)
    assert upstream.asked == []
    settings.PROXY_CALLER_KEYS = True
    theirs.chat.completions.create(model="fake", messages=USER)
    assert sent(upstream)["authorization"] == "Bearer sk-of-the-caller"
    Messages(claude.with_options(default_headers={**own, "X-NovaMem-Upstream": "fast"})).ask(ASKED)
    assert sent(fast)["x-api-key"] == "sk-of-the-caller"
    client.chat.completions.create(model="fake", messages=USER)
    assert sent(upstream)["authorization"] == "Bearer sk-of-the-upstream"
    captured(3)


def test_anthropics_client_lists_the_models_of_its_own_service(claude, client, upstream, settings):
    settings.PROXY_UPSTREAM_URL, settings.PROXY_ANTHROPIC_URL = "", upstream.url
    settings.PROXY_ANTHROPIC_KEY = "sk-ant"
    claude.models.list()
    assert sent(upstream)["x-api-key"] == "sk-ant"
    with pytest.raises(openai.InternalServerError, match="PROXY_UPSTREAM_URL"):
        client.models.list()


def test_anthropics_client_hears_of_a_wrong_name(claude, upstream, fast):
    with pytest.raises(anthropic.BadRequestError, match="No upstream"):
        Messages(claude.with_options(default_headers={"X-NovaMem-Upstream": "slow"})).ask(ASKED)
