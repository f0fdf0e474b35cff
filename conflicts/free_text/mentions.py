"""Mentions: of which keys a text speaks, so that the claims that it may contradict are found by an index.

A sentence names few keys: the subjects that its words can be, with the predicates that its cues speak of; and, for
predicates nobody registered, its own words.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice, product

from conflicts.free_text.cues import CUES
from conflicts.free_text.passages import Passage, Word, stems_of
from conflicts.keys import SEEDS, USER, USERS, Naming, Rule, canonical_key, digests_of_pairs, subject_key
from memories.language.word_lists import STOPWORDS

LONGEST_SUBJECT, LONGEST_PREDICATE = 4, 3  # words
MOST, MOST_WORDS = 2_000, 60  # keys of one text, words of a sentence
Pair = tuple[str, str]  # of a subject and a predicate in canonical form
Index = Mapping[str, Sequence[tuple[tuple[str, ...], str]]]


@dataclass(frozen=True, slots=True)
class Mentions:
    """What texts speak of, in canonical form: subject and predicate together, and subjects with each of predicates."""

    pairs: Collection[Pair]
    subjects: Collection[str] = ()
    predicates: Collection[str] = ()

    def digests(self, *, salt: bytes) -> set[bytes]:
        """Return the digests of all those keys."""
        told = islice(product(sorted(self.predicates), self.subjects), MOST)
        return digests_of_pairs({*self.pairs, *((subject, predicate) for predicate, subject in told)}, salt=salt)


def mentions_of(
    passages: Sequence[Passage],
    names: Naming,
    *,
    telling: Sequence[Passage] = (),
    wanted: Collection[str] | None = None,
) -> Mentions:
    """Return what a text speaks of, and what those `telling` it of the user or of what it names say by known cues.

    Of the `wanted` predicates only, where not all are: most texts speak of none of a few.
    """
    if wanted is not None and not wanted:
        return Mentions(())
    own = _index(tuple(dict.fromkeys(names.registered.values())))
    pairs: dict[Pair, None] = {}
    for passage in passages:
        pairs |= dict.fromkeys(_pairs(passage, own, names, wanted))
        if len(pairs) > MOST:
            break
    told = _named(_known(telling, own), names, wanted)
    runs = (run for passage in passages for _, _, run in _runs(passage, LONGEST_SUBJECT))
    return Mentions(pairs, dict.fromkeys(map(subject_key, chain(USERS, runs))) if told else (), told)


def _known(passages: Iterable[Passage], own: Index) -> set[str]:
    """Return the predicates with a rule of which texts speak."""
    known: set[str] = set()
    for passage in passages:
        stems = tuple(word.stem for word in passage.words[:MOST_WORDS])
        known.update(_built_in_predicates(stems), _predicates(stems, own))
    return known


def _named(predicates: Iterable[str], names: Naming, wanted: Collection[str] | None) -> set[str]:
    """Return the canonical names of predicates, as far as they are wanted."""
    return {name for name in map(names.canonical, predicates) if wanted is None or name in wanted}


def _pairs(passage: Passage, own: Index, names: Naming, wanted: Collection[str] | None) -> Iterator[Pair]:
    known = _named(_known([passage], own), names, wanted)
    told = [
        (start, end, name)
        for start, end, run in _runs(passage, LONGEST_PREDICATE)
        if (name := names.canonical(run)) and (wanted is None or name in wanted)
    ]
    if not known and not told:
        return
    yield from product(map(subject_key, USERS), known)
    yield from ((USER, predicate) for _, _, predicate in told)
    for first, last, run in _runs(passage, LONGEST_SUBJECT):
        subject = subject_key(run)
        yield from ((subject, predicate) for predicate in known)
        for start, end, predicate in told:
            if last == start or (last < start <= last + 2) or (first > end and first <= end + 2) or first == end:
                yield subject, predicate


def _runs(passage: Passage, longest: int) -> Iterator[tuple[int, int, str]]:
    """Return the runs of words that begin and end with one that means something: their places and what they say."""
    tokens = _tokens(passage.words[:MOST_WORDS])
    plain = [canonical_key("".join(word.text for word in token).removesuffix("'s")) for token in tokens]
    telling = [bool(word) and word not in STOPWORDS for word in plain]
    for start in range(len(tokens)):
        if telling[start]:
            for end in range(start + 1, min(start + longest, len(tokens)) + 1):
                if telling[end - 1]:
                    written = canonical_key(passage.text[tokens[start][0].start : tokens[end - 1][-1].end])
                    for run in dict.fromkeys((" ".join(plain[start:end]), written.removesuffix("'s"))):
                        yield start, end, run


def _tokens(words: Sequence[Word]) -> list[list[Word]]:
    """Return the words, those together between which nothing stands: q and 3 are one name."""
    tokens: list[list[Word]] = []
    for word in words:
        if tokens and tokens[-1][-1].end == word.start:
            tokens[-1].append(word)
        else:
            tokens.append([word])
    return tokens


def _predicates(stems: Sequence[str], index: Index) -> Iterator[str]:
    for at, word in enumerate(stems):
        for phrase, name in index.get(word, ()):
            if tuple(stems[at : at + len(phrase)]) == phrase:
                yield name


@lru_cache(maxsize=8192)
def _built_in_predicates(stems: tuple[str, ...]) -> frozenset[str]:
    return frozenset(_predicates(stems, _built_in()))


@lru_cache(maxsize=1)
def _built_in() -> Index:
    found: dict[str, list[tuple[tuple[str, ...], str]]] = defaultdict(list)
    for word, phrases in _index(SEEDS).items():
        found[word] += phrases
    for name, cues in CUES.items():
        for cue in cues:
            found[cue.stems[0]].append((cue.stems, name))
    return found


@lru_cache(maxsize=256)
def _index(rules: tuple[Rule, ...]) -> Index:
    found: dict[str, list[tuple[tuple[str, ...], str]]] = defaultdict(list)
    for rule in rules:
        for name in (rule.name, *rule.aliases):
            if canonical_key(name):
                phrase = stems_of(name)
                found[phrase[0]].append((phrase, rule.name))
    return found
