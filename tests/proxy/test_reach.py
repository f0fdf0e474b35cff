"""What a chat draws on: its own namespace, as many memories as it asks for, and nothing that it says itself."""

import json

import openai
import pytest
from django.utils import timezone
from prometheus_client import REGISTRY

from memories import ingest
from tests.proxy.conftest import chat
from tests.proxy.test_chat import ASKED, HERON, USER, block_in, sent

pytestmark = pytest.mark.examples

ALLERGY = "I am severely allergic to peanuts and carry an epipen."


@pytest.fixture
def elsewhere(service, committed):
    """Stores a memory of another agent of the project."""

    def store(text):
        draft = ingest.Draft(namespace=f"{committed.name}:alice", content=text)
        return ingest.store(service, ingest.prepare([draft]), now=timezone.now())[0].fragment

    return store


def skipped(reason):
    return REGISTRY.get_sample_value("nova_proxy_skipped_total", {"reason": reason}) or 0


def injected(upstream):
    """The memories behind the last message of the last request; none without a block."""
    text = sent(upstream)[-1]["content"]
    return [line.text for line in block_in(text).lines] if "<memory-context" in text else []


def test_one_persons_words_do_not_stand_in_the_prompt_of_another(client, upstream, elsewhere):
    elsewhere(ALLERGY)
    said = [{"role": "user", "content": "Am I allergic to peanuts?"}]
    answer = client.chat.completions.with_raw_response.create(model="fake", messages=said)
    assert sent(upstream) == said
    assert answer.headers["X-NovaMem-Injected"] == "0"


def test_a_key_that_may_reads_wide_by_header(send, upstream, issue, elsewhere):
    elsewhere(ALLERGY)
    asked = chat("Am I allergic to peanuts?")
    refused = send(asked, X_NovaMem_Project_Wide="true")
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "not_permitted")
    assert upstream.asked == []
    wide = f"Bearer {issue(may_read_wide=True)}"
    assert send(asked, Authorization=wide, X_NovaMem_Project_Wide="true").headers["X-NovaMem-Injected"] == "1"
    assert injected(upstream) == [ALLERGY]
    for header in ("false", None):
        assert send(asked, Authorization=wide, X_NovaMem_Project_Wide=header).headers["X-NovaMem-Injected"] == "0"


def test_what_another_had_said_is_kept_when_it_is_said_here(send, upstream, issue, elsewhere, captured, memories, main):
    elsewhere(ALLERGY)
    wide = f"Bearer {issue(may_read_wide=True)}"
    send(chat(ALLERGY), Authorization=wide, X_NovaMem_Project_Wide="true")
    assert injected(upstream) == [ALLERGY]
    captured()
    assert ALLERGY in {row.content for row in memories() if row.namespace.name == main}


def test_what_is_almost_the_same_is_kept(client, upstream, remember, captured, memories):
    remember("While the database sleeps: down-1")
    upstream.reply = "The heron eats frogs, and nothing is written of that yet."
    said = ["While the database sleeps: before", "While the database sleeps: down-2"]
    for text in said:
        client.chat.completions.create(model="fake", messages=[{"role": "user", "content": text}])
    captured(2)
    assert set(said) <= {row.content for row in memories()}


def test_turns_of_the_chat_itself_are_not_put_in_again(send, upstream, remember, captured, memories):
    remember("The mill was built in 1812 by the miller's guild.")
    told = ["The mill has two wheels.", "The mill grinds rye for the village.", "The mill belongs to Ann."]
    messages = []
    for number, text in enumerate(told):
        upstream.reply = f"The mill has {number + 3} floors and a red door."
        messages.append({"role": "user", "content": text})
        assert send({"model": "fake", "messages": messages}, X_NovaMem_Session="mill").status_code == 200
        messages.append({"role": "assistant", "content": upstream.reply, "refusal": None, "annotations": []})
        captured()
        memories()
    last = {"role": "user", "content": "What do you know of the mill?"}
    answer = send({"model": "fake", "messages": [*messages, last]}, X_NovaMem_Session="mill")
    assert injected(upstream) == ["The mill was built in 1812 by the miller's guild."]
    assert answer.headers["X-NovaMem-Injected"] == "1"
    send({"model": "fake", "messages": [last]}, X_NovaMem_Session="mill")
    assert set(told) <= set(injected(upstream)), "another chat has not said them"


def test_a_turn_that_was_typed_anew_is_not_put_in_again(send, upstream, captured, memories):
    send(chat("The mill has two wheels and a red door."))
    captured()
    memories()
    again = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "the mill has  two wheels and a red door."},
        {"role": "assistant", "content": "Noted."},
        {"role": "user", "content": "How many wheels has the mill?"},
    ]
    send({"model": "fake", "messages": again})
    assert "The mill has two wheels and a red door." not in injected(upstream)


def test_as_many_memories_as_the_request_asks_for(send, upstream, remember):
    for number in range(12):
        remember(f"The heron number {number} nests behind mill {number}.")
    for asked, given in (("1", 1), ("3", 3), ("200", 12), (None, 10)):
        assert send(chat(), X_NovaMem_Top_K=asked).headers["X-NovaMem-Injected"] == str(given)


def test_nothing_is_put_in_that_has_nothing_to_do_with_the_question(committed_floor, send, upstream, remember):
    remember("The heron nests behind the old mill.")
    thanks = {"model": "fake", "messages": [{"role": "user", "content": "thanks a lot"}]}
    answer = send(thanks)
    assert (answer.headers["X-NovaMem-Injected"], answer.headers["X-NovaMem-Memory"]) == (
        "0",
        "none; reason=nothing_relevant",
    )
    assert injected(upstream) == []
    for floor, given in (("auto", "0"), ("0", "1"), ("0.99", "0")):
        assert send(thanks, X_NovaMem_Floor=floor).headers["X-NovaMem-Injected"] == given


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        *(("X-NovaMem-Top-K", value, "invalid_top_k") for value in ("0", "201", "-1", "1.5", "ten", "9" * 30, "१")),
        *(
            ("X-NovaMem-Floor", value, "invalid_floor")
            for value in ("-0.1", "1.01", "high", "nan", "1e-1", "٠", "0." + "1" * 30)
        ),
        *(("X-NovaMem-Project-Wide", value, "invalid_project_wide") for value in ("yes", "1", "true, true")),
    ],
)
def test_a_wrong_wish_is_named_and_goes_nowhere(name, value, code, send, upstream):
    answer = send(chat(), **{name: value.encode()})
    error = answer.json()["error"]
    assert (answer.status_code, error["param"], error["code"], error["type"]) == (
        400,
        name,
        code,
        "invalid_request_error",
    )
    assert upstream.asked == []


def test_chats_without_memory_say_why(send, upstream, issue, main):
    def memory_header(**headers):
        answer = send(chat(), **headers)
        assert (answer.status_code, answer.headers["X-NovaMem-Injected"]) == (200, "0")
        return answer.headers["X-NovaMem-Memory"]

    writer = f"Bearer {issue(verbs=['write'])}"
    assert memory_header(**{"X-NovaMem-Namespace": None}) == "none; reason=no_namespace"
    assert memory_header(X_NovaMem_Mode="off") == "none; reason=off"
    assert memory_header(X_NovaMem_Mode="capture") == "none; reason=capture_only"
    assert memory_header(Authorization=writer) == "none; reason=not_permitted"
    assert memory_header() == "none; reason=nothing_found"
    nobody = send({"model": "fake", "messages": [{"role": "system", "content": "Begin."}]})
    assert nobody.headers["X-NovaMem-Memory"] == "none; reason=no_question"


def test_with_memory_there_is_no_such_header(client, upstream, remember):
    remember(HERON)
    answer = client.chat.completions.with_raw_response.create(model="fake", messages=USER)
    assert "X-NovaMem-Memory" not in answer.headers


def test_completions_of_a_text_say_that_they_have_no_memory(send, upstream, remember):
    remember(HERON)
    answer = send({"model": "fake", "prompt": ASKED}, path="/v1/completions")
    assert (answer.headers["X-NovaMem-Injected"], answer.headers["X-NovaMem-Memory"]) == ("0", "none; reason=endpoint")
    assert upstream.asked[-1].json == {"model": "fake", "prompt": ASKED}


@pytest.mark.parametrize(
    ("role", "text", "reason"),
    [
        ("user", "Where do I live?", "question"),
        ("user", "Understood, thanks.", "acknowledgement"),
        ("assistant", "Understood, thank you.", "acknowledgement"),
        ("assistant", json.dumps({"name": "Ada", "age": 36}), "structured_output"),
    ],
)
def test_what_nobody_wants_recalled_is_not_kept(role, text, reason, client, upstream, captured, memories):
    before = skipped(reason)
    upstream.reply = text if role == "assistant" else "Ann keeps two grey geese in her garden."
    said = text if role == "user" else "My sister keeps bees on the roof."
    client.chat.completions.create(model="fake", messages=[{"role": "user", "content": said}])
    captured()
    assert text not in {row.content for row in memories()}
    assert len(memories()) == 1
    assert skipped(reason) == before + 1


def test_a_question_that_states_something_is_kept(client, upstream, captured, memories):
    asked = "My name is Ada, what is yours?"
    client.chat.completions.create(model="fake", messages=[{"role": "user", "content": asked}])
    captured()
    assert asked in {row.content for row in memories()}


def test_the_same_answer_again_is_kept_once(client, upstream, captured, memories):
    before = skipped("repeated")
    for text in ("My sister keeps bees.", "My brother keeps geese.", "My aunt keeps two goats."):
        client.chat.completions.create(model="fake", messages=[{"role": "user", "content": text}])
    captured(3)
    kept = [row.content for row in memories()]
    assert (len(kept), kept.count(upstream.reply), skipped("repeated")) == (4, 1, before + 2)


def test_the_person_is_not_silenced_by_an_answer_in_the_same_words(client, upstream, captured, memories):
    upstream.reply = "The red door of the mill sticks in winter."
    for text in ("My sister keeps bees.", upstream.reply):
        client.chat.completions.create(model="fake", messages=[{"role": "user", "content": text}])
    captured(2)
    assert "user_implicit" in {row.source for row in memories() if row.content == upstream.reply}


def test_asked_alone_stays_a_question(client, captured, upstream, memories):
    client.chat.completions.create(model="fake", messages=[{"role": "user", "content": ASKED}])
    captured()
    assert [row.content for row in memories()] == [upstream.reply]
    with pytest.raises(openai.BadRequestError):
        client.chat.completions.create(model="fake", messages=USER, extra_headers={"X-NovaMem-Top-K": "many"})
