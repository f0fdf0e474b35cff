"""What passes is not changed, whatever it is; what was said is read out of it all the same."""

import json

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memories.providers.fake_streams import REPLY, completion, events, odd, tool_events, varied
from memories.proxy.formats.answers import AssistantAnswer
from memories.proxy.formats.chat_completions import ANSWER
from tests.proxy.conftest import NAMESPACE, chat

SSE = "text/event-stream; charset=utf-8"
STREAMS = 60


@pytest.mark.long
def test_varied_streams_are_the_same_bytes(web, key, main, upstream, captured):
    headers = {"Authorization": f"Bearer {key}", NAMESPACE: main}
    with httpx2.Client(base_url=web, headers=headers, trust_env=False) as http:
        for seed in range(STREAMS):
            body = {**chat(), "model": "varied", "seed": seed, "stream": True}
            with http.stream("POST", "/v1/chat/completions", json=body) as answer:
                assert b"".join(answer.iter_raw()) == b"".join(varied(seed)), seed
    assert len(captured(STREAMS)) == STREAMS


def test_the_varied_streams_differ():
    streams = [b"".join(varied(seed)) for seed in range(1000)]
    assert len(set(streams)) > 970
    assert {stream.endswith(b"\r") for stream in streams} == {True, False}


def test_a_stream_is_read_however_it_was_cut():
    whole = b"".join(events(REPLY))
    assert ANSWER.read(whole, content_type=SSE) == AssistantAnswer(REPLY, partial=False)
    for seed in range(20):
        pieces = odd(whole, seed=seed)
        assert b"".join(pieces) == whole
        assert ANSWER.read(b"".join(pieces[:-1]), content_type=SSE).partial


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_comments_and_unknown_fields(end):
    first, second = ({"choices": [{"index": 0, "delta": {"content": text}}]} for text in ("naïve ", "漢字"))
    lines = [": hello", "event: message", f"data:{json.dumps(first)}", "", "id: 7", f"data: {json.dumps(second)}", ""]
    body = "".join(line + end for line in [*lines, "data: [DONE]", ""]).encode()
    assert ANSWER.read(body, content_type=SSE) == AssistantAnswer("naïve 漢字", partial=False)


@pytest.mark.parametrize(
    "data",
    [
        "",
        "[]",
        "null",
        "{",
        '{"choices": null}',
        '{"choices": []}',
        '{"choices": [7]}',
        '{"choices": [{"delta": null}]}',
        '{"choices": [{"delta": {"content": ["x"]}}]}',
        '{"choices": [{"index": 1, "delta": {"content": "another choice"}}]}',
        '{"error": {"message": "overloaded"}}',
    ],
)
def test_events_of_another_shape_say_nothing(data):
    good = json.dumps({"choices": [{"index": 0, "delta": {"content": "heron"}}]})
    body = f"data: {good}\n\ndata: {data}\n\ndata: {good}\n\ndata: [DONE]\n\n".encode()
    assert ANSWER.read(body, content_type=SSE) == AssistantAnswer("heronheron", partial=False)


def test_tool_calls_say_nothing():
    assert ANSWER.read(b"".join(tool_events()), content_type=SSE) == AssistantAnswer("", partial=False)
    assert ANSWER.read(json.dumps(completion("", calls=True)).encode(), content_type="application/json").text == ""


def test_a_whole_answer():
    body = json.dumps(completion(REPLY, calls=False)).encode()
    assert ANSWER.read(body, content_type="application/json") == AssistantAnswer(REPLY, partial=False)
    assert ANSWER.read(body[:-9], content_type="application/json") == AssistantAnswer("", partial=True)


@settings(max_examples=40)
@given(st.binary(), st.sampled_from([SSE, "application/json", "", "text/html"]))
def test_any_bytes_can_be_read(body, content_type):
    assert isinstance(ANSWER.read(body, content_type=content_type).text, str)
