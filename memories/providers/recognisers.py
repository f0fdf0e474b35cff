"""Recognisers: models of the operator's own that read the names in texts. Without one the built-in rules read them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Any, Literal, NamedTuple, Protocol

from django.conf import settings

from memories.providers.bound_models import ModelGuard, ModelThread
from memories.providers.sentences import prepare_torch, torch_import

SPACY = "spacy:"
AT_ONCE = 32  # texts
LONGEST = 512  # tokens of a piece, and of it those that it shares with the next
SHARED = 64
LONGEST_NAME = 100  # characters; beyond it is no name
SURE = 0.9  # what the built-in rules give a name that is on a list
Label = Literal["person", "organization", "location", "misc"]
# As CoNLL, OntoNotes and what was made of them call these.
LABELS: dict[str, Label] = {
    **dict.fromkeys(("PER", "PERSON", "PEOPLE"), "person"),
    **dict.fromkeys(("ORG", "ORGANIZATION", "ORGANISATION", "COMPANY", "CORPORATION"), "organization"),
    **dict.fromkeys(("LOC", "LOCATION", "GPE", "FAC", "FACILITY", "PLACE", "CITY", "COUNTRY"), "location"),
}
NUMBERS_AND_TIMES = {"O", "DATE", "TIME", "PERCENT", "MONEY", "QUANTITY", "ORDINAL", "CARDINAL"}
UNNAMED = re.compile(r"LABEL_\d+")


class RecognitionFailed(Exception):
    """Nobody knows the names; the built-in rules read them."""


class Name(NamedTuple):
    """A name as it is written; `confidence` 0 to 1."""

    text: str
    label: Label
    confidence: float


class Recogniser(Protocol):
    """One thread uses it at a time."""

    def names(self, texts: Sequence[str]) -> list[list[Name]]:
        """Return the names in each text, in their order. May raise anything."""
        ...


class TokenClassifier:
    """A token-classification model of transformers, by its folder or its name in the local cache; never fetched.

    BIO tags are merged to names, whose confidence is the mean of their words'.
    """

    def __init__(self, source: str) -> None:
        self._source = source

    def names(self, texts: Sequence[str]) -> list[list[Name]]:
        """See Recogniser."""
        found = self._pipeline(list(texts), batch_size=AT_ONCE)
        return [
            list(_names((text[each["start"] : each["end"]], each["entity_group"], each["score"]) for each in named))
            for text, named in zip(texts, found, strict=True)
        ]

    @cached_property
    def _pipeline(self) -> Any:
        with torch_import:
            prepare_torch()
            from transformers import AutoModelForTokenClassification, AutoTokenizer, TokenClassificationPipeline

            model = AutoModelForTokenClassification.from_pretrained(self._source, local_files_only=True)
            tokenizer = AutoTokenizer.from_pretrained(self._source, local_files_only=True)
        if any(UNNAMED.fullmatch(label) for label in model.config.id2label.values()):
            raise RecognitionFailed(f"the model in {self._source} does not name its labels")
        tokenizer.model_max_length = min(tokenizer.model_max_length, LONGEST)
        made: Any = TokenClassificationPipeline
        return made(model=model, tokenizer=tokenizer, aggregation_strategy="average", stride=SHARED, device="cpu")


class SpacyPipeline:
    """A pipeline of spaCy, by its folder or the package that it came as. It does not say how sure it is."""

    def __init__(self, source: str) -> None:
        self._source = source

    def names(self, texts: Sequence[str]) -> list[list[Name]]:
        """See Recogniser."""
        return [
            list(_names((entity.text, entity.label_, SURE) for entity in text.ents))
            for text in self._pipeline.pipe(texts, batch_size=AT_ONCE)
        ]

    @cached_property
    def _pipeline(self) -> Any:
        import spacy

        return spacy.load(self._source)


def _names(found: Iterable[tuple[str, str, float]]) -> Iterator[Name]:
    """Return those that are names, with their label as we call it."""
    for text, label, confidence in found:
        text, label = " ".join(text.split()), label.upper()
        if text and len(text) <= LONGEST_NAME and label not in NUMBERS_AND_TIMES:
            yield Name(text, LABELS.get(label, "misc"), round(min(1.0, max(0.0, float(confidence))), 4))


class BoundRecogniser:
    """The recogniser that the settings name, loaded when first asked. Threads may share it."""

    def __init__(self, source: str, *, timeout: float) -> None:
        self._source, self._timeout = source, timeout
        self._guard = ModelGuard("recognition_failed", failure=RecognitionFailed)
        self._thread = ModelThread("recogniser", failure=RecognitionFailed)

    @cached_property
    def _recogniser(self) -> Recogniser:
        if self._source.startswith(SPACY):
            return SpacyPipeline(self._source.removeprefix(SPACY))
        return TokenClassifier(self._source)

    def names(self, texts: Sequence[str]) -> list[list[Name]]:
        """Return the names in each text, in their order. Raise RecognitionFailed, InsideTransaction."""
        found = list[list[Name]]()
        with self._guard.asking(texts=len(texts)):
            for start in range(0, len(texts), AT_ONCE):
                found += self._thread.run(self._timeout, self._read, texts[start : start + AT_ONCE])
        return found

    def _read(self, texts: Sequence[str]) -> list[list[Name]]:
        return self._recogniser.names(texts)


_bound = lru_cache(maxsize=1)(BoundRecogniser)


def current_recogniser() -> BoundRecogniser | None:
    """Return the recogniser that the settings name, with what it learned of failures, or None."""
    return _bound(settings.ENTITY_MODEL, timeout=settings.ENTITY_TIMEOUT) if settings.ENTITY_MODEL else None
