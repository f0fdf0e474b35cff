"""Clients of OpenAI and Anthropic that the Python client gives a memory."""

import anthropic
import httpx2
import openai
import pytest
from novamem_client import with_memory

CHAT = [{"role": "user", "content": "My heron nests behind the old mill."}]


@pytest.fixture(autouse=True)
def short_reply(upstream):
    """Which is not worth keeping."""
    upstream.reply = "Okay."


def test_a_client_of_openai_has_a_memory(web, key, main, upstream, memories, captured):
    with httpx2.Client(trust_env=False) as http:
        plain = openai.OpenAI(api_key="sk-own", http_client=http, max_retries=0)
        client = with_memory(plain, f"{web}/", key, namespace=main, user="Zoë")
        client.chat.completions.create(model="m", messages=CHAT)
        assert plain.api_key == "sk-own"
    captured()
    assert [(row.content, row.namespace.user) for row in memories()] == [(CHAT[0]["content"], "Zoë")]


def test_a_client_of_anthropic_has_a_memory(web, key, main, upstream, memories, captured):
    with anthropic.DefaultHttpxClient(trust_env=False) as http:
        plain = anthropic.Anthropic(api_key="sk-own", http_client=http, max_retries=0)
        with_memory(plain, web, key, namespace=main).messages.create(model="m", max_tokens=9, messages=CHAT)
    captured()
    assert [row.content for row in memories()] == [CHAT[0]["content"]]


def test_a_key_of_ones_own_goes_where_it_may(web, key, main, upstream, settings):
    with httpx2.Client(trust_env=False) as http:
        plain = openai.OpenAI(api_key="sk-own", http_client=http, max_retries=0)
        client = with_memory(plain, web, key, namespace=main, own_key=True)
        with pytest.raises(openai.PermissionDeniedError):
            client.chat.completions.create(model="m", messages=CHAT)
        settings.PROXY_CALLER_KEYS = True
        client.chat.completions.create(model="m", messages=CHAT)
    headers = {name.lower(): value for name, value in upstream.asked[-1].headers.items()}
    assert headers["authorization"] == "Bearer sk-own"


def test_another_kind_of_client_is_refused():
    with pytest.raises(TypeError, match="dict is no client"):
        with_memory({}, "http://x", "k")
