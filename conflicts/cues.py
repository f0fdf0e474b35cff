"""Cues: the English words by which a text speaks of a predicate, beside its registered names.

All lower-case stems as `passages` makes them. A weak cue says so only in company: "may spend at most", not "spends".
"""

from dataclasses import dataclass
from types import MappingProxyType

from conflicts.passages import stem
from memories.language.word_lists import listed


def _phrases(text: str) -> frozenset[str]:
    """The phrases of a text, that commas stand between."""
    return frozenset(" ".join(phrase.split()) for phrase in text.split(",") if phrase.strip())


# What a memory's owner is called in texts, besides "I".
PEOPLE = listed("""
    user customer client human they them their theirs he she him her his hers i me my mine we us our you your guest
    member account profile
""")
# What may stand between an owner and a noun without making it another thing.
NEUTRAL = listed("""
    zero residential legal personal registered
    a an the this that these my our their his her your its user customer client new current currently total overall
    actual actually real really true whole entire maximum max maximal minimum updated revised latest present own full
    final correct right official only stated confirmed exact precise usual normal main primary principal permanent
    chosen declared agreed approved available absolute hard strict recorded known adjusted amended reduced lowered
    raised increased so said aforementioned very all time now also just approximate of for to is as regard concern
    about on in and update note fact info key detail profile preference setting correction memo reminder fyi verified
    effective upper spending financial money cash home place default fixed firm internal self longer one once thing
    word matter subject when it come what which amount sum figure field column entry attribute property fav
""")
RELATIVES = listed("""
    sister brother mother father mom mum dad parent wife husband spouse partner girlfriend boyfriend friend son
    daughter child kid uncle aunt cousin nephew niece grandmother grandfather grandma grandpa boss manager colleague
    coworker neighbour neighbor roommate flatmate landlord team company employer office supplier vendor competitor
    agency school club bank doctor dentist lawyer assistant warehouse headquarter hq branch people folk tourist twin ex
    family relative
""")


@dataclass(frozen=True, slots=True)
class Cue:
    """A phrase of stems that speaks of a predicate."""

    stems: tuple[str, ...]
    weak: bool = False


def _cues(strong: str, weak: str = "") -> tuple[Cue, ...]:
    return tuple(
        Cue(tuple(map(stem, phrase.split())), weak)
        for phrases, weak in ((strong, False), (weak, True))
        for phrase in map(str.strip, phrases.split(","))
        if phrase
    )


CUES = MappingProxyType(
    {
        "budget": _cues(
            "budget, spend limit, spending limit, spend cap, spending cap, price limit, cost ceiling, spend ceiling,"
            "spending ceiling, price ceiling, allowance, allotment, allot, earmark, set aside, price range, "
            "spending money, spending power, to spend, afford, spend at most, spend up to, spend no more,"
            "willing to pay, financial limit, financial ceiling, money limit, maximum spend, max spend, spendable,"
            "cost limit, spending allowance, financial cap, purse, war chest, kitty, funding, appropriation,"
            "only has, has only, has just, only have, have only, as high as, keep it under, keep it below, stay under, "
            "stay below, "
            "keep under, stay within, go over, go above, go beyond, go to, stretch, or less, keep the total, total at, "
            "that is all, is all, pay more than, pay at most, pay up to, funds available, available funds, "
            "money available, pot of money, "
            "financial envelope, envelope",
            "spend, spending, limit, cap, ceiling, maximum, max, fund, money, allocate, approve, authorise, authorize,"
            "pay, expenditure, outlay, expense, cost, purchase, price, part with, work with, go up to, lay out, figure",
        ),
        "lives_in": _cues(
            "live, reside, residence, resident, domicile, dwell, home, hometown, home town, home city, home base, "
            "home address, city of residence, relocate, relocation, settle, inhabit, abode, whereabouts, "
            "place of residence, swap, postal address, mailing address, move to, moved, based, base in, "
            "living, residing,"
            "house, apartment, flat, roots in, household, lodging, current city, city",
            "address, location, locate, place, stay, base, correspondence, mail, post, parcel, letter, call, found, "
            "reach, sleep, neighbourhood, neighborhood, local, lease, rent, key to, doorstep, move",
        ),
        "deadline": _cues(
            "deadline, due, due date, last date, last possible date, cutoff, cut off, cut-off, last day, "
            "final day, target date, "
            "closing date, "
            "end date, submission date, delivery date, time limit, final date, latest date, no later than, "
            "drop dead date, expire, expiry, runs out, handover date, hand in date, completion date, "
            "have until, has until, got until, time until",
            "expect, deliver, submit, submission, hand in, finish, complete, completion, done, ready, turn in, ship, "
            "wrap up, "
            "close, file, handover, hand over, delivery, send, until, finalise, finalize, end, time, date",
        ),
        "port": _cues(
            "port, listen, listener, bind, bound, listening, socket",
            "reach, run, connect, serve, expose, reachable, available, accessible, answer, accept, connection, "
            "endpoint, localhost, use, traffic, dial, talk, contact, hosted, open",
        ),
        "favorite_color": _cues(
            "favorite color, preferred color, best color, color of choice, top color, go-to color, go to color, "
            "color like best, color like most, color prefer, color love most, color love best, prefer color, "
            "beloved color, dearest color, number one color, no 1 color, color prefer most, pet color, "
            "most liked color, best liked color, best-loved color, favour, favor, best-liked color, most-loved color",
            "favorite, prefer, preference, best, most, choice, pick, choose, go-to, top, fond, adore, love, "
            "number one, "
            "above all, color, more than any, like, rank, crazy, partial",
        ),
        "favorite_food": _cues(
            "favorite food, favorite dish, favorite meal, preferred food, best food", "favorite, prefer, best"
        ),
        "diet": _cues(
            "diet, dietary, eat, eater, vegetarian, vegan, pescatarian, meat, omnivore, carnivore, kosher, halal, "
            "food preference, meal preference",
            "food, meal, steak, menu, order",
        ),
        "allergic_to": _cues(
            "allergic, allergy, allergen, intolerance, hypersensitive, anaphylaxis, anaphylactic, epipen",
            "react, reaction, tolerate, safe, safely, eat, avoid, sensitive, harmless, fine, okay, ok, handle, serve,"
            "served, serving, snack, consume, enjoy, problem, risk, danger, dangerous, trouble, worry, restriction,"
            "dietary, issue, love, happily, suffer, nothing against, harm, welcome, digest",
        ),
        "works_at": _cues(
            "work at, work for, employ, employer, workplace, job at, employed, job is at, hired by, payroll",
            "company, staff, firm, job, work, hire, hired, join, joined, living at, career",
        ),
        "role": _cues("role, job, occupation, profession, job title, work as, position", "career"),
        "name": _cues("name, call, named, called", ""),
        "birthday": _cues("birthday, born, birth date, date of birth, birthdate, birth", ""),
        "age": _cues("age, years old, year old", "old"),
        "email": _cues("email, e-mail, mail address, mailbox", "reach, write"),
        "phone": _cues("phone, telephone, mobile, cell, call at, phone number", "reach, number"),
        "timezone": _cues("timezone, time zone, tz, local time", "utc, gmt"),
        "language": _cues("language, preferred language, reply in, answer in, respond in", "speak"),
        "salary": _cues("salary, earn, wage, pay, annual pay, compensation, income", "make"),
        "rent": _cues("rent", "apartment, flat, lease"),
        "spouse": _cues("spouse, husband, wife, married, marry, partner", ""),
        "prefers_theme": _cues("theme, dark mode, light mode, color scheme, mode", ""),
        "start_date": _cues("start date, start on, begin, kickoff, kick off", "start"),
        "end_date": _cues("end date, end on, finish", "end"),
    }
)
# What a weak cue needs in its sentence.
COMPANY = MappingProxyType(
    {
        "budget": _phrases("""
            at most, no more than, not more than, up to, maximum, max, limit, limited to, cap, capped, ceiling, only,
            how much, just, may spend, can spend, allowed, allow, anything above, anything over, more than, beyond,
            above, tops,
            is willing, ready to, prepared to, able to, should not, must not, cannot, can't, never, exceed, total,
            available, to spend, all in, altogether, in total, has, have, got, keep, stay, under, within, approved,
            authorized, authorised, allocated, set at, set to, at, a max of
        """),
        "lives_in": _phrases("""
            home, these days, now, nowadays, lives, permanent, currently, currently in, today, goes to, go to, from
            now on, new, house, door, key, neighbour, since, settled, for good, flat, apartment, away, call, calls,
            resident, lease, correspondence, mail, post, address, where, location, permanently, found in, found at,
            located, moved, move
        """),
        "deadline": _phrases("""
            by, before, no later, until, till, at the latest, latest, not after, must, needs, need, has to, have to,
            expected, should, shall, required, is due, on or before, end of, due, on, is now, moved, set
        """),
        "works_at": _phrases("""
            at, for, by, with
        """),
        "port": listed("""
            port on at over through via : to
        """),
        "favorite_color": _phrases("""
            color, best, most, favorite, above all, number one, over, than any, prefer, preferred, choice, go-to, top,
            always
        """),
    }
)
COLORS = listed("""
    red blue green yellow orange purple violet pink brown black white grey gray teal turquoise cyan magenta indigo
    maroon navy beige gold golden silver lilac lavender crimson scarlet olive amber burgundy mint coral peach cream
    ivory khaki mauve ochre aqua azure fuchsia emerald ruby sapphire charcoal tan bronze plum salmon
    sienna cerulean cobalt periwinkle taupe chartreuse vermilion carmine jade ecru sepia umber puce mahogany copper rust
""")
DIETS = listed("""
    vegetarian vegan pescatarian pescetarian flexitarian omnivore carnivore keto paleo halal kosher meat omnivorous
    carnivorous meat-eater meat-eating steak beef chicken pork fish bacon ham
""")
THEMES = listed("""
    dark light solarized
""")
# Words of which one excludes the others.
CLOSED = MappingProxyType({"favorite_color": COLORS, "diet": DIETS, "prefers_theme": THEMES})
