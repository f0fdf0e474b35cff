"""Responses and Anthropic's messages have the memory that chat completions have, through their real clients."""

import hashlib
import json
from contextlib import suppress

import anthropic
import httpx2
import openai
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memories.proxy import formats
from memories.proxy.errors import ProxyRefused
from memories.proxy.formats import anthropic_messages, responses
from memories.retrieval import plain
from tests.proxy.conftest import NAMESPACE
from tests.proxy.test_chat import ASKED, HERON, block_in
from tests.retrieval.blocks import read

pytestmark = pytest.mark.examples

CALLED = {"city": "Lisbon"}
SUNNY = "Sunny, 24 degrees in Lisbon."
IMAGE = {"type": "base64", "media_type": "image/png", "data": "AAAA"}


class Responses:
    """OpenAI's client, by way of responses."""

    path, field = "/v1/responses", "input"

    def __init__(self, client):
        self.client = client

    def ask(self, told, **more):
        """Return the headers and the text of an answer."""
        raw = self.client.responses.with_raw_response.create(**{"model": "fake", "input": told, **more})
        return raw.headers, raw.parse().output_text

    def stream(self, told, **more):
        """Return the text of a stream."""
        events = self.client.responses.create(**{"model": "fake", "input": told, "stream": True, **more})
        return "".join(event.delta for event in events if event.type == "response.output_text.delta")

    def calls(self, told):
        """Return the arguments of the tool that is called, and the turns that answer."""
        answer = self.client.responses.create(model="tool_calls", input=told)
        call = answer.output[-1]
        result = {"type": "function_call_output", "call_id": call.call_id, "output": SUNNY}
        return json.loads(call.arguments), [*told, *(item.to_dict() for item in answer.output), result]

    def replied(self, text):
        """Return an answer as it is sent back."""
        part = {"type": "output_text", "text": text, "annotations": []}
        said = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
        return [{"id": "rs_1", "type": "reasoning", "summary": []}, said]

    image = staticmethod(lambda: {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "auto"})
    text = "input_text"


class Messages:
    """Anthropic's client."""

    path, field = "/v1/messages", "messages"

    def __init__(self, client):
        self.client = client

    def ask(self, told, **more):
        """Return the headers and the text of an answer."""
        given = {"model": "fake", "max_tokens": 100, "messages": _list(told), **more}
        raw = self.client.messages.with_raw_response.create(**given)
        return raw.headers, raw.parse().content[0].text

    def stream(self, told, *, model="fake"):
        """Return the text of a stream."""
        with self.client.messages.stream(model=model, max_tokens=100, messages=_list(told)) as stream:
            return "".join(stream.text_stream)

    def calls(self, told):
        """Return the arguments of the tool that is called, and the turns that answer."""
        answer = self.client.messages.create(model="tool_calls", max_tokens=100, messages=told)
        use = answer.content[-1]
        result = {"type": "tool_result", "tool_use_id": use.id, "content": [{"type": "text", "text": SUNNY}]}
        said = {"role": "assistant", "content": [block.to_dict() for block in answer.content]}
        return use.input, [*told, said, {"role": "user", "content": [result]}]

    def replied(self, text):
        """Return an answer as it is sent back."""
        thought = {"type": "thinking", "thinking": "Hm.", "signature": "x"}
        return [{"role": "assistant", "content": [thought, {"type": "text", "text": text}]}]

    image = staticmethod(lambda: {"type": "image", "source": IMAGE})
    text = "text"


def _list(told):
    return [{"role": "user", "content": told}] if isinstance(told, str) else told


@pytest.fixture(params=[Responses, Messages], ids=["responses", "messages"])
def speaker(request, client, claude):
    """Each of the clients."""
    return request.param(client if request.param is Responses else claude)


def last(upstream, speaker):
    """The content of the last user turn that the upstream got."""
    told = upstream.asked[-1].json[speaker.field]
    return told if isinstance(told, str) else [each for each in told if each.get("role") == "user"][-1]["content"]


def said(exchange):
    return [(turn["role"], turn["content"], turn["partial"]) for turn in exchange.turns]


def test_an_answer_comes_with_memory_and_is_kept(speaker, upstream, remember, captured, memories, main):
    remember(HERON)
    headers, text = speaker.ask(ASKED)
    assert (text, headers["X-NovaMem-Injected"]) == (upstream.reply, "1")
    assert upstream.asked[-1].path == speaker.path
    told = last(upstream, speaker)
    assert told.startswith(f"{ASKED}\n\n<memory-context ")
    assert [line.text for line in block_in(told).lines] == [HERON]
    (exchange,) = captured()
    assert said(exchange) == [("user", ASKED, False), ("assistant", upstream.reply, False)]
    assert (str(exchange.receipt_id), exchange.namespace.name) == (headers["X-NovaMem-Receipt"], main)
    assert {row.content for row in memories()} == {HERON, upstream.reply}


@pytest.mark.parametrize("mode", ["right", "slow", "odd"])
def test_a_stream_is_the_same_and_is_kept(mode, speaker, upstream, remember, captured):
    remember(HERON)
    assert speaker.stream(ASKED, model=mode) == upstream.reply
    assert said(captured()[0]) == [("user", ASKED, False), ("assistant", upstream.reply, False)]


@pytest.mark.usefixtures("upstream")
def test_a_block_that_the_model_repeats_is_not_kept(speaker, remember, captured):
    remember(HERON)
    assert "<memory-context " in speaker.stream(ASKED, model="echoing")
    assert said(captured()[0]) == [("user", ASKED, False), ("assistant", ASKED, False)]


@pytest.mark.parametrize("mode", ["no_done", "dropping"])
def test_a_stream_without_its_end_is_partial(mode, speaker, upstream, send, captured):
    upstream.reply = "heron " * 40
    body = {"model": mode, "stream": True, speaker.field: [{"role": "user", "content": ASKED}], "max_tokens": 9}
    with suppress(httpx2.RemoteProtocolError):  # of the one that breaks off
        send(body, path=speaker.path)
    role, text, partial = said(captured()[0])[-1]
    assert (role, partial, text[:11]) == ("assistant", True, "heron heron")


def test_tool_calls_pass_and_their_results_are_heard(speaker, upstream, captured):
    asked = [{"role": "user", "content": "How is the weather in Lisbon?"}]
    called, told = speaker.calls(asked)
    assert called == CALLED
    assert [turn["role"] for turn in captured()[0].turns] == ["user"]
    speaker.ask(told)
    assert said(captured(2)[1]) == [("tool", SUNNY, False), ("assistant", upstream.reply, False)]


def test_parts_of_a_message(speaker, upstream, remember, captured):
    remember(HERON)
    parts = [{"type": speaker.text, "text": "Look at this."}, speaker.image(), {"type": speaker.text, "text": ASKED}]
    speaker.ask([{"role": "user", "content": parts}])
    told = last(upstream, speaker)
    assert told[:3] == parts
    assert told[3]["type"] == speaker.text
    assert len(block_in(told[3]["text"]).lines) == 1
    assert captured()[0].turns[0]["content"] == f"Look at this.\n{ASKED}"


def test_the_next_request_tells_only_what_is_new(speaker, upstream, captured, memories):
    upstream.reply = "Noted, the geese are called Ann and Bo."
    first = [{"role": "user", "content": "I keep two grey geese in my garden."}]
    speaker.ask(first)
    upstream.reply = "They are."
    told = [
        *first,
        *speaker.replied("Noted, the geese are called Ann and Bo."),
        {"role": "user", "content": "Are they?"},
    ]
    headers, _ = speaker.ask(told)
    assert [turn[:2] for turn in said(captured(2)[1])] == [("user", "Are they?"), ("assistant", "They are.")]
    memories()
    headers, _ = speaker.ask([*told[:-1], {"role": "user", "content": "What are my geese called?"}])
    assert headers["X-NovaMem-Injected"] == "0", "turns of the request itself are not put in again"


def test_the_same_request_again_is_kept_once(speaker, upstream, captured, memories):
    for _ in range(2):
        speaker.ask(HERON)
    captured(2)
    assert len(memories()) == 2


def test_attested_words_are_the_users_and_what_stands_beside_others_is_not(
    speaker, send, upstream, issue, captured, memories
):
    proxy = issue(may_attest_user=True)

    def tell(content):
        body = {"model": "fake", "max_tokens": 9, speaker.field: [{"role": "user", "content": content}]}
        assert send(body, path=speaker.path, Authorization=f"Bearer {proxy}").status_code == 200

    tell("My budget for the kitchen is $750.")
    tell([{"type": speaker.text, "text": "My rent is $900."}, speaker.image()])
    captured(2)
    source = {row.content: row.source for row in memories()}
    assert source["My budget for the kitchen is $750."] == "user_explicit"
    assert source["My rent is $900."] == "user_implicit"


def test_the_instructions_if_the_operator_wants_it(speaker, upstream, remember, settings):
    settings.PROXY_INJECT = "system"
    remember(HERON)
    name = "instructions" if speaker.path == "/v1/responses" else "system"
    for more in ({}, {name: "Be brief."}):
        speaker.ask(ASKED, **more)
        asked = upstream.asked[-1].json
        assert last(upstream, speaker) == ASKED
        opening, _, block = asked[name].rpartition("\n\n") if more else ("", "", asked[name])
        assert (opening, [line.text for line in read(block, "xml").lines]) == (more.get(name, ""), [HERON])


def test_instructions_in_blocks_get_one_more(claude, upstream, remember, settings):
    settings.PROXY_INJECT = "system"
    remember(HERON)
    system = [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]
    Messages(claude).ask(ASKED, system=system)
    assert upstream.asked[-1].json["system"][:1] == system
    assert len(read(upstream.asked[-1].json["system"][1]["text"], "xml").lines) == 1


def test_users_are_apart(speaker, upstream, captured, memories):
    def user(name):
        return {"user": name} if speaker.path == "/v1/responses" else {"metadata": {"user_id": name}}

    upstream.reply = "Okay."
    speaker.ask("I live in Lisbon.", **user("ann"))
    captured()
    memories()
    assert speaker.ask("Where do I live?", **user("bob"))[0]["X-NovaMem-Injected"] == "0"
    assert speaker.ask("Where do I live?", **user("ann"))[0]["X-NovaMem-Injected"] == "1"
    assert {row.namespace.user for row in memories()} == {"ann"}


@pytest.mark.parametrize(
    "body",
    [b"{", b"[]", b'{"model": "fake"}', b'{"input": 7, "messages": 7}', b'{"input": [7], "messages": [7]}']
    + [b'{"input": [{"type": "message", "role": "user"}], "messages": [{"role": "user"}]}']
    + [b'{"input": [{"role": "user", "content": [7]}], "messages": [{"role": 7, "content": ""}]}'],
)
def test_what_is_not_understood_passes_as_it_came(body, speaker, send, upstream, captured):
    upstream.mode = "unavailable"
    answer = send(body, path=speaker.path)
    assert answer.headers["X-NovaMem-Memory"] == "none; reason=not_understood"
    assert answer.json()["error"]["type"] == "fake", "the upstream says what it thinks of it"
    assert upstream.asked[-1].body == body
    assert captured(0) == []


def test_what_can_not_be_read_for_a_fault_of_ours_passes_too(speaker, send, upstream, monkeypatch):
    for module in (responses, anthropic_messages):
        monkeypatch.setattr(module, "json_object", lambda raw: {}[raw])
    body = {"model": "fake", "max_tokens": 9, speaker.field: _list(ASKED)}
    answer = send(body, path=speaker.path)
    assert (answer.status_code, answer.headers["X-NovaMem-Memory"]) == (200, "none; reason=not_understood")


def test_items_of_any_kind_pass(client, upstream, captured):
    kinds = ["web_search_call", "item_reference", "compaction", "computer_call_output", "mcp_call", "new_kind"]
    items = [{"type": kind, "id": f"x_{kind}"} for kind in kinds]
    Responses(client).ask([*items, {"role": "user", "content": HERON}])
    assert upstream.asked[-1].json["input"][:-1] == items
    assert [turn["role"] for turn in captured()[0].turns] == ["user", "assistant"]


def test_a_response_that_follows_another_is_another_chat(client, upstream, issue, captured, memories):
    told = client.with_options(api_key=issue(may_attest_user=True))
    for before in (None, "resp_1", "resp_2", "resp_2"):
        Responses(told).ask(HERON, **({"previous_response_id": before} if before else {}))
    rows = captured(4)
    assert len({row.turns[0]["source_id"] for row in rows}) == 3
    assert [row.turns[0]["attested"] for row in rows] == [True, False, False, False], "who knows what stood before it"


def test_results_and_words_stand_in_one_message(claude, upstream, captured):
    use = {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": CALLED}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": SUNNY}
    told = [
        {"role": "user", "content": "How is the weather in Lisbon?"},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [result, {"type": "text", "text": "I live in Oslo."}]},
    ]
    Messages(claude).ask(told)
    (row,) = captured()
    assert [(turn["role"], turn["content"]) for turn in row.turns[:2]] == [("tool", SUNNY), ("user", "I live in Oslo.")]
    assert row.turns[1]["attested"] is False


def test_what_claude_code_tells_in_the_users_place_is_nobodys_word(claude, upstream, remember, captured):
    remember(HERON)
    reminder = {"type": "text", "text": "<system-reminder>\nThe heron nests in the list of tasks.\n</system-reminder>"}
    asked = {"role": "user", "content": [reminder, {"type": "text", "text": ASKED}]}
    Messages(claude).ask([asked])
    sent = upstream.asked[-1].json["messages"][0]["content"]
    assert sent[:2] == asked["content"]
    assert [line.text for line in block_in(sent[2]["text"]).lines] == [HERON]
    assert said(captured()[0])[0] == ("user", ASKED, False)
    use = {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": CALLED}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": SUNNY}
    told = [asked, {"role": "assistant", "content": [use]}, {"role": "user", "content": [result, reminder]}]
    Messages(claude).ask(told)
    assert [turn[0] for turn in said(captured(2)[1])] == ["tool", "assistant"]
    assert "<memory-context" in upstream.asked[-1].json["messages"][0]["content"][2]["text"]
    assert upstream.asked[-1].json["messages"][1:] == told[1:]


ENDLESS = "user_a" + "_session_" * 100_000 + "!"
ACCOUNT = "user_3f09_account_550e8400-e29b-41d4-a716-446655440000"


@pytest.mark.parametrize(
    ("user_id", "user"),
    [
        ("ann", "ann"),
        (f"{ACCOUNT}_session_9c2f1d3e-77aa-4b41-8d0e-1f2a3b4c5d6e", ACCOUNT),
        ("user_3f09_account__session_9c2f", "user_3f09_account_"),
        (json.dumps({"device_id": "d1", "account_uuid": "a1", "session_id": "s1"}), "a1"),
        (json.dumps({"device_id": "d1", "account_uuid": "", "session_id": "s1"}), "d1"),
        (json.dumps({"device_id": 7, "account_uuid": ["a"], "session_id": "s"})[:9], '{"device_'),
        ("{", "{"),
        ("7", "7"),
        ("", None),
        (7, None),
        (None, None),
        ("u" * 256, hashlib.sha256(b"u" * 256).hexdigest()),
        (ENDLESS, hashlib.sha256(ENDLESS.encode()).hexdigest()),
    ],
)
def test_a_users_sessions_are_one_user(user_id, user):
    body = {"messages": [], "metadata": {"user_id": user_id}}
    ((_, found),) = anthropic_messages.prompt_of(json.dumps(body).encode()).named_users
    assert found == user


def read_responses(*items, **more):
    return responses.prompt_of(json.dumps({"input": list(items), **more}).encode())


def read_messages(*messages):
    return anthropic_messages.prompt_of(json.dumps({"messages": list(messages)}).encode())


def turn(content, role="user", **more):
    return {"role": role, "content": content, **more}


RENT = "My rent is $900."
REFERENCE = {"type": "item_reference", "id": "msg_1"}


def attested(prompt):
    return [(turn.content, turn.attested) for turn in prompt.news()]


def test_what_is_not_here_may_have_announced_what_follows():
    assert attested(read_responses(turn(RENT))) == [(RENT, True)]
    for unseen in (REFERENCE, {"type": "compaction", "encrypted_content": "x"}):
        assert attested(read_responses(unseen, turn("I live in Oslo."), turn(RENT)))[-1] == (RENT, False)
        answered = read_responses(unseen, turn("Hello there."), turn("Hello.", "assistant"), turn(RENT))
        assert attested(answered) == [(RENT, True)]
    for more in ({"previous_response_id": "r"}, {"conversation": "c"}, {"prompt": {"id": "p"}}):
        both = attested(read_responses(turn("I live in Oslo."), turn(RENT), **more))
        assert [is_attested for _, is_attested in both] == [False, False]


def test_a_reference_stands_for_what_the_model_said():
    told = read_responses(turn("I live in Oslo."), REFERENCE, turn(RENT))
    assert [each.content for each in told.news()] == [RENT]


def test_the_same_said_again_in_a_conversation_is_news():
    one, two = (read_responses(turn(RENT), conversation={"id": "c"}).news()[0].source_id for _ in range(2))
    assert one != two


def test_an_approval_is_no_turn():
    told = read_responses(turn(RENT), {"type": "mcp_approval_response", "approve": True})
    assert [each.content for each in told.news()] == [RENT]


@pytest.mark.parametrize("read_chat", [read_responses, read_messages])
def test_an_answer_that_the_request_begins_is_one(read_chat):
    begun = read_chat(turn("I live in Oslo. Answer in JSON."), turn("{", "assistant"))
    assert [each.content for each in begun.news()] == ["I live in Oslo. Answer in JSON."]
    reply = begun.reply('"city": "Oslo"}', partial=False)
    assert (reply.content, reply.sequence) == ('{"city": "Oslo"}', 1)
    later = read_chat(turn("I live in Oslo. Answer in JSON."), turn('{"city": "Oslo"}', "assistant"), turn("Thanks."))
    assert reply.source_id in later.spoken.source_ids


@pytest.mark.parametrize(
    ("content", "own"),
    [
        ("<system-reminder>I live in Oslo.</system-reminder>", []),
        (f"<system-reminder>x</system-reminder>\n{RENT}", [(RENT, False)]),
        (f"{RENT}<system-reminder>x</system-reminder>", [(RENT, False)]),
        ([{"type": "text", "text": f"<system-reminder>x</system-reminder>\n{RENT}"}], [(RENT, False)]),
        (f"{RENT} <system-reminder>", [(f"{RENT} <system-reminder>", True)]),
        ("<local-command-stdout>The bank is EVIL.</local-command-stdout>", []),
        ("<bash-stdout>The bank is EVIL.</bash-stdout>", []),
        ("This session is being continued from a previous conversation that ran out of context.", []),
        ([{"type": "text", "text": RENT}], [(RENT, True)]),
        (RENT, [(RENT, True)]),
    ],
)
def test_what_programs_say_in_the_users_place_is_nobodys_word(content, own):
    assert attested(read_messages(turn(content))) == own
    read_messages(turn("<system-reminder>" * 100_000)).news()


def test_a_name_says_that_somebody_else_speaks():
    for content in (RENT, [{"type": "text", "text": RENT}]):
        assert attested(read_messages(turn(content, name="mallory"))) == [(RENT, False)]


def test_what_codex_says_is_nobodys_word():
    told = [turn("# AGENTS.md instructions for /x\n\nBe brief."), turn("<environment_context>x</environment_context>")]
    assert attested(read_responses(*told, turn([{"type": "input_text", "text": RENT}]))) == [(RENT, True)]


def test_an_answer_of_several_parts_is_known_when_it_comes_back():
    texts = [{"type": "text", "text": text} for text in ("Let me look.", "The heron nests", " at the mill.")]
    content = [texts[0], {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}, *texts[1:]]
    whole = "Let me look.\nThe heron nests at the mill."
    reader = formats.MESSAGES.answer
    assert reader.read(json.dumps({"content": content}).encode(), content_type="application/json").text == whole
    events = []
    for number, block in enumerate(content):
        begun = {**block, "text": ""} if block["type"] == "text" else block
        events.append({"type": "content_block_start", "index": number, "content_block": begun})
        delta = {"type": "text_delta", "text": block.get("text", "")}
        events += [{"type": "content_block_delta", "delta": delta}] if block["type"] == "text" else []
    stream = "".join(f"data: {json.dumps(event)}\n\n" for event in [*events, {"type": "message_stop"}])
    assert reader.read(stream.encode(), content_type="text/event-stream").text == whole
    back = read_messages(turn(ASKED), turn(content, "assistant"), turn("Thanks."))
    assert plain(whole) in back.spoken.texts

    output = [{"type": "message", "content": [{"type": "output_text", "text": text["text"]}]} for text in texts[:2]]
    output.insert(1, {"type": "web_search_call", "id": "ws"})
    said = formats.RESPONSES.answer.read(json.dumps({"output": output}).encode(), content_type="application/json").text
    assert said == "Let me look.\nThe heron nests"
    items = [{**item, "role": "assistant"} if item["type"] == "message" else item for item in output]
    assert plain(said) in read_responses(turn(ASKED), *items, turn("Thanks.")).spoken.texts


def test_a_slash_more_is_the_same_chat(speaker, send, upstream, remember):
    remember(HERON)
    body = {"model": "fake", "max_tokens": 9, speaker.field: _list(ASKED)}
    for path in (f"{speaker.path}/", speaker.path.replace("/v1/", "/v1//")):
        assert send(body, path=path, X_NovaMem_Mode="recall").headers["X-NovaMem-Injected"] == "1"


def test_what_passes_unread_breaks_no_rule_of_the_key(speaker, send, upstream, issue):
    required = f"Bearer {issue(users='required')}"
    refused = send({"messages": 7}, path=speaker.path, Authorization=required)
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "user_required")
    assert send({"messages": 7}, path=speaker.path, X_NovaMem_Mode="ful").json()["error"]["code"] == "invalid_mode"
    reads = f"Bearer {issue(verbs=['read'])}"
    assert send({"messages": 7}, path=speaker.path, Authorization=reads, X_NovaMem_Mode="full").status_code == 403
    assert upstream.asked == []


def test_where_the_cache_ends_changes_no_turn():
    def asked(*cached):
        more = {"cache_control": {"type": "ephemeral"}}
        texts = [{"type": "text", "text": text, **(more if text in cached else {})} for text in ("a", "b")]
        messages = [{"role": "user", "content": [text]} for text in texts]
        return anthropic_messages.prompt_of(json.dumps({"messages": messages}).encode())

    assert asked("a").spoken == asked("b").spoken == asked().spoken
    assert asked("b").messages == asked().messages
    cached = {"type": "text", "text": RENT, "cache_control": {"type": "ephemeral"}}
    assert read_messages(turn([cached])).messages == read_messages(turn(RENT)).messages


@pytest.mark.parametrize("shape", [formats.RESPONSES.answer, formats.MESSAGES.answer, formats.CHAT_COMPLETIONS.answer])
@pytest.mark.parametrize("told", ["7", "[]", "null", '{"type": null}', '{"type": "content_block_delta", "delta": 7}'])
def test_answers_of_another_shape_say_nothing(shape, told):
    assert shape.read(told.encode(), content_type="application/json").text == ""
    event = f"data: {told}\n\n"
    assert shape.read(event.encode(), content_type="text/event-stream") == formats.AssistantAnswer("", partial=True)


def test_a_refusal_looks_as_anthropics_client_expects(claude, send, upstream, issue):
    with pytest.raises(anthropic.AuthenticationError, match="Incorrect API key"):
        claude.with_options(api_key="nova_x").messages.create(model="fake", max_tokens=9, messages=_list(ASKED))
    with pytest.raises(anthropic.BadRequestError, match="name the user"):
        claude.with_options(api_key=issue(users="required")).messages.create(
            model="fake", max_tokens=9, messages=_list(ASKED)
        )
    refused = send({}, path="/v1/messages/batches")
    assert (refused.status_code, refused.json()["type"]) == (403, "error")
    assert refused.json()["error"]["type"] == "permission_error"
    assert upstream.asked == []


def test_openais_client_knows_refusals_of_responses(client, issue):
    with pytest.raises(openai.AuthenticationError):
        client.with_options(api_key="nova_x").responses.create(model="fake", input=ASKED)


def test_either_header_has_the_key(send, key, upstream):
    body = {"model": "fake", "max_tokens": 9, "messages": _list(ASKED)}
    for headers in ({"X_Api_Key": key, "Authorization": None}, {"X_Api_Key": "other"}, {}):
        assert send(body, path="/v1/messages", **headers).status_code == 200
        assert not {"x-api-key"} & {name.lower() for name in upstream.asked[-1].headers}
        assert key not in str(upstream.asked[-1])
    assert send({}, path="/v1/models", method="GET", X_Api_Key=key, Authorization=None).status_code == 200
    assert send(body, path="/v1/messages", X_Api_Key="", Authorization=None).status_code == 401


def test_messages_have_an_upstream_of_their_own_where_there_is_one(claude, client, upstream, settings, captured):
    settings.PROXY_UPSTREAM_URL, settings.PROXY_ANTHROPIC_URL = "", upstream.url
    settings.PROXY_ANTHROPIC_KEY = "sk-ant-of-the-upstream"
    Messages(claude).ask(ASKED)
    sent = {name.lower(): value for name, value in upstream.asked[-1].headers.items()}
    assert sent["x-api-key"] == "sk-ant-of-the-upstream"
    assert sent["anthropic-version"], "what the client says of itself passes"
    assert "authorization" not in sent
    captured()
    with pytest.raises(openai.InternalServerError, match="PROXY_UPSTREAM_URL"):
        Responses(client).ask(ASKED)
    settings.PROXY_UPSTREAM_URL, settings.PROXY_ANTHROPIC_URL = upstream.url, "http://127.0.0.1:9/v1"
    Responses(client).ask(ASKED)
    assert upstream.asked[-1].headers["Authorization"] == "Bearer sk-of-the-upstream"
    with pytest.raises(anthropic.InternalServerError):
        Messages(claude).ask(ASKED)


def test_what_is_too_large_to_be_read_passes_without_memory(speaker, send, upstream, captured, settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    body = {"model": "fake", "max_tokens": 9, speaker.field: _list(ASKED), "more": "x" * 2000}
    answer = send(body, path=speaker.path)
    assert (answer.status_code, answer.headers["X-NovaMem-Memory"]) == (200, "none; reason=too_large")
    assert upstream.asked[-1].json == body
    assert captured(0) == []


@pytest.mark.parametrize(("method", "path"), [("GET", "responses"), ("DELETE", "messages"), ("GET", "responses/r_1")])
def test_other_methods_are_no_chats(method, path, send, upstream, issue):
    refused = send({}, method=method, path=f"/v1/{path}")
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "path_not_permitted")
    allowed = issue(upstream_paths=[f"{method} {path}"])
    answer = send({}, method=method, path=f"/v1/{path}", Authorization=f"Bearer {allowed}")
    assert "X-NovaMem-Memory" not in answer.headers
    assert upstream.asked[-1].method == method


def test_modes_hold(speaker, send, upstream, remember, captured):
    remember(HERON)
    body = {"model": "fake", "max_tokens": 9, speaker.field: _list(ASKED)}
    off = send(body, path=speaker.path, X_NovaMem_Mode="off")
    assert (off.headers["X-NovaMem-Memory"], upstream.asked[-1].json) == ("none; reason=off", body)
    assert send(body, path=speaker.path, X_NovaMem_Mode="recall").headers["X-NovaMem-Injected"] == "1"
    assert send(body, path=speaker.path, **{NAMESPACE: None}).headers["X-NovaMem-Memory"] == "none; reason=no_namespace"
    assert captured(0) == []


def test_a_question_behind_results_of_tools_is_the_users(claude, upstream, remember):
    remember(HERON)
    use = {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": CALLED}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": SUNNY}
    told = [
        {"role": "user", "content": ASKED},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [result]},
    ]
    headers, _ = Messages(claude).ask(told)
    assert headers["X-NovaMem-Injected"] == "1"
    asked = upstream.asked[-1].json["messages"]
    assert asked[0]["content"].startswith(f"{ASKED}\n\n<memory-context")
    assert asked[1:] == told[1:]


WORDS = st.none() | st.integers(-3, 3) | st.sampled_from(["user", "text", "tool_result", "message", "x", ""])
NAMES = st.sampled_from(["role", "content", "type", "text", "output", "call_id", "tool_use_id", "id", "cache_control"])
VALUES = st.recursive(WORDS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner), max_leaves=8)
CONTENTS = st.sampled_from(["hello", "", "<system-reminder>x"]) | st.lists(st.dictionaries(NAMES, VALUES), max_size=4)
SPEAKERS = st.sampled_from(["user", "assistant", "system", "tool"])
TURNS = st.fixed_dictionaries({"role": SPEAKERS, "content": CONTENTS}, optional={"id": VALUES, "tool_calls": VALUES})
KINDS = st.sampled_from(["function_call", "function_call_output", "reasoning", "item_reference", "mcp_call"])
ITEMS = TURNS | st.fixed_dictionaries({"type": KINDS}, optional={"output": VALUES, "call_id": VALUES})
OTHERS = dict.fromkeys(("instructions", "system", "metadata", "user", "previous_response_id", "conversation"), VALUES)


@settings(max_examples=50, deadline=None)
@given(st.fixed_dictionaries({"messages": st.lists(TURNS), "input": st.text() | st.lists(ITEMS)}, optional=OTHERS))
def test_any_chat_is_read_or_refused(body):
    for form in formats.FORMATS.values():
        try:
            prompt = form.prompt_of(json.dumps(body).encode())
        except ProxyRefused:
            continue
        assert len(prompt.news()) <= len(prompt.messages)
        assert prompt.reply("x", partial=False).source_id not in prompt.spoken.source_ids
        assert prompt.named_users
        for place in ("last_user", "system") if prompt.question else ():
            assert json.loads(prompt.with_block("BLOCK", place=place)) != body


def test_a_response_of_several_parts_is_one_text():
    output = [{"type": "reasoning", "summary": []}]
    parts = [{"type": "output_text", "text": "One. "}, {"type": "refusal", "refusal": "x"}]
    output += [{"type": "message", "content": [*parts, {"type": "output_text", "text": "Two."}]}]
    body = json.dumps({"output": output}).encode()
    assert responses.ANSWER.read(body, content_type="application/json").text == "One. Two."
