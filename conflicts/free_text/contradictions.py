"""Contradictions: whether a free text states another value than a standing claim, by its words alone.

Pure. A sentence contradicts when it speaks of the claim's subject and predicate, names another value of the same kind
in their place, or denies the claim's own, and does not affirm that. Questions, conditions, plans and the past say
nothing of now; another owner or another thing ("the user's sister", "the dinner budget") says nothing of this claim.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial

from conflicts.enums import Normaliser
from conflicts.free_text import sightings
from conflicts.free_text.cues import CHANGED, CLOSED, COMPANY, CUES, PEOPLE, Cue
from conflicts.free_text.owners import speaks_of
from conflicts.free_text.passages import Passage, passages, stem, stems_of
from conflicts.free_text.sightings import Sighting
from conflicts.keys import USERS, canonical_value, subject_key
from memories.language.tokenizer import TOKEN
from memories.language.word_lists import word_list

FAR, BEFORE = 70, 25  # characters between a cue and its value, and before both
FARTHER = 160  # for who is suspicious
MOST_CLAUSES = 8
SPEAKERS = frozenset({"we", "us", "our"})  # of whom the user may be none
OFTEN_READ = 600  # characters of a text that an answer is read for
LINKS = word_list(__file__, "links")
BLOCKED = {
    "budget": r"spent|costs?|costing|paid|price[ds]?|charged?|fees?|deposit|remaining|left|exceed\w*|saved|saving|worth"
    r"|rent|salary|hotels?|flights?|tickets?|tax|tips?|discount|invoice|bill|out of|(?:over|under|up|down|cut"
    r"|reduced|raised"
    r"|increased|lowered) by|per|each|dinner|lunch|refund|owes?|includ\w*|covers?|exceed\w*|fits?|fitting|version"
    r"|model|option",
    "lives_in": r"works?|working|visit\w*|travel\w*|trip|flew|fly\w*|flight|born|grew|office|conference|meeting|holiday"
    r"|vacation|wants?|dreams?|hopes?|plans?|studi\w+|employ\w*|sister|brother|parents|loves?|near|miles|north|south"
    r"|friends?|company|with|prices?|market|return\w*|from (?!.*\bto\b)",
    "deadline": r"start\w*|kick\w*|began|begin\w*|sent|received|created|updated|meeting|review|draft|remind\w*|born"
    r"|after|since|signed|written|mentioned|discussed|asked|holiday|vacation",
    "port": r"version|timeout|seconds|retries|size|took|memory|replicas|not",
    "favorite_color": r"car|shirts?|dress|jacket|least|bought|paint\w*|wears?|wore|walls?|shoes|bike|hat|eyes|sofa"
    r"|team|sister|friends?|hair",
}
BLOCKS = {name: re.compile(rf"\b(?:{words})\b", re.IGNORECASE) for name, words in BLOCKED.items()}
# Said of the value itself, a few words before it; and right before it, where another one follows.
DENIES = (
    r"not|never|no longer|instead of|rather than|formerly|previously|outdated|wrong|forget|ignore|scrap|disregard"
    r"|discard|drop|replac\w+|supersed\w+|stopped|quit|overrid\w+|invalid\w*|stale|mistaken\w*|incorrect\w*|neither|nor"
    r"|nowhere near|nothing like|far from|anything but|contrary to|isn|doesn"
)
# An order about a value that stands is no denial of it: "don't expose 5432".
ORDERED = re.compile(
    r"\b(?:do not|don't|never) (?:expose|share|publish|leak|post|reveal|open|block|close)\b", re.IGNORECASE
)
ONCE = (
    r"from|was|were|over|than|out of|left|leaving|old|former|previous|prior|expected|used to be|away from|about|without"
    r"|hates?|dislikes?"
)
DENIED_BEFORE = re.compile(
    rf"(?:(?:\b(?:{DENIES})|n't|≠|!=)\W+(?:\w+\W+){{0,4}}?|\b(?:{ONCE})\W{{1,2}}(?:the |a |an |in )?\W?)$",
    re.IGNORECASE,
)
STRICT_BEFORE = re.compile(rf"(?:(?:\b(?:{DENIES})|n't|≠|!=)\W+(?:\w+\W+){{0,4}}?|\b(?:from|left) )$", re.IGNORECASE)
# Another value that is said not to be so is none: "not $13", "don't live in Rome"; "not $750 but $13" says $13.
REFUTED_BEFORE = re.compile(
    r"(?:\b(?:not|never|no longer|neither|nor|hardly)|n't)\W+(?:(?:an?|the|in|at|on|for|to|of|by|any|really|actually"
    r"|exactly|just|called|named|know|think|believe|say|said|i|we|that|liv(?:e|es|ed|ing)|work|works|worked|working|be"
    r"|been|go|going|even|ever|my|his|her|their|our|your|is|it|due|until|from|as|with|based|located|set|currently|now"
    r"|like|likes)\W+){0,6}\W*$",
    re.IGNORECASE,
)
DENIED_AFTER = re.compile(
    r"\W{0,3}(?:figure|value|amount|number|claim|one|date|note|entry|thing|budget|deadline|port|limit|address|city"
    r"|colou?r)?\s?(?:(?:that was )?(?:mentioned|said|given|stated|noted|recorded|listed)\w* (?:before|earlier)\W*)?"
    r"(?:(?:on|for|of|at) (?:the |our |my )?(?:[\w'-]+ ){1,3}?)?"
    r"(?:(?:is|was|are|were|has been)\s(?:now |no longer|not|wrong|outdated|out of date|incorrect|obsolete|old|stale"
    r"|false|history|a (?:mistake|typo|lie)|invalid|replaced|superseded|cancelled|changed|gone|void|dead|in error"
    r"|mistaken|over|off the table|out of the question|withdrawn|retired|sold|shut|closed(?! to\b)|switched off"
    r"|decommissioned)\b|isn't|wasn't|no longer|→|->|any ?more|\(?(?:old|outdated|wrong|obsolete|former|previous)\b"
    r"|(?:up|down)? ?to (?=[$€£\d]|(?-i:[A-Z]))|doesn't|does not)",
    re.IGNORECASE,
)
NOT_CHANGED = re.compile(rf"\W{{0,3}}(?:\w+ )?(?:is|was|were)(?: not|n't) (?:{CHANGED})\b", re.IGNORECASE)
UNCERTAIN = re.compile(
    r"\b(?:if|unless|whether|suppose|supposing|would|could be|might|what if|hypothetical\w*|imagine|pretend|example"
    r"|for instance|e\.g"
    r"|(?<!when )asked(?!.{0,120}\b(?:answered|replied|said))"
    r"|asks|ask|wonder\w*|considering|considered|decided against|turned down"
    r"|thinking of|thinking about|dream\w*|hop(?:es?|ing) to"
    r"|plan(?:s|ning)? (?:to|on)|wish\w*|want(?:s|ed)? to (?:live|move|relocate)|someday|one day|propos\w+"
    r"|suggest\w+)\b",
    re.IGNORECASE,
)
# Who answers a question, or says what somebody would always choose, supposes nothing.
ANSWERED = re.compile(
    r"\b(?:if|in case|should|when) (?:you|anyone|anybody|someone|somebody|they)\b[^,:;]{0,60}[,:;]"
    r"|\bwould (?:always |still |now )?(?:choose|pick|say|call|name|describe)\b",
    re.IGNORECASE,
)
# What is left for another: "swapped Prague for Vienna".
GIVEN_UP = re.compile(
    r"\b(?:left|leaves|leaving|swapp?\w*|trad(?:ed|es|ing)|switched|exchang\w+|gave up|abandon\w+)(?: from)? $"
)
PAST = re.compile(
    r"\b(?:used to|formerly|previously|originally|last (?:year|month|week|spring|summer|autumn|fall|winter|time)"
    r"|ago|back then|back in|in the past|as an? (?:child|kid|student|teenager)|grew up|until recently"
    r"|until last|had \w+ed|initially"
    r"|last quarter|at first|years before|once (?:lived|had)|had been|earlier (?:this|in)|in (?:19|20)[01]\d|lived"
    r"|in the (?:19)?[5-9]0s|when (?:he|she|they|the user) (?:was|were)|childhood|at university)\b",
    re.IGNORECASE,
)
NOW = re.compile(
    r"\b(?:now|currently|today|nowadays|these days|at present|as of|since then|no longer|any ?more|has been|have been"
    r"|changed|updated|(?:reduced|lowered|raised|moved|cut|set|increased|dropped|slashed|trimmed) to|instead"
    r"|correct)\b",
    re.IGNORECASE,
)
# What has to be done by a time has a deadline, whatever is to be done.
OBLIGED = re.compile(
    r"\b(?:must|has to|have to|needs? to|should|shall|is to|are to|ought to|can|may)\b[^.;]{0,60}?"
    r"\b(?:by|before|until|no later than|not later than)\b",
    re.IGNORECASE,
)
FOREIGN = re.compile(
    r"[\"“”«»`<>\n|{}\[\]#]|(?<!\w)'|:\s|https?:|\b(?:said|says|saying|told|tells|wrote|writes|written|according|reads|claims?"
    r"|claimed|mention\w*|report\w*|state[sd]|quot\w+|page|website|site|e?-?mail|document|article|message|note|letter|file"
    r"|he|she|they|him|her)\b",
    re.IGNORECASE,
)
CLAUSES = re.compile(r"[,;:]\s|\bbut\b|\balthough\b|\bthough\b", re.IGNORECASE)
RISKS = (
    r"allerg\w*|hypoallerg\w+|intoleran\w+|react\w*|anaphyla\w+|troubles?|problems?|issues?|harms?|danger\w*|suffer\w*"
    r"|sick|ill|unsafe|risks?|restrictions?|avoid\w*|sensitiv\w*"
)
FINE = (
    r"safe\w*|fine|ok|okay|harmless|eats?|eating|loves?|enjoys?|tolerat\w*|consumes?|snacks?|nothing against|serve[sd]?"
    r"|serving|happily|devours?|digests?|handles?|welcome"
)
NOT = r"(?:\b(?:not|no|never|none|nothing|without|cannot|neither|nor|zero|hardly|free of)\b|n't)"
GONE = re.compile(
    r"\b(?:gone|outgr\w+|cured|dis-?prov\w+|false\w*|mistake\w*|wrong\w*|misdiagnos\w*|myth|resolved|went away"
    r"|vanish\w*"
    r"|ruled? out|disappear\w*|over(?:came|come)|over (?:their|his|her|the|my|it)|untrue|error|ceased|ended|no more"
    r"|anymore a|a thing of the past|refuted|never existed|debunked|lifted|removed|negative)\b",
    re.IGNORECASE,
)
RISK = re.compile(rf"\b(?:{RISKS})\b", re.IGNORECASE)
NO_RISK = re.compile(
    rf"{NOT}\W+(?:(?!but\b)[\w']+\W+){{0,5}}?(?:{RISKS})\b"
    rf"|\b(?:{RISKS})[\s:=-]+(?:none|nil|nothing|no)\b|allerg\w+[- ]free",
    re.IGNORECASE,
)
IS_FINE = re.compile(rf"\b(?:{FINE})\b", re.IGNORECASE)
NOT_FINE = re.compile(rf"(?:{NOT}|\bavoid\w*)\W+(?:[\w']+\W+){{0,4}}?(?:{FINE})\b", re.IGNORECASE)
OTHER = re.compile(
    r"allergic to (?!(?:any|anything|nothing|food|it|them)\b)\w+"
    r"|\b(?!(?:any|an|no|zero|more|the|food|known|their|his|her|my|user's|s|of|peanut)\b)\w+ allerg(?:y|ies)\b",
    re.IGNORECASE,
)


# Who may not go beyond a value confirms it: "can't go over $600".
AT_MOST = re.compile(
    r"(?:\b(?:not|never|cannot)|n't) (?:\w+ ){0,3}?(?:over|above|more than|exceed|beyond|past|later than|after|miss)\b",
    re.IGNORECASE,
)
# By these a port is named without the word: database:5433, -p 5433.
BEFORE_PORT = re.compile(r":(?=\d{3,5}\b(?![-:]|\.\d))|(?<!\S)-p(?= ?\d)|\b(?:tcp|udp)/(?=\d)|(?<=\d)/(?:tcp|udp)\b")
WORDLESS = {"port": BEFORE_PORT, "deadline": OBLIGED}
# That there is none: "has no budget limit at all".
HAS_NONE = re.compile(
    r"\b(?:has|have|got|is|there's|with|are) (?:now |currently |absolutely )?no (?:longer (?:an? )?)?$", re.IGNORECASE
)
NONE_LEFT = re.compile(
    r"(?: (?:limit|cap|at all|whatsoever|any ?more|now|of any kind))*\s*(?:[.;,!)]|$)", re.IGNORECASE
)
# What is only cheap when it is called budget.
CHEAP = frozenset(
    {"airline", "hotel", "flight", "travel", "brand", "phone", "laptop", "friendly", "model", "carrier", "airfare"}
)
# Behind "favourite", so that it is not said of a film or a flower.
ALONE: tuple[list[str], ...] = (
    [],
    ["is"],
    ["one"],
    ["among"],
    ["of"],
    ["would"],
    ["has"],
    ["will"],
    ["these"],
    ["now"],
    ["today"],
)


# How values of a kind are seen, and which of them are a claim's own.
Kind = tuple[Callable[[Passage], Iterator[Sighting]] | None, Callable[[str], bool]]


@dataclass(frozen=True, slots=True)
class Standing:
    """A claim that stands, under the name of its predicate and with its other names."""

    subject: str
    predicate: str
    value: str
    normaliser: str
    spellings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Contrary:
    """What a text says against a claim: another value, or (`negated`) that the claim's own is not so.

    `sure`: it can mean nothing else, so that it may wait for a person; else it is only labelled.
    """

    value: str
    negated: bool = False
    sure: bool = True


def find_contradiction(text_passages: Sequence[Passage], claim: Standing) -> Contrary | None:
    """What the passages of a text say against a claim; None when they agree with it, add to it or say nothing of it."""
    cues = cues_of(claim)
    for passage in text_passages:
        if found := _against(passage, claim, cues):
            # What the same text asks, supposes or tells of the past may be what all of it is about.
            sure = (
                found.sure and _names_owner(passage, claim, cues) and not any(map(_says_nothing_of_now, text_passages))
            )
            return replace(found, sure=sure)
    return None


def find_difference(text_passages: Sequence[Passage], claim: Standing) -> Contrary | None:
    """As `find_contradiction`, but suspicious: any value of the kind beside the cue is taken for what it speaks of."""
    cues = cues_of(claim)
    for passage in text_passages:
        if found := _against(passage, claim, cues, loosely=True):
            return found
    return None


def is_spoken_of(text_passages: Sequence[Passage], claim: Standing) -> bool:
    """Return whether the passages name a claim's key: its subject and its predicate."""
    cues = cues_of(claim)
    return any(
        speaks_of(passage, span, claim, cues)
        for passage in text_passages
        for span in _cue_spans(passage, claim.predicate, cues)
    )


def read(text: str) -> list[Passage]:
    """Return the passages of a text; those of short ones, which are read with every question, are kept for a while."""
    return list(_read_again(text) if len(text) <= OFTEN_READ else passages(text))


@lru_cache(maxsize=512)
def _read_again(text: str) -> tuple[Passage, ...]:
    return tuple(passages(text))


def cues_of(claim: Standing) -> tuple[Cue, ...]:
    """Return all phrases that speak of its predicate."""
    return _cues_named(claim.predicate, claim.spellings)


@lru_cache(maxsize=1024)
def _cues_named(predicate: str, spellings: tuple[str, ...]) -> tuple[Cue, ...]:
    named = {stems_of(name) for name in (predicate, *spellings)}
    return (*(Cue(stems) for stems in named), *CUES.get(predicate, ()))


def _against(passage: Passage, claim: Standing, cues: Sequence[Cue], *, loosely: bool = False) -> Contrary | None:
    spans = _cue_spans(passage, claim.predicate, cues)
    seen, same = kind_of(claim)
    found = list(seen(passage)) if seen else []
    if claim.normaliser == Normaliser.NUMBER:
        # So rare a value is spoken of without a cue.
        spans += [(s.start, s.end) for s in found if same(s.form) and denied(passage, s, strict=True)]
    if loosely:
        given_up = ((GIVEN_UP.search(passage.text, 0, s.start), s) for s in found if same(s.form))
        spans += [(verb.start(), own.end) for verb, own in given_up if verb]
    if not spans or _says_nothing_of_now(passage, loosely=loosely):
        return None
    if loosely and not found and seen == sightings.places:
        found = list(sightings.small_places(passage))
    spans = [span for span in spans if speaks_of(passage, span, claim, cues, values=found, loosely=loosely)]
    if not spans:
        return None
    if claim.predicate in ("allergic_to", "intolerant_to"):
        return _freed(passage, claim)
    if (loosely or claim.predicate in ("budget", "deadline")) and any(
        _is_denied_to_be(passage, span) for span in spans
    ):
        return Contrary(claim.value, negated=True)
    own = [s for s in found if same(s.form)] or list(literal(passage, claim.value))
    others = [s for s in found if not same(s.form) and not any(s.start < o.end and o.start < s.end for o in own)]
    attached = [s for s in others if any(_is_attached(passage, span, s, claim, loosely=loosely) for span in spans)]
    attached = [s for s in attached if not REFUTED_BEFORE.search(passage.text, 0, s.start)]
    kept = [one for one in own if not (loosely and GIVEN_UP.search(passage.text, 0, one.start))]
    if any(not denied(passage, one, strict=not attached) for one in kept):
        return None
    if attached:
        first = min(attached, key=lambda s: (not s.sure, s.start))
        alone = len({one.form for one in others}) == 1 and (first.sure or claim.predicate not in CUES)
        return Contrary(passage.text[first.start : first.end].strip(), sure=alone)
    return Contrary(claim.value, negated=True) if own else None


def _names_owner(passage: Passage, claim: Standing, cues: Sequence[Cue]) -> bool:
    """Whether it is surely the user's, where the claim is: the user is named, or nobody is and the key plainly."""
    stems = {word.stem for word in passage.words}
    if subject_key(claim.subject) not in USERS or stems & PEOPLE - SPEAKERS:
        return True
    return not stems & SPEAKERS and bool(_cue_spans(passage, claim.predicate, [cue for cue in cues if not cue.weak]))


def _cue_spans(passage: Passage, predicate: str, cues: Sequence[Cue]) -> list[tuple[int, int]]:
    stems = [word.stem for word in passage.words]
    low = passage.text.lower().replace("colour", "color").replace("colors", "color").replace("favourite", "favorite")
    company: bool | None = None
    found = []
    for cue in cues:
        for start, end in places_of(cue, stems):
            if cue.weak and company is None:
                company = _in_company(low, predicate)
            if company or not cue.weak:
                found.append((passage.words[start].start, passage.words[end - 1].end))
    if predicate in WORDLESS:
        found += [match.span() for match in WORDLESS[predicate].finditer(passage.text)]
    return found


def places_of(cue: Cue, stems: list[str]) -> Iterator[tuple[int, int]]:
    """Return where the words of a cue stand, and speak of more than of the next word."""
    if cue.stems[0] not in stems:
        return
    for start in range(len(stems) - len(cue.stems) + 1):
        end = start + len(cue.stems)
        if tuple(stems[start:end]) == cue.stems and not _is_of_what_follows(cue, stems[end : end + 1]):
            yield start, end


def _is_of_what_follows(cue: Cue, following: list[str]) -> bool:
    """Return whether the cue only describes the next word: a budget airline, a favourite film."""
    if cue.stems == ("price", "range"):
        return following == ["from"]
    if cue.stems == ("budget",):
        return bool(CHEAP.intersection(following))
    return cue.weak and cue.stems == ("favorite",) and following not in ALONE


def _in_company(low: str, predicate: str) -> bool:
    wanted = COMPANY.get(predicate)
    return wanted is None or any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", low) for word in wanted)


def _says_nothing_of_now(passage: Passage, *, loosely: bool = False) -> bool:
    text = passage.text.rstrip(" \"')")
    text = ANSWERED.sub(" ", text) if loosely else text
    if text.endswith("?") or UNCERTAIN.search(text):
        return True
    return bool(PAST.search(text)) and not NOW.search(text)


def kind_of(claim: Standing) -> Kind:
    """Return how values of the claim's kind are seen, and which of them are its own."""
    own = claim.value.strip()
    low = own.casefold().rstrip(".")
    closed = CLOSED.get(claim.predicate)
    if closed and stem(low) in closed:
        return partial(sightings.listed_words, known=closed), lambda form: form == stem(low).replace("grey", "gray")
    if claim.normaliser == Normaliser.MONEY or canonical_value(text=own, normaliser=Normaliser.MONEY).startswith(
        tuple(f"money:{code} " for code in ("usd", "eur", "gbp", "jpy", "chf"))
    ):
        return sightings.money, partial(_is_one_of, sightings.money, own)
    if claim.normaliser == Normaliser.DATE or canonical_value(text=own, normaliser=Normaliser.DATE).count("-") == 2:
        forms = [s.form for s in sightings.dates(_alone(own))]
        return sightings.dates, lambda form: any(sightings.same_date(form, one) for one in forms)
    if claim.normaliser == Normaliser.NUMBER or re.fullmatch(r"\d+(?:\.\d+)?", own):
        return sightings.numbers, partial(_is_one_of, sightings.numbers, own)
    if claim.predicate in ("lives_in", "born_in"):
        return sightings.places, partial(_overlaps, low)
    if re.search(r"\d", own):
        return sightings.codes, partial(_overlaps, low)
    return (sightings.names if own[:1].isupper() else None), partial(_overlaps, low)


def is_of_kind(value: str, claim: Standing) -> bool:
    """Return whether a value may stand in the place of the claim's."""
    seen, _ = kind_of(claim)
    return bool(seen and any(True for _ in seen(_alone(value))))


def agrees(value: str, claim: Standing) -> bool:
    """Return whether a value that was read out of a text says what the claim does, in other words."""
    seen, same = kind_of(claim)
    found = list(seen(_alone(value))) if seen else []
    return bool(found) and all(same(sighting.form) for sighting in found)


def _alone(text: str) -> Passage:
    return next(iter(passages(text)), Passage("", ()))


def _is_one_of(seen: Callable[[Passage], Iterator[Sighting]], own: str, form: str) -> bool:
    return form in {s.form for s in seen(_alone(own))}


def _overlaps(own: str, form: str) -> bool:
    """Return whether one says all that the other does: Lisbon, and Lisbon's old town."""
    own_tokens, theirs = set(TOKEN.findall(own)), set(TOKEN.findall(form))
    return bool(own_tokens and theirs) and (own_tokens <= theirs or theirs <= own_tokens)


def literal(passage: Passage, value: str) -> Iterator[Sighting]:
    text = value.strip().rstrip(".")
    if text:
        for match in re.finditer(rf"(?<!\w){re.escape(text)}(?!\w)", passage.text, re.IGNORECASE):
            yield Sighting(text.casefold(), *match.span())


def denied(passage: Passage, own: Sighting, *, strict: bool) -> bool:
    """Whether the claim's own value is said not to be so (any more); `strict` where no other stands in its place."""
    before, after = passage.text[max(0, own.start - 60) : own.start], passage.text[own.end : own.end + 60]
    pattern = STRICT_BEFORE if strict else DENIED_BEFORE
    before = AT_MOST.sub("", ORDERED.sub("", before))
    after = "" if strict and NOT_CHANGED.match(after) else after
    return bool(pattern.search(before) or DENIED_AFTER.match(after))


def _is_denied_to_be(passage: Passage, span: tuple[int, int]) -> bool:
    """Return whether there is said to be none of what the cue speaks of."""
    return bool(HAS_NONE.search(passage.text[: span[0]]) and NONE_LEFT.match(passage.text, span[1]))


def _is_attached(passage: Passage, span: tuple[int, int], value: Sighting, claim: Standing, *, loosely: bool) -> bool:
    if value.start < span[1] and span[0] < value.end:
        return False
    first, second = sorted([span, (value.start, value.end)])
    gap = passage.text[first[1] : second[0]]
    before = re.split(r"[.,:;!?]", passage.text[max(0, first[0] - BEFORE) : first[0]])[-1]
    before = "" if loosely and claim.predicate != "budget" else before  # of what was spent the rest is left
    blocks = BLOCKS.get(claim.predicate)
    if len(gap) > (FARTHER if loosely else FAR) or (blocks and (blocks.search(gap) or blocks.search(before))):
        return False
    if claim.predicate == "port" and re.match(
        r" of (?:the )?(?!database|server|service)\w+", passage.text[value.end :]
    ):
        return False
    if blocks and blocks.match(passage.text[value.end : value.end + 12].lstrip()):
        return False
    words = {stem(word) for word in re.findall(r"[^\W\d_]+", gap)}
    if span == first:  # "the port of the staging server is …"
        words -= set(stems_of(claim.subject))
    return value.sure or loosely or words <= LINKS


def _freed(passage: Passage, claim: Standing) -> Contrary | None:
    """Return an allergy that a text denies: the claim's, or all of them."""
    words = [stem(word) for word in re.findall(r"[^\W_]+(?:'[^\W_]+)?", claim.value)]
    clauses = [part for part in CLAUSES.split(passage.text) if part.strip()]
    for clause in [passage.text, *clauses] if len(clauses) < MOST_CLAUSES else clauses:
        stems = [stem(word) for word in re.findall(r"[^\W_]+(?:'[^\W_]+)?", clause)]
        named = all(word in stems for word in words)
        if (named or (re.search("allerg", clause, re.IGNORECASE) and not OTHER.search(clause))) and _denies_risk(
            clause, words, named=named
        ):
            return Contrary(claim.value, negated=True)
    return None


def _denies_risk(clause: str, words: Sequence[str], *, named: bool) -> bool:
    if GONE.search(clause) and RISK.search(clause) or NO_RISK.search(clause):
        return True
    kept_away = re.search(rf"{NOT} (?:any )?(?:{'|'.join(map(re.escape, words))})", clause, re.IGNORECASE)
    fine = named and IS_FINE.search(clause) and not NOT_FINE.search(clause)
    return bool(fine and not kept_away and not RISK.search(clause))
