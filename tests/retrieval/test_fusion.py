"""Fusion of words and meaning, neighbours and cues."""

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.retrieval.candidates import Candidate
from memories.retrieval.fusion import WORDS, fuse
from memories.retrieval.query_features import Cues

SPACE = uuid.uuid4()


def candidate(number, *, cosine=None, **more):
    values = {
        "namespace_id": SPACE,
        "type": "semantic",
        "source": "inference",
        "importance": 0.5,
        "emotional_valence": 0.0,
        "is_pinned": False,
        "is_anchor": False,
        "base_relevance": 1.0,
        "corroboration": 1,
        "reinforcements": 0,
        "disputes": 0,
        "access_count": 0,
        "age": 9.0,
        "unchanged": 9.0,
        "unread": 9.0,
        "in_period": False,
        "conversation_id": "",
        "sequence": None,
        "length": 100,
        "speaker": "",
        "is_turn": False,
        "is_by_user": False,
        "piece_of": "",
        "quoted": False,
        "on_topic": False,
        "keys": [],
    }
    return Candidate(id=uuid.UUID(int=number), cosine=cosine, **{**values, **more})


def fused(*candidates, words=None, cues=None):
    bm25 = {uuid.UUID(int=number): score for number, score in (words or {}).items()}
    found = fuse(candidates, bm25=bm25, cues=cues or Cues())
    return {candidate.id.int: found[candidate.id] for candidate in candidates}


def test_meaning_counts_more_than_words():
    found = fused(candidate(1, cosine=0.4), candidate(2, cosine=0.8), words={1: 6, 2: 3})
    assert found == {1: pytest.approx((WORDS + 0.5) / (WORDS + 1)), 2: pytest.approx((WORDS / 2 + 1) / (WORDS + 1))}


def test_one_side_alone_counts_for_itself():
    assert fused(candidate(1), candidate(2), words={1: 4, 2: 1}) == {1: 1.0, 2: 0.25}
    assert fused(candidate(1, cosine=0.2), candidate(2, cosine=0.1)) == {1: 1.0, 2: 0.5}
    assert fused(candidate(1), candidate(2, cosine=-0.5)) == {1: 0.0, 2: 0.0}


def test_the_answer_is_found_through_its_question():
    talk = [candidate(n, conversation_id="talk", sequence=n) for n in (1, 2, 3)]
    found = fused(*talk, candidate(9), words={1: 5, 9: 1.5})
    assert found[1] > found[2] > found[9] > found[3]


def test_neighbours_of_other_conversations_and_namespaces_lend_nothing():
    here = candidate(1, conversation_id="talk", sequence=1)
    others = [
        candidate(2, conversation_id="other", sequence=2),
        candidate(3, conversation_id="talk", sequence=2, namespace_id=uuid.uuid4()),
        candidate(4, conversation_id="talk", sequence=4),
        candidate(5, conversation_id="talk", sequence=None),
        candidate(6, conversation_id="", sequence=2),
    ]
    assert set(fused(here, *others, words={1: 5}).values()) == {1.0, 0.0}


def test_long_texts_need_their_neighbours_less():
    def lent(length):
        talk = [candidate(n, conversation_id="talk", sequence=n, length=length) for n in (1, 2)]
        return fused(*talk, words={1: 5})[2]

    assert lent(100) == lent(200) > lent(400) > lent(2000)


def test_a_turn_is_near_when_its_reply_is_near_at_any_length():
    talk = [candidate(n, cosine=0.8 * (n == 2), conversation_id="talk", sequence=n, length=2000) for n in (1, 2, 4, 7)]
    found = fused(*talk)
    assert found[2] > found[1] > found[4] > found[7] == 0


def test_the_nearest_piece_of_a_reply_lends():
    pieces = [candidate(n, cosine=n / 10, conversation_id="talk", sequence=2) for n in (8, 2)]
    turn = candidate(1, cosine=0.0, conversation_id="talk", sequence=1)
    assert fused(turn, *pieces) == fused(turn, *reversed(pieces))
    assert fused(turn, *pieces)[1] > fused(turn, pieces[1], candidate(8, cosine=0.8))[1]


def turns():
    user, assistant = candidate(1, is_turn=True, is_by_user=True), candidate(2, is_turn=True)
    return user, assistant, candidate(3)


def test_who_asks_of_himself_is_answered_by_his_own_turns_first():
    found = fused(*turns(), words={1: 1, 2: 1, 3: 1}, cues=Cues(first_person=True))
    assert found[1] == found[3] > found[2]


def test_other_questions_prefer_nobodys_turns():
    assert len(set(fused(*turns(), words={1: 1, 2: 1, 3: 1}).values())) == 1


def test_where_only_the_user_speaks_nothing_is_preferred():
    user, _, other = turns()
    cues = Cues(first_person=True)
    assert set(fused(user, other, words={1: 1, 3: 1}, cues=cues).values()) == {1.0}


@pytest.mark.parametrize(
    ("told", "cues"),
    [
        ({"quoted": True}, Cues(phrases=["x"])),
        ({"speaker": "ann"}, Cues(words=frozenset({"ann"}))),
        ({"in_period": True}, Cues()),
        ({"on_topic": True}, Cues(keys=["x"])),
        ({"type": "procedural"}, Cues(types=["procedural"])),
    ],
)
def test_each_cue_tips_the_balance_between_equals(told, cues):
    told, other = candidate(1, **told), candidate(2, speaker="bo")
    found = fused(told, other, words={1: 1, 2: 1}, cues=cues)
    assert found[1] > found[2]


def test_a_question_that_names_two_speakers_prefers_neither():
    cues = Cues(words=frozenset({"ann", "bo"}))
    assert fused(candidate(1, speaker="ann"), candidate(2, speaker="bo"), words={1: 1, 2: 1}, cues=cues) == {1: 1, 2: 1}


@given(
    st.lists(
        st.tuples(
            st.one_of(st.none(), st.floats(-1, 1)),
            st.one_of(st.none(), st.floats(0, 50)),
            st.booleans(),
            st.integers(1, 4),
        ),
        max_size=12,
    )
)
def test_relevance_stays_between_0_and_1(rows):
    candidates = [
        candidate(n, cosine=cosine, conversation_id="talk", sequence=place, quoted=quoted)
        for n, (cosine, _, quoted, place) in enumerate(rows, start=1)
    ]
    words = {n: score for n, (_, score, _, _) in enumerate(rows, start=1) if score is not None}
    assert all(0 <= value <= 1 + 1e-9 for value in fused(*candidates, words=words).values())
