"""Which English words say what of whom: the verbs, complements and nouns that the pattern extractor knows."""

import re
from dataclasses import dataclass

from conflicts.keys import PRESENT, canonical_predicate
from memories.extraction import values
from memories.extraction.values import FLAGS, Reader, whole
from memories.language.word_lists import STOPWORDS, listed, word_list


@dataclass(frozen=True, slots=True)
class Pattern:
    """Words that stand before a value, the predicate they mean, and what reads the value.

    `many`: "A, B and C" are several values. `plan`: it speaks of the future.
    """

    predicate: str
    lead: re.Pattern[str]
    read: Reader
    many: bool = False
    plan: bool = False


def pattern(predicate: str, lead: str, read: Reader, *, many: bool = False, plan: bool = False) -> Pattern:
    """Return a pattern from the source of its regular expression; a space in it is any one space."""
    return Pattern(predicate, re.compile(lead.replace(" ", r"\s"), FLAGS), read, many, plan)


def verbs(s: str) -> tuple[Pattern, ...]:
    """Return what stands behind a subject, with the ending of the third person or without."""
    es, have, live, move = ("es", "has", "lives", "moves") if s else ("", "have", "liv(?:e|ing)", "mov(?:e|ing)")
    pets = r"(?:dog|cat|puppy|kitten|rabbit|bunny|hamster|parrot|horse|tortoise|turtle|goldfish|snake|guinea pig|pet)"
    return (
        pattern("lives_in", rf"{live} (?:(?:out|over|up|down) )?(?:in|at(?= \d)) ", values.place),
        pattern(
            "lives_in",
            r"(?:have |has |'ve |'s )?(?:just )?(?:moved|relocated) (?:back |over )?(?:from (?:\w+ ){1,3})?to ",
            values.new_home,
        ),
        pattern("lives_in", rf"(?:{move}|relocat(?:e|ing)) (?:back |over )?to ", values.place, plan=True),
        pattern("works_at", rf"work(?:{s or '|ing'}) (?:(?:full|part)[ -]time )?(?:at|for) ", values.employer),
        pattern("role", rf"work{s} as (?=an? )", values.role),
        pattern("prefers", rf"(?:would )?prefer{s} ", values.liked),
        pattern("likes", rf"(?:like|love|enjoy|adore){s} ", values.liked),
        pattern("dislikes", rf"(?:hate|dislike|detest|despise|loathe){s} |can(?:'t|not) stand ", values.liked),
        pattern("eats", rf"eat{s} ", values.liked),
        pattern("drinks", rf"drink{s} ", values.liked),
        pattern("diet", rf"(?:follow{s}|keep{s}|eat{s}) ", whole(re.compile(values.DIETS, FLAGS), 1)),
        pattern("speaks", rf"speak{s} (?:fluent |some |good |a little )?", values.language, many=True),
        pattern("pet", rf"(?:{have}|'ve got|own{s}) an? (?:[\w-]+ ){{0,3}}?{pets},? (?:named|called) ", values.person),
        pattern(
            "pet",
            rf"(?:{have}|'ve got|own{s}) an? (?=(?:[\w-]+ ){{0,3}}?{pets}\b(?!,? (?:named|called|\w)))",
            values.thing,
        ),
        pattern("allergic_to", rf"{have} an? (?:\w+ )?allergy to ", values.allergen, many=True),
        pattern("owns", rf"own{s} (?=(?:an?|the|two|three|\d+) )", values.liked),
        pattern("drives", rf"drive{s} an? ", values.liked),
        pattern("name", rf"go{es} by ", values.person),
    )


FIRST, THIRD = verbs(""), verbs("s")

DIET = whole(re.compile(values.DIETS, FLAGS), 1)
# Behind "am" and "is".
COMPLEMENTS = (
    pattern("lives_in", r"(?:living|based|located) (?:(?:out|over) )?in ", values.place),
    pattern("lives_in", r"(?:moving|relocating) (?:back |over )?to ", values.place, plan=True),
    pattern("from", r"(?:originally )?from ", values.place),
    pattern("works_at", r"(?:working|employed) (?:full-time |part-time )?(?:at|for|by) ", values.employer),
    pattern("role", r"(?:working |employed )?as (?=an? )|(?=\w)", values.role),
    pattern("role", r"(?:working|employed) as (?=an? )", values.role),
    pattern("diet", r"(?:on )?", DIET),
    pattern("allergic_to", r"(?:\w+ly )?allergic to ", values.allergen, many=True),
    pattern("age", r"", whole(values.AGE)),
    pattern("spouse", r"married to ", values.person),
    pattern("speaks", r"(?:fluent in|a native speaker of) ", values.language, many=True),
    pattern("speaks", r"(?=an? native )an? native ", values.language),
    pattern("timezone", r"(?:in|on) (?:the )?(?=(?:UTC|GMT)\b|\S+(?: \S+)? time)", whole(values.ZONE, 1)),
    pattern("likes", r"an? (?:\w+ )?fan of ", values.liked),
    pattern("likes", r"(?:really )?into (?=\w)", values.liked),
    pattern("name", r"(?:called|named) ", values.person),
    pattern("birthday", r"born on ", whole(values.DATE)),
    pattern("born_in", r"born in ", values.place),
)
INTRODUCED = pattern("name", r"", values.introduced)
# Behind "was".
BORN = COMPLEMENTS[-2:]

# A second claim in the same breath: a nurse at Mercy Hospital, at Boeing as a welder.
FURTHER = {
    "role": pattern("works_at", r" (?:at|for|of|with) ", values.employer),
    "works_at": pattern("role", r" as (?=an? )", values.role),
}


def _led_team(text: str, start: int, end: int) -> values.Span | None:
    """Return what somebody leads, when an employer is named behind it: customer operations at Fjordline."""
    before = start
    for number, (at, to) in enumerate(values.words(text, start, end, 6)):
        if text[at:to].lower() in {"at", "for"} and number:
            named = values.employer(text, min(to + 1, end), end)
            return (start, before) if named else None
        before = to
    return None


LEADING = pattern("role", r"(?:leads|runs|heads|manages|directs) (?=\w)", _led_team)
LEADING_MYSELF = pattern("role", r"(?:lead|run|head|manage|direct) (?=\w)", _led_team)

MONEYED = listed(
    "budget salary income rent mortgage allowance limit spending_limit price_limit maximum_budget max_budget"
)
DATED = listed("birthday deadline anniversary due_date wedding_date birth_date date_of_birth departure_date start_date")
RELATED = word_list(__file__, "related")
PETS = listed("dog cat puppy kitten rabbit hamster parrot horse pet bird")
# Nouns that may have a value in lower case.
LOOSE = listed("hobby hometown favourite_colour nationality instrument")
ADDRESSES = listed("address home_address street_address mailing_address postal_address shipping_address")
EMPLOYERS = listed("employer company workplace")
# What these nouns mean behind "my"; all other names are the registry's.
SPOKEN = {"number": "phone", "cell": "phone", "title": "role", "position": "role", "profession": "role"}
READERS: dict[str, Reader] = {
    "name": values.person,
    "spouse": values.person,
    "pet": values.person,
    "email": whole(values.EMAIL),
    "phone": whole(values.PHONE),
    "age": whole(values.AGE),
    "timezone": whole(values.ZONE, 1),
    "speaks": values.language,
    "language": values.language,
    "role": values.role,
    "diet": DIET,
    "prefers": values.liked,
    "lives_in": values.place,
    "born_in": values.place,
    "allergic_to": values.allergen,
    "works_at": values.employer,
    **dict.fromkeys(ADDRESSES, values.address),
    "first_name": values.person,
    "last_name": values.person,
}
VAGUE = word_list(__file__, "vague")


# What before a noun makes it a thing of the past.
PAST = listed("old previous former original initial earlier past ex late")


def reader(noun: str) -> tuple[str, Reader] | None:
    """Return the predicate of a noun (snake_case) and what reads its value; None when it makes no claim."""
    first, _, rest = noun.partition("_")
    if first in PAST:
        return None
    noun = rest if rest and first in PRESENT else noun
    base = noun.removesuffix("_name")
    noun = base if base in RELATED | PETS | EMPLOYERS or canonical_predicate(base) == "spouse" else noun
    noun = SPOKEN.get(noun, noun)
    predicate = "pet" if noun in PETS else canonical_predicate(noun)
    if {noun, predicate} & MONEYED:
        return predicate, whole(values.AMOUNT)
    if {noun, predicate} & DATED:
        return predicate, whole(values.DATE)
    if noun in RELATED or noun in PETS:
        return predicate, values.person
    if predicate in READERS:
        return predicate, READERS[predicate]
    if noun.startswith(("favourite_", "preferred_")) or noun in LOOSE:
        return predicate, values.liked
    return None if (VAGUE | STOPWORDS) & set(noun.split("_")) else (predicate, values.named)
