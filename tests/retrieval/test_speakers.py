"""Who speaks: the user or another, a person whom the question names; and messages that are kept in pieces."""

import datetime

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memories import ingest, retrieval
from memories.ingest import updates
from memories.ingest.layouts import Message
from memories.providers import embed_queries
from memories.retrieval import pipeline, speakers

TURNS = ("Melanie: I painted a kettle.", "Caroline: I saw two herons.", "Melanie: I sing.", "Caroline: I keep bees.")


def ingest_turns(principal, now, *turns, role="user"):
    said = [turn if isinstance(turn, tuple) else (role, turn) for turn in turns]
    messages = [Message(role, text, None, f"m{n}", "c", n, "message", None) for n, (role, text) in enumerate(said)]
    ingest.messages.ingest(principal, messages, namespace="acme:main", now=now)


def ask(principal, now, query, **more):
    return retrieval.find(principal, retrieval.Question(query, ["acme:main"], **more), now=now)


def explanation_of(principal, now, query):
    return ask(principal, now, query, explain=True).explanation


class TestPersons:
    def test_the_name_of_who_speaks_is_left_out_of_the_vector(self, principal, now):
        ingest_turns(principal, now, *TURNS)
        named, plain = (
            explanation_of(principal, now, "What bees does Caroline keep?"),
            explanation_of(principal, now, "What bees does keep?"),
        )
        assert named["speakers"] == ["caroline"]
        cosines = [{row["id"]: row["cosine"] for row in found["candidates"]} for found in (named, plain)]
        assert cosines[0] == cosines[1]

    def test_a_person_who_is_spoken_of_stays_in_the_vector(self, principal, now):
        ingest_turns(principal, now, "I met Caroline, who keeps bees.", "The kettle is Caroline's.")
        found = explanation_of(principal, now, "What bees does Caroline keep?")
        assert found["speakers"] == []
        plain = explanation_of(principal, now, "What bees does keep?")
        assert found["candidates"][0]["cosine"] > plain["candidates"][0]["cosine"]

    def test_a_name_in_a_text_that_is_no_turn_does_not_speak(self, principal, now, store):
        store("acme:main", "Caroline: keeps bees", source_type="manual")
        assert explanation_of(principal, now, "What bees does Caroline keep?")["speakers"] == []

    def test_it_takes_no_further_statement(self, principal, now):
        ingest_turns(principal, now, *TURNS)

        def statements(query):
            with CaptureQueriesContext(connection) as queries:
                ask(principal, now, query)
            return len(queries)

        assert statements("What bees does Caroline keep?") == statements("What bees does she keep?")


class TestSpeakersForGranted:
    """Of a question about who was seen to speak there one form is embedded: it saves work and changes no answer."""

    QUERY = "What bees does Caroline keep?"

    @pytest.fixture
    def embedded(self, monkeypatch):
        """The questions that are embedded."""
        texts = []

        def noted(questions, *, model):
            texts.append(list(questions))
            return embed_queries(questions, model=model)

        monkeypatch.setattr(pipeline, "embed_queries", noted)
        speakers._seen.clear()
        return texts

    def test_the_second_question_is_embedded_without_its_persons_only(self, principal, now, embedded):
        ingest_turns(principal, now, *TURNS)
        first, second = (explanation_of(principal, now, self.QUERY) for _ in range(2))
        assert embedded == [["What bees does Caroline keep?", "What bees does keep?"], ["What bees does keep?"]]
        assert first == second

    def test_whose_turns_are_gone_is_looked_for_by_name_again(self, principal, now, embedded):
        ingest_turns(principal, now, *TURNS)
        explanation_of(principal, now, self.QUERY)
        for hit in ask(principal, now, "Caroline", top_k=9).hits:
            updates.archive(principal, hit.fragment.id, now=now)
        ingest_turns(principal, now, "I met Caroline, who keeps bees.", "The kettle is Caroline's.")
        stale = explanation_of(principal, now, self.QUERY)
        assert stale["speakers"] == []
        embedded.clear()
        assert explanation_of(principal, now, self.QUERY) == stale
        assert embedded == [["What bees does Caroline keep?", "What bees does keep?"]]

    @pytest.mark.parametrize("query", ["What bees does _Caroline_ keep?", "Bees? Mention only Caroline points."])
    def test_a_name_that_can_not_be_left_out_changes_nothing(self, principal, now, embedded, store, query):
        store("acme:main", "Herons nest by the mill.")
        assert [ask(principal, now, query).degraded for _ in range(3)] == [[]] * 3

    def test_a_question_that_leaves_something_out_is_asked_in_both_forms(self, principal, now, embedded):
        ingest_turns(principal, now, *TURNS)
        explanation_of(principal, now, self.QUERY)
        embedded.clear()
        for more in (
            {"filters": retrieval.Filters(type=["semantic"])},
            {"session_id": "s"},
            {"as_of": now - datetime.timedelta(days=9)},
        ):
            ask(principal, now, self.QUERY, **more)
            explanation_of(principal, now, self.QUERY)
        assert [len(texts) for texts in embedded] == [2, 1] * 3

    def test_nothing_is_granted_where_another_machine_embeds(self, principal, now, embedded, monkeypatch):
        ingest_turns(principal, now, *TURNS)
        monkeypatch.setattr(pipeline, "embeds_here", lambda model: False)
        explanation_of(principal, now, self.QUERY)
        explanation_of(principal, now, self.QUERY)
        assert [len(texts) for texts in embedded] == [2, 2]

    def test_a_model_that_fails_meanwhile_leaves_the_words(self, principal, now, embedded, monkeypatch):
        ingest_turns(principal, now, *TURNS)
        explanation_of(principal, now, self.QUERY)
        monkeypatch.setattr(pipeline, "embed_queries", lambda texts, *, model: [None] * len(texts))
        results = ask(principal, now, self.QUERY)
        assert results.degraded == ["embedder"]
        assert results.hits

    def test_another_namespace_and_another_user_are_not_taken_for_granted(self, principal, now, embedded, store):
        ingest_turns(principal, now, *TURNS)
        explanation_of(principal, now, self.QUERY)
        store("acme:other", "Caroline keeps bees.")
        embedded.clear()
        retrieval.find(principal, retrieval.Question(self.QUERY, ["acme:other"]), now=now)
        retrieval.find(principal.of_user("ann"), retrieval.Question(self.QUERY, ["acme:main"]), now=now)
        assert [len(texts) for texts in embedded] == [2, 2]


class TestUser:
    def test_who_asks_about_himself_finds_what_he_said_before_what_he_was_told(self, principal, now):
        ingest_turns(
            principal,
            now,
            ("user", "The bees moved to the orchard last week."),
            ("assistant", "The bees moved to the orchard last month."),
        )
        first, second = ask(principal, now, "Where did my bees move?", profile="relevance").hits
        assert first.fragment.content.endswith("last week.")
        assert first.score > second.score
        one, other = ask(principal, now, "Where did the bees move?", profile="relevance").hits
        assert abs(one.score - other.score) < 0.1

    def test_what_was_never_said_in_turns_stands_with_the_user_s_own(self, principal, now, store):
        ingest_turns(principal, now, ("user", "Herons nest here."), ("assistant", "Herons nest there."))
        fact = store("acme:main", "My bees moved to the orchard.", source_type="manual")
        assert ask(principal, now, "Where did my bees move?").hits[0].fragment.id == fact.id


class TestPieces:
    @pytest.fixture
    def long_message(self, principal, now):
        parts = [f"## Part {n}\n\n" + f"Bees need a calm orchard, number {n}. " * 40 for n in range(5)]
        others = [("user", f"A short note on bees, number {n}.") for n in range(6)]
        ingest_turns(principal, now, ("assistant", "\n\n".join(parts)), *others)

    def stems(self, found):
        return [hit.fragment.source_id.partition("#")[0] for hit in found.hits]

    def test_a_message_holds_one_place_while_others_are_left(self, principal, now, long_message):
        found = self.stems(ask(principal, now, "bees in a calm orchard", top_k=5))
        assert found.count("m0") == 1
        assert len(found) == 5

    def test_its_other_pieces_fill_what_is_left(self, principal, now, long_message):
        found = self.stems(ask(principal, now, "bees in a calm orchard", top_k=9))
        assert found.count("m0") == 3

    def test_what_waits_is_explained(self, principal, now, long_message):
        rows = ask(principal, now, "bees in a calm orchard", top_k=5, explain=True).explanation["candidates"]
        assert {row["stage"] for row in rows} == {"answered", "share", "top_k"}

    def test_pieces_of_a_document_answer_each_by_itself(self, principal, now):
        text = "\n\n".join(f"## Part {n}\n\n" + f"Bees need a calm orchard, number {n}. " * 40 for n in range(5))
        document = Message("document", text, None, "guide", "guide", None, "text", None)
        ingest.messages.ingest(principal, [document], namespace="acme:main", now=now)
        assert len(ask(principal, now, "bees in a calm orchard", top_k=3).hits) == 3
