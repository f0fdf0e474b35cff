"""The grammar of plain statements: where sentences and clauses begin, who speaks, what denies, doubts and reports."""

import re
from collections.abc import Iterable

from memories.extraction.values import FLAGS
from memories.language.word_lists import entries, listed

# What `re.IGNORECASE` takes for a letter besides itself and its capital.
LIKE = {"i": "ıİ", "k": "\u212a", "s": "ſ"}


def either(phrases: Iterable[str]) -> str:
    """Return a regular expression for one of some phrases, tried in their order; each begins with a letter of a to z.

    By the first letter, in a set of both cases: `re` passes such branches over without trying each phrase.
    """
    by_letter: dict[str, list[str]] = {}
    for phrase in phrases:
        by_letter.setdefault(phrase[0], []).append(phrase[1:].replace(" ", r"\s"))
    branches = (
        f"(?-i:[{letter}{letter.upper()}{LIKE.get(letter, '')}])(?:{'|'.join(rests)})"
        for letter, rests in by_letter.items()
    )
    return f"(?:{'|'.join(branches)})"


# One character for another, so that places stay what they are.
PLAIN = {ord(odd): plain for odd, plain in [("’", "'"), ("ʼ", "'"), ("\u00a0", " "), ("\u202f", " "), ("\t", " ")]}
# A run of marks is taken where it begins, and let go at once inside: to try it there again would take quadratic time.
SENTENCE_END = re.compile(
    r"[.!?](?<![.!?].)(?<!\b[A-Z]\.)(?<!\b(?:Dr|Mr|Ms|St|Mt|Ft)\.)(?<!\bMrs\.)(?<!\bProf\.)[.!?]*+[\"”')*]*+(?:\s|$)|;|$"
)
# A line that goes on in the next one: as long as those of a page, and no end of a sentence.
WRAPPED = re.compile(r"^(.{40,}[^\s.!?;:,])\n(?=[a-z][\w']*[ ,.!?])", re.MULTILINE)
# What denies nothing of what the rest says: an answer to somebody, a reminder, another clause.
APART = re.compile(
    r"^\W*(?:no|nope|nah)\s?[,.!]|\b(?:don't|do not|never) forget(?: that\b|\s?[,:])"
    r"|,? (?:but|though|although|whereas)\b",
    re.IGNORECASE,
)
OTHER_VALUE = re.compile(r", (?:and )?not [^,]*$", re.IGNORECASE)  # what a value is not
TURN = re.compile(
    r"[ >*_-]{0,6}(?:\[[^\]\n]{1,30}\] ?)?"
    r"([^\W\d_][\w.'-]{0,40}(?: [^\W_][\w.'-]{0,40}){0,2})[*_]{0,3}:[*_]{0,3}(?:\s|$)"
)
# Who or what may stand before a colon without being a person.
LABELS = listed(
    "note ps p.s update fyi reminder edit summary context fact btw so also remember info tldr answer todo correction"
)
MACHINES = listed("system assistant tool function developer ai bot model agent instruction instructions admin")

# What may stand around a verb, each with the space before it.
ADVERBS = r"(?:\s" + either(entries(__file__, "adverbs")) + ")"
NOT = r"(?:\s(?:do|does)(?:n't|\snot)|\sno longer|\snever|\sused to|\scan(?:'t|not)(?=\s(?:eat|drink|speak|drive)))"
MIGHT = (
    r"(?:'d|'ll|\s(?:might|may|could|would|should|will))(?:\s(?:not|never))?"
    r"(?:\s(?:like|love|prefer|want|rather|hope)(?=\sto\s))?(?:\sto)?"
)
PLANNING = either(
    ["planning", "going", "hoping", "thinking", "about", "considering", "trying", "looking", "supposed", "dreaming"]
)
UNSURE = (
    rf"(?:{MIGHT}|\s(?:want|hope|plan|intend|wish|need|expect|try|aim)s?\sto|\s(?:wanna|gonna|consider|dream\sof)"
    rf"|\sthink\sabout|(?:'m|'s|'re|\s(?:am|is|are))\s{PLANNING}(?:\s(?:to|of|about|on))?)"
)
BE = r"(?:'m|'s|'re|\s(?:am|is|are|was)|(?<=\bi)m)"
VERB = re.compile(
    rf"(?P<unsure>{ADVERBS}{{0,3}}{UNSURE})?{ADVERBS}{{0,3}}(?P<not>{NOT})?{ADVERBS}{{0,3}}(?=\s|'ve|'s)\s?", FLAGS
)
IS = re.compile(
    rf"(?:(?P<unsure>{ADVERBS}{{0,2}}{UNSURE})\sbe|{ADVERBS}{{0,2}}(?P<be>{BE}))"
    rf"(?P<not>n't|{ADVERBS}{{0,2}}\s(?:not|no longer|never))?{ADVERBS}{{0,3}}\s",
    FLAGS,
)
# Between a noun and its value.
BECOMES = re.compile(
    r"(?:'s|\sis|\sare|\sremains|\sequals)(?P<not>n't|\snot|\sno longer)?"
    r"(?:\s(?:now|currently|still|actually|always|only|really|just|also|exactly|on|at|set (?:to|at)"
    r"|(?P<about>about|around|roughly|probably|approximately|maybe))){0,3}\s"
    r"|(?:\shas|\swas)?(?:\sjust)?(?:\sbeen)?\s(?:changed|increased|decreased|(?:gone|went) (?:up|down)|rose|fell"
    r"|dropped|grew|raised|lowered|cut|updated|moved|set)(?:\sfrom\s\S{1,20})?\sto\s",
    FLAGS,
)
IS_NEXT = r"(?:is|isn't|are|has|was|remains|changed|equals|increased|decreased|went|rose|fell|dropped|grew)\b"

I_SUBJECT = re.compile(r"(?:I|we)\b", FLAGS)
FIRST_PERSON = re.compile(r"\b(?:i|we|my|our|me|us|mine|ours|myself)\b", FLAGS)
MINE = re.compile(r"(?:my|our)\s", FLAGS)
THE_USER = re.compile(r"(?:(?:the|this|our)\s)?user\b(?!\s?[:=._-])", FLAGS)
THE = re.compile(r"the\s", FLAGS)
NOUN = re.compile(
    r"[a-z][\w-]{0,30}(?:(?:'s)?\s[a-z][\w-]{0,30}){0,3}?"
    rf"(?='s\s(?!(?:[\w-]{{1,30}}\s){{1,3}}{IS_NEXT})|\s{IS_NEXT}|\sfor\b)",
    FLAGS,
)
OF_IT = re.compile(r"(?P<noun>[a-z][\w-]{0,30}(?:\s[a-z][\w-]{0,30}){0,3}?)(?=\s(?:of|for)\s)", FLAGS)
FOR = re.compile(
    r"\s(?:for|of)\s(?:(?:the|my|our|this)\s)?"
    rf"(?P<whole>[^\W_][\w'-]{{0,30}}(?:\s[^\W_][\w'-]{{0,30}}){{0,4}}?)(?='s\s|\s{IS_NEXT})",
    FLAGS,
)
CONTACT = re.compile(
    r"(?:(?:you can |please )?(?:email|reach|contact|e-mail) me (?:at|on)|call me on|call me at)\s", FLAGS
)
CALL_ME = re.compile(
    r"(?:(?:you can|please|just)\s){0,2}call\sme\s|(?:everyone|people|(?:my\s)?friends)\scalls?\sme\s", FLAGS
)

# I've raised our budget to $700.
CHANGES = re.compile(
    r"(?:I|we)(?:'ve|\shave)?\s(?:just\s)?(?:raised|lowered|increased|decreased|reduced|cut|changed|updated|set|moved|bumped)"
    r"\s(?:my|our|the)\s(?P<noun>[a-z]\w{1,20}(?:\s[a-z]\w{1,20}){0,2}?)(?:\sfrom\s\S{1,20})?(?:\sup|\sdown)?\sto\s",
    FLAGS,
)
# What a denial is limited by: "not only", "don't drink coffee after noon"; said outright, the clause ends behind it.
LIMITS = re.compile(
    r"\b(?:only|just|always|quite|as|too|so"
    r"|(?!(?:really|actually|currently|presently|definitely|certainly|absolutely|personally|truly|officially)\b)\w+ly)\b",
    FLAGS,
)
DENIAL_ENDS = re.compile(
    r"\s(?:any ?more|any longer)\b"
    r"|(?:\s(?:no more|at all|now|either|though|these days|nowadays|currently|right now|for now|after all|ever|so|yet"
    r"|btw|fyi|lol|unfortunately|sadly|thankfully|luckily|today))*"
    r"\s*(?:[.!?,;:)\"”]|$|\s[-–—]"
    r"|\s(?:and|but|or|nor|since|because|due to|starting|which|for \w+ reasons|as (?:of|I|we)|so (?:I|we|stop|please)"
    r"|thank|thanks|sorry|by the way)\b)",
    FLAGS,
)
SINCE = re.compile(r"\s(?:after|as|which|with|so)\b", FLAGS)  # behind "no longer", which tells of a change
AFTERWARDS = re.compile(r"\W*(?:only|just|not|but|and\sthen|then)\b", FLAGS)
MOVES = re.compile(r"\b(?:went|rose|fell|dropped|grew)\b", FLAGS)

REPORTING = either(entries(__file__, "reporting"))
REPORTED = re.compile(
    rf"\b(?!united\sstates\b)(?P<who>[^\W\d_][\w'-]{{0,40}})"
    rf"\s(?:(?:just|also|once|has|had|have|already|later)\s){{0,2}}(?P<verb>{REPORTING})\b"
    r"|\baccording to\s(?!me\b)|\brumou?rs?\b|\b(?:quote|quoting)\b",
    FLAGS,
)
OWN = listed("i we")
ARTICLES = listed("my our the a an")
NOBODY = listed("he she they it you that this who everyone somebody someone nobody people i we and")
HEARSAY = listed("heard")
# Words that leave open whether any of a sentence is so.
DOUBT = re.compile(
    r"\b(?!i think you (?:should|ought to|need to) know\b"
    r"|if (?:it|that|this) (?:helps|matters)\b|if you(?:'re curious| must know| care)\b)"
    + either(entries(__file__, "doubts"))
    + r"\b",
    FLAGS,
)
# A question at the end of a sentence that stated something before: "I'm 33, where does one start?"
ASKS = "(?:any|where|what|which|how|who|why|when|can|could|should|would|will|do|does|did|is|are|am|was|were|have|has)"
ASKS_FIRST = re.compile(rf"\W*(?:and |so |but |hey,? |hi,? |ok,? ){{0,2}}{ASKS}\b", FLAGS)
ASKS_LAST = re.compile(
    r",\s(?:and |so |but )?(?:any|where|what|how|why|can|could|should|do you|does|is there|are there)\b"
    r"(?! (?:if|about)\b)",
    FLAGS,
)
LATER = re.compile(r"\b" + either(entries(__file__, "later")) + r"\b", FLAGS)
TIMELESS = listed(
    "birthday deadline anniversary due_date wedding_date start_date departure_date has_done plans_to wants goal"
)

# A clause without a subject goes on about the last one's.
AGAIN = re.compile(r",?\s(?:and|but)\s(?:also\s)?", FLAGS)
LIST = re.compile(r",?\s(?:and|or|&)\s|,\s", FLAGS)
OPENS = either(entries(__file__, "clause_openers"))
THAT = [*entries(__file__, "that_verbs"), *entries(__file__, "reporting")]
STARTS = re.compile(
    rf"[,:()\[\]{{}}\"“”«»„‘*>`]\s*|'(?<!\w')(?=\w)|\s(?:-|--|–|—)\s|[—–]"
    rf"|\b(?:{OPENS}\s|(?:told|tells)\s\w{{1,30}}\s(?:that\s)?"
    rf"|{either(THAT)}\s(?:(?:me|us|him|them|you|everyone)\s)?(?:that\s)?)"
    r"|^[ \d]{1,3}[.)]\s|^[-+•]\s",
    FLAGS,
)
# Where "I" or "we" may tell something without beginning a clause.
ASIDE = re.compile(
    rf"\b(?:{either(['when', 'after', 'why', 'how much', 'yesterday', 'today', 'tonight', 'recently', 'once', 'ago'])}"
    rf"|{either(['last', 'this', 'one', 'other'])}\s[a-z]{{1,12}})\s(?=(?:I|we)\b)",
    FLAGS,
)


def said_outright(text: str, end: int) -> bool:
    """Return whether a clause ends behind a place, so that nothing limits or outdates what it said."""
    return bool(DENIAL_ENDS.match(text, end)) and not AFTERWARDS.match(text, end)
