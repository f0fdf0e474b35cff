"""The built-in claim extractor: what plain English statements say of whom, offline and always the same.

It would rather say nothing than something wrong. A sentence is tried at its beginning and behind each comma, "and",
"that" and the like; what stands there has to be a subject, a verb it knows, and a value that its reader accepts.
SPEC 4; seed 3, feature 1.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memories.ingest import patterns, values
from memories.ingest.patterns import COMPLEMENTS, FIRST, THIRD, Pattern
from memories.ingest.quoting import foreign
from memories.ingest.values import FLAGS, Span
from memories.ingest.words import CALENDAR, OPENERS, listed

MOST = 20
LONGEST_KEY = 100
LONGEST_VALUE = 1000
LONGEST_CLAUSE = 400

# One character for another, so that places stay what they are.
PLAIN = {ord(odd): plain for odd, plain in [("’", "'"), ("ʼ", "'"), ("\u00a0", " "), ("\u202f", " "), ("\t", " ")]}
SENTENCE_END = re.compile(r"(?<!\b[A-Z])(?<!\b(?:Dr|Mr|Ms|St))(?<!\b(?:Mrs))(?<!\bProf)[.!?]+[\"”')*]*(?:\s|$)|;|$")
TURN = re.compile(
    r"[ >*_-]{0,6}(?:\[[^\]\n]{1,30}\] ?)?([^\W\d_][\w.'-]{0,40}(?: [^\W_][\w.'-]{0,40}){0,2})[*_]{0,3}:[*_]{0,3}(?:\s|$)"
)
LABELS = listed("note ps p.s update fyi reminder edit summary context fact btw so also remember info tldr answer todo")
MACHINES = listed("system assistant tool function developer ai bot model agent instruction instructions admin")

ADVERBS = r"(?:\s(?:currently|now|actually|really|still|just|also|always|usually|mostly|generally|both|recently|only|personally|absolutely|already|definitely|strongly|much|simply|truly|officially|originally|presently|severely|probably|maybe|certainly|both|very much))"
NOT = r"(?:\s(?:do|does)(?:n't|\snot)|\sno longer|\snever|\sused to|\scan(?:'t|not)(?=\s(?:eat|drink|speak|drive)))"
UNSURE = r"(?:(?:'d|'ll|\s(?:might|may|could|would|should|will))(?:\s(?:not|never))?(?:\s(?:like|love|prefer|want|rather|hope)(?=\sto\s))?(?:\sto)?|\s(?:want|hope|plan|intend|wish|need|expect|try|aim)s?\sto|(?:'m|'s|'re|\s(?:am|is|are))\s(?:planning|going|hoping|thinking|about|considering|trying|looking|supposed|dreaming)(?:\s(?:to|of|about|on))?|\s(?:wanna|gonna|consider|dream\sof)|\sthink\sabout)"
BE = r"(?:'m|'s|'re|\s(?:am|is|are|was)|(?<=\bi)m)"
VERB = re.compile(
    rf"(?P<unsure>{ADVERBS}{{0,3}}{UNSURE})?{ADVERBS}{{0,3}}(?P<not>{NOT})?{ADVERBS}{{0,3}}(?=\s|'ve|'s)\s?", FLAGS
)
IS = re.compile(
    rf"(?:(?P<unsure>{ADVERBS}{{0,2}}{UNSURE})\sbe|{ADVERBS}{{0,2}}(?P<be>{BE}))(?P<not>n't|{ADVERBS}{{0,2}}\s(?:not|no longer|never))?{ADVERBS}{{0,3}}\s",
    FLAGS,
)
BECOMES = re.compile(
    r"(?:'s|\sis|\sare|\sremains|\sequals)(?P<not>n't|\snot|\sno longer)?(?:\s(?:now|currently|still|actually|always|only|really|just|also|exactly|on|at|set (?:to|at)|(?P<about>about|around|roughly|probably|approximately|maybe)))*\s"
    r"|(?:\shas)?(?:\sbeen)?\s(?:changed|increased|decreased|gone up|gone down|raised|lowered|updated|moved|set)\sto\s",
    FLAGS,
)
I_SUBJECT = re.compile(r"(?:I|we)\b", FLAGS)
MINE = re.compile(r"(?:my|our)\s", FLAGS)
THE_USER = re.compile(r"(?:(?:the|this|our)\s)?user\b(?!\s?[:=._-])", FLAGS)
NOUN = re.compile(
    r"[a-z][\w-]{0,30}(?:(?:'s)?\s[a-z][\w-]{0,30}){0,3}?(?='s\s|\s(?:is|isn't|are|has|remains|changed|equals|for)\b)",
    FLAGS,
)
FOR = re.compile(
    r"\s(?:for|of)\s(?:(?:the|my|our|this)\s)?(?P<whole>[^\W_][\w'-]{0,30}(?:\s[^\W_][\w'-]{0,30}){0,4}?)(?='s\s|\s(?:is|isn't|are|has|remains|changed)\b)",
    FLAGS,
)
THE = re.compile(r"the\s", FLAGS)
OF_IT = re.compile(r"(?P<noun>[a-z][\w-]{0,30}(?:\s[a-z][\w-]{0,30}){0,3}?)(?=\s(?:of|for)\s)", FLAGS)
CONTACT = re.compile(
    r"(?:(?:you can |please )?(?:email|reach|contact|e-mail) me (?:at|on)|call me on|call me at)\s", FLAGS
)
CALL_ME = re.compile(
    r"(?:(?:you can|please|just|everyone calls|people call|friends call|my friends call)\s){0,2}(?:call|calls)\sme\s|call\sme\s",
    FLAGS,
)

REPORTING = r"(?:said|says|told|tells|claims|claimed|wrote|writes|mentioned|mentions|reports|reported|thinks|thought|believes|believed|replied|announced|stated|states|insists|insisted|swears|argues|asserts|asserted|confirmed|confirms|asked|suggests|suggested|assumes|assumed|remembers|noted|notes|explained|heard)"
REPORTED = re.compile(
    rf"\b(?P<who>[^\W\d_][\w'-]{{0,40}})\s(?:(?:just|also|once|has|had|already|later)\s){{0,2}}(?P<verb>{REPORTING})\b|\baccording to\s(?!me\b)|\brumou?rs?\b|\b(?:quote|quoting)\b",
    FLAGS,
)
OWN = listed("i we")
HEARSAY = listed("heard")
DOUBT = re.compile(
    r"\b(?:maybe|perhaps|possibly|probably|presumably|if|unless|whether|suppose|supposing|supposedly|allegedly|apparently|imagine|imagining|pretend|pretending|hypothetically|hopefully|assuming|assume|i think|i thought|i guess|i believe|not sure|unsure|i doubt|don't think|might|i wish|wished|wishing|hope|hoping|joking|kidding|for example|for instance|not true|untrue|false|in my dreams?|dreamt|dreamed|role-?play|let's say|say that|once upon|fictional|the character|some day|someday|one day|eventually|guessing|could be|would be|seems?|used to think|likely)\b",
    FLAGS,
)
LATER = re.compile(
    r"\b(?:next (?:week|month|year|spring|summer|autumn|fall|winter)|starting (?:in|on|from|next)|as of next|from next|soon|tomorrow|by the end of|when i (?:grow|retire|finish))\b",
    FLAGS,
)
TIMELESS = listed("birthday deadline anniversary due_date wedding_date start_date departure_date")
AGAIN = re.compile(r",?\s(?:and|but)\s(?:also\s)?", FLAGS)
LIST = re.compile(r",?\s(?:and|or|&)\s|,\s", FLAGS)
THAT_VERBS = r"(?:think|guess|believe|suppose|hope|wish|know|feel|note|remember|confirm|aware|sure|mention|say|fact|mind|forget|assume|imagine|pretend|doubt|true|clear|record|down)"
STARTS = re.compile(
    rf"[,:()\[\]{{}}\"“”«»„‘*>`]\s*|(?<!\w)'(?=\w)|\s(?:-|--|–|—)\s|[—–]"
    r"|\b(?:and|but|because|so|since|although|though|while|that|if|as|plus|where|also|whether|actually|now|currently|hi|hello|hey|yes|yeah|no|nope|well|btw|fyi|then|ok|okay|today|please|anyway|nowadays|maybe|perhaps|possibly|probably|apparently|unless|honestly|personally|sadly|unfortunately|luckily|oh|or|dear all|sorry|correction)\s"
    rf"|\b(?:{THAT_VERBS}|{REPORTING})\s(?:(?:me|us|him|her|them|you|everyone|[A-Z][a-z]{{1,20}})\s)?(?:that\s)?"
    r"|^[ \d]{1,3}[.)]\s|^[-+•]\s",
    FLAGS,
)


@dataclass(frozen=True, slots=True)
class Extracted:
    """A claim that a text makes, and how it makes it.

    `subject` is lower-case, `predicate` snake_case, `value` as written; at most 100, 100 and 1000 characters. `span` is
    the statement's place in the text; the value stands in it. `first_person`: said of themselves by who speaks outside
    quotations. `quoted`: in a quotation, code, markup or reported speech. `negated`: said not to be so. `certain`: false
    for questions, conditions, guesses, wishes and plans.
    """

    subject: str
    predicate: str
    value: str
    span: Span
    first_person: bool
    quoted: bool
    negated: bool
    certain: bool


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of `text` from `start` to `end`, and what holds for all of it.

    `me` is who speaks, None when that is a machine; `whose` is whom "he" and "their" mean in reported speech.
    """

    text: str
    start: int
    end: int
    me: str | None
    reported: int
    whose: str | None
    doubtful: bool
    later: bool


@dataclass(frozen=True, slots=True)
class Found:
    """A statement before it is judged: where it is, what it says, and how."""

    start: int
    subject: str
    predicate: str
    value: Span
    mine: bool = False
    negated: bool = False
    unsure: bool = False
