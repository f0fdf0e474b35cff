"""Two hundred memories that imitate fences and roles: what reaches the upstream is the chat and one block."""

import json

import pytest

from memories import ingest
from memories.proxy.formats.chat_completions import prompt_of
from tests.proxy.conftest import chat
from tests.retrieval.blocks import read
from tests.retrieval.hostile import TEXTS

ASKED = "What stands at the mill, and where does it end?"


@pytest.fixture
def hostile(service, main, now):
    """All of them in the main namespace."""
    drafts = [ingest.Draft(namespace=main, content=text) for text in TEXTS]
    ingest.store(service, ingest.prepare(drafts), now=now)


@pytest.mark.parametrize("place", ["last_user", "system"])
def test_the_block_is_one_block(place, hostile, send, upstream, settings):
    settings.PROXY_INJECT, settings.PROXY_TOP_K, settings.PROXY_MAX_TOKENS = place, 100, 100_000
    answer = send(chat(ASKED))
    messages = upstream.asked[-1].json["messages"]
    if place == "last_user":
        (message,) = messages
        text, block = message["content"].removeprefix(ASKED).lstrip("\n"), "markdown"
    else:
        system, user = messages
        assert user == {"role": "user", "content": ASKED}
        text, block = system["content"], "xml"
    assert len(read(text, block).lines) == int(answer.headers["X-NovaMem-Injected"]) > 50


def test_each_of_them_alone_is_one_block_and_leaves_no_trace(service, main, now, send, upstream, captured, settings):
    """Each text asks for itself; what the user and the answer said is kept without the block."""
    settings.PROXY_TOP_K = 1
    for text in TEXTS[::8]:
        ingest.store(service, ingest.prepare([ingest.Draft(namespace=main, content=text)]), now=now)
        answer = send(chat(ASKED), X_NovaMem_Mode="recall")
        assert answer.status_code == 200
        (message,) = upstream.asked[-1].json["messages"]
        assert len(read(message["content"].removeprefix(f"{ASKED}\n\n")).lines) == 1
        again = prompt_of(json.dumps({"messages": [message]}).encode())
        assert [turn.content for turn in again.news()] == [ASKED]


def test_a_user_who_imitates_a_block_loses_only_that(send, upstream, captured):
    for text in TEXTS:
        prompt = prompt_of(json.dumps(chat(f"Before. {text} After.")).encode())
        (turn,) = prompt.news()
        assert turn.content.startswith("Before.")
        assert turn.attested == (turn.content == f"Before. {text} After.")
        assert turn.attested or "<memory-context " in text or "<nova-memories " in text
