"""Each switch of the ablation takes away what it is named after, and nothing else."""

import pytest

from memories import retrieval
from memories.retrieval import fusion, pipeline
from script.benches._ablation import BESIDE, CUES, PARTS, STEMMED, UNSTEMMED, ingested, lines, only

QUESTION = 'What did Ann tell me of "blue herons" in May 2024?'
ALL = frozenset(PARTS)
TURNS = ("Bob: Nice weather.", "Ann: I saw two blue herons!", "Bob: Really?", "Ann: I paint kettles.")


@pytest.fixture
def conversation(store):
    for number, turn in enumerate(TURNS):
        store("acme:main", turn, source_type="conversation", conversation_id="c", sequence=number)


def found(principal, now, parts):
    """The explained candidates of the question, in a search that knows these parts."""
    with only(frozenset(parts)):
        question = retrieval.Question(QUESTION, ["acme:main"], explain=True)
        return retrieval.find(principal, question, now=now).explanation["candidates"]


def test_a_search_without_a_part_finds_nothing_by_it(principal, now, conversation):
    assert {way for row in found(principal, now, ALL) for way in row["found_by"]} == {"words", "meaning"}
    assert {way for row in found(principal, now, ALL - {"words"}) for way in row["found_by"]} == {"meaning"}
    by_words = found(principal, now, {"words"})
    assert [row["found_by"] for row in by_words] == [["words"]] * len(by_words)
    assert {row["cosine"] for row in by_words} == {None}
    beside = found(principal, now, {"words", "neighbours"})
    assert ["neighbour"] in [row["found_by"] for row in beside]
    assert len(beside) > len(by_words)


def test_neighbours_lend_nothing_when_they_are_off():
    with only(ALL - {"neighbours"}):
        assert [getattr(fusion, name) for name in BESIDE] == [0.0] * len(BESIDE)
    assert all(getattr(fusion, name) > 0 for name in BESIDE)


@pytest.mark.parametrize("cue", CUES)
def test_a_cue_that_is_off_is_not_understood_and_the_others_are(cue, now):
    whole = pipeline.extract_cues(QUESTION, now=now)
    assert all(getattr(whole, name) for none in CUES.values() for name in none)
    with only(ALL - {cue}):
        heard = pipeline.extract_cues(QUESTION, now=now)
    changed = {name for none in CUES.values() for name in none if getattr(heard, name) != getattr(whole, name)}
    assert changed == set(CUES[cue])
    assert not any(getattr(heard, name) for name in changed)


def test_all_parts_together_are_the_search_itself(principal, now, conversation):
    question = retrieval.Question(QUESTION, ["acme:main"], explain=True)
    assert found(principal, now, ALL) == retrieval.find(principal, question, now=now).explanation["candidates"]


def test_every_part_is_left_out_in_a_line_of_its_own():
    without = [ALL - line.parts for line in lines() if line.name.startswith("without") and line.parts != ALL]
    assert sorted(map(sorted, without)) == sorted([part] for part in PARTS)


def test_without_stemming_only_the_very_word_is_found(principal, now, tmp_path):
    path = tmp_path / "talk.jsonl"
    path.write_text('{"role": "user", "content": "I painted seven kettles yesterday."}\n')
    stemmed, plain = (ingested(principal, path, language) for language in (STEMMED, UNSTEMMED))
    with only(frozenset({"words"})):
        for word, places in (("kettles", {stemmed, plain}), ("kettle", {stemmed})):
            asked = {name: retrieval.Question(word, [name], project_wide=False) for name in (stemmed, plain)}
            hits = {name for name, question in asked.items() if retrieval.find(principal, question, now=now).hits}
            assert hits == places
