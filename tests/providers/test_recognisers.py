"""Recognisers: a token classifier of transformers, a pipeline of spaCy, and what is done without them."""

import threading

import pytest
import spacy
from django.db import transaction
from django.utils import timezone

from memories import ingest
from memories.language import route, route_kept
from memories.providers import InsideTransaction, RecognitionFailed, circuit, current_recogniser, recognisers
from tests.providers.tiny_classifier import make_classifier, rename_labels

TEXT = "ada lovelace works at initech in oslo"
NAMED = {"ada lovelace": "person", "initech": "organization", "oslo": "location"}


def labels(names):
    return {name.text: name.label for name in names}


@pytest.fixture(autouse=True)
def _anew():
    recognisers._bound.cache_clear()


@pytest.fixture(scope="session")
def classifier(tmp_path_factory):
    """The folder of a tiny token classifier that knows a few names, however they are written."""
    return make_classifier(tmp_path_factory.mktemp("classifier"))


@pytest.fixture
def bound(classifier, settings):
    settings.ENTITY_MODEL, settings.ENTITY_TIMEOUT = str(classifier), 60.0
    return current_recogniser()


@pytest.fixture
def pipeline(tmp_path):
    """The folder of a pipeline of spaCy that knows by rules what the classifier learned, and a date."""
    made = spacy.blank("en")
    rules = {"Ada Lovelace": "PERSON", "Initech": "ORG", "Oslo": "GPE", "yesterday": "DATE", "Faust": "WORK_OF_ART"}
    made.add_pipe("entity_ruler").add_patterns([{"label": rules[name], "pattern": name} for name in rules])
    made.to_disk(tmp_path / "pipeline")
    return tmp_path / "pipeline"


def test_tags_of_words_become_names_as_sure_as_their_words_on_average(bound):
    ((first, *others),) = bound.names([TEXT])
    assert labels([first, *others]) == NAMED
    assert 0.5 < first.confidence < 1
    pipeline = bound._recogniser._pipeline
    words = [each["score"] for each in pipeline(TEXT, aggregation_strategy="none")[:2]]
    assert first.confidence == pytest.approx(sum(words) / 2, abs=0.01)


def test_each_text_has_its_own_names(bound):
    found = bound.names([TEXT, "nobody", "oslo"] * 30)
    assert [labels(names) for names in found] == [NAMED, {}, {"oslo": "location"}] * 30


@pytest.mark.long
def test_the_end_of_a_long_text_is_read(bound):
    (found,) = bound.names([f"{'the mill was quiet ' * 90}ada lovelace works at initech in oslo"])
    assert labels(found) == NAMED


def test_a_pipeline_of_spacy(pipeline, settings):
    settings.ENTITY_MODEL = f"spacy:{pipeline}"
    (found, none) = current_recogniser().names(["Ada Lovelace saw Faust in Oslo yesterday.", "Nobody."])
    assert labels(found) == {"Ada Lovelace": "person", "Faust": "misc", "Oslo": "location"}
    assert {name.confidence for name in found} == {recognisers.SURE}
    assert none == []


def test_a_name_counts_once_and_what_cannot_be_one_not_at_all(pipeline, settings):
    settings.ENTITY_MODEL = f"spacy:{pipeline}"
    (routing,) = route_kept(["Oslo, Oslo and Ada Lovelace"])
    assert [entity.text for entity in routing.entities] == ["Oslo", "Ada Lovelace"]
    found = list(recognisers._names([("x" * 101, "PER", 1.0), (" \n", "PER", 1.0), ("New\n York", "loc", 1.7)]))
    assert found == [("New York", "location", 1.0)]


def test_what_is_stored_and_changed_is_read_by_it_and_a_question_is_not(alice, bound):
    body = {"namespace": "acme:main", "content": TEXT}
    stored = alice.client.post("/api/v1/fragments", body, format="json").json()
    assert {each["text"]: each["label"] for each in stored["entities"]} == NAMED
    assert stored["topics"][:3] == list(NAMED)
    changed = alice.client.patch(f"/api/v1/fragments/{stored['id']}", {"content": "initech left"}, format="json").json()
    assert [each["text"] for each in changed["entities"]] == ["initech"]
    assert [entity.text for entity in route("did ada leave initech?").entities] == ["ada"]


def test_what_a_source_tells_anew_is_read_by_it(principal, bound):
    draft = {"namespace": "acme:main", "source_type": "file", "source_id": "1"}
    for text in (TEXT, "oslo is cold"):
        prepared = ingest.prepare([ingest.Draft(content=text, **draft)])
        (admission,) = ingest.events.store_events(principal, prepared, now=timezone.now())
    assert [entity["text"] for entity in admission.fragment.entities] == ["oslo"]


def test_a_model_that_is_gone_leaves_it_to_the_rules_and_is_told_of_once(settings, monkeypatch, tmp_path):
    told = []
    monkeypatch.setattr("memories.providers.bound_models.log.warning", lambda event, **more: told.append(event))
    settings.ENTITY_MODEL = str(tmp_path)
    for _ in range(circuit.FAILURES + 2):
        (routing,) = route_kept(["Ada Lovelace came."])
        assert [entity.text for entity in routing.entities] == ["Ada Lovelace"]
    assert told == ["recognition_failed"]


def test_one_that_takes_too_long_is_not_waited_for(bound, settings, monkeypatch):
    free = threading.Event()
    settings.ENTITY_TIMEOUT = 0.05
    slow = current_recogniser()
    monkeypatch.setattr(recognisers.TokenClassifier, "names", lambda self, texts: free.wait(30) and [])
    with pytest.raises(RecognitionFailed, match="in time"):
        slow.names([TEXT])
    assert [entity.text for entity in route_kept(["Ada Lovelace came."])[0].entities] == ["Ada Lovelace"]
    free.set()


def test_a_model_that_does_not_name_its_labels_is_refused(classifier, settings, tmp_path):
    settings.ENTITY_MODEL = str(rename_labels(classifier, tmp_path / "unnamed"))
    with pytest.raises(RecognitionFailed, match="does not name its labels"):
        current_recogniser().names([TEXT])


def test_none_is_asked_inside_a_transaction(bound, db):
    with transaction.atomic(), pytest.raises(InsideTransaction):
        route_kept([TEXT])


def test_there_is_none_unless_one_is_named(settings):
    assert settings.ENTITY_MODEL == ""
    assert current_recogniser() is None
