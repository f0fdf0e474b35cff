"""Material: whether a user's turn carries something that may not be the user's own word.

A pasted mail, a retrieved context, a text to translate, a story: whoever wrote that speaks in it as "I" too. Words
alone don't tell whose it is, so a turn is the user's plain word only when nothing in it looks like material. What is
taken for material by mistake is kept all the same, with less authority: docs/decisions/0097.
"""

import re
from itertools import pairwise

from memories.ingest.grammar import either
from memories.ingest.quoting import foreign
from memories.ingest.splitting import clean

LONG, MOST_SENTENCES, MOST_LINES = 400, 7, 7
MOST_QUOTED = 3  # words of a name or title
MOST_PROVERB = 6  # words in which nobody speaks of himself
FEW = 8  # words of a whole turn
MOST_ITEM = 6  # words of an item of a list
MOST_TOLD = 1  # sentences that tell of others

FIRST_PERSON = re.compile(r"\b(?:i|i'm|my|mine|me|we|our|us)\b", re.IGNORECASE)
# Work on a text, asked for where a sentence begins.
POLITE = either("""
    please|now|then|ok|okay|hi|hello|hey|and|also|just|help me|let's|i want you to|i need you to|i'd like you to
    (?:can|could|would|will) you
""")
ASKED = rf"(?:{POLITE}[ ,]+){{0,4}}(?:to )?"
TASK = re.compile(
    rf"(?:^|[.!?:;\n]\s*|\bto ){ASKED}"
    + either(r"""
        translate|summari[sz]e|rewrite|rephrase|paraphrase|proof-?read|transcribe|write|compose|draft|generate|make up
        shorten|polish|continue|repeat (?:after|this)|read (?:this|the)|play a
        convert (?:it |this )?to (?:json|xml|yaml|csv)|extract|classify|analy[sz]e|label|quote
        reply to|respond to|finish (?:this|the)|complete (?:this|the)
        (?:correct|fix|edit|check|improve|review|explain) (?:this|these|that|it|the (?:grammar|spelling|following))
        use it in|use (?:the|this|these) (?:following|pieces|context|text|information)
    """)
    + r"\b",
    re.IGNORECASE,
)
TEXTS = either("""
    text|texts|sentence|sentences|paragraph|passage|passages|excerpt|document|documents|article|page|website|web ?site
    web page|blog|post|comment|comments|review|reviews|testimonial|e-?mail|e-?mails|message|messages|letter|note|notes
    transcript|conversation|chat|story|poem|song|lyrics|novel|diary|book|chapter|essay|speech|dialogue|monologue|script
    scene|character|quote|file|attachment|report|log|logs|output|result|results|snippet|prompt|context|source|sources
    summary|translation|grammar|spelling|statement|question|words|wording|phrase|tweet|data
""")
POINTED_AT = re.compile(
    r"\b(?:this|these|that|those|the|following|retrieved|search|tool|customer|test|[\w'-]+'s)"
    rf" (?:[\w'-]+ ){{0,2}}?{TEXTS}\b"
    rf"|(?:^|[.!?\n]\s*)(?:the )?{TEXTS} (?:of|from|by|says|said)\b|(?:^|\n)#{{1,6}} |(?:^|\n)\s*\||(?:^|\n)page \d"
    r"|\bhere(?:'s| is| are| comes?)\b(?! my\b)|\b(?:the following|as follows|verbatim|quoted?|copied|pasted|excerpt)\b"
    r"|\b(?:below|above)\b(?=\s*(?:[.,:;!?)\n]|$))|\b(?:five|four|three|two|one|[1-5])[ -]stars?\b|★"
    r"|\bmy (?:essay|draft|screenshot|cover letter|letter|cv|resume|poem|story|notes)\b"
    r"|\bwould(?:n't| not| highly)? recommend\b|\b(?:do|does) (?:i|you|we) say\b.*\bin [A-Z]",
    re.IGNORECASE,
)
REPORTS = either("""
    said|says|say|told|tells|wrote|writes|sent|sends|reads|states|stated|claims|claimed|posted|posts|mentions|mentioned
    reports|reported|announced|answered|replied|replies|asked me to tell|forwarded|dictated|texted|e-?mailed|shouted
""")
REPORTED = re.compile(
    r"(?<!')\b(?!(?:i|we|i've|we've|i'd|we'd|i'll|just|already|have|be|to)\b)[^\W\d_][\w'.-]* "
    rf"(?:(?:just|also|has|had|have|once|later) ){{0,2}}(?<!\bi just )(?<!\bi have ){REPORTS}\b"
    r"|\baccording to\b(?! me\b)|[,;–-]\s*(?:says|said|writes|wrote|claims|claimed|quoth)\b"
    r"|\bmy (?:[\w-]+ )?(?:search|tool|agent|assistant|browser|script|bot|terminal|query|plugin)\b"
    r"(?=\s*(?:gave|gives|return|said|says|found|finds|show|read|print|report|told|tells|answer|output|[.:,]))"
    r"|\b(?:i|we)(?:'ve| have)? (?:just )?(?:got|received|found|saw|heard|read|overheard|came across|copied)"
    rf" (?:this|these|the following|it from|from|an? (?:[\w'-]+ )?{TEXTS})\b",
    re.IGNORECASE,
)
FICTION = re.compile(
    r"\b(?:pretend|imagine|role-?play|in character|first[ -]person|once upon a time|as if (?:you|i)|act (?:as|like)"
    r"|speak(?:ing)? as|you are (?:an?|the|now)|you're (?:an?|the)|suppose|hypothetical\w*"
    r"|fiction\w*|what if|be the (?:user|customer)|answer as|say that)\b",
    re.IGNORECASE,
)
LETTER = re.compile(
    r"^\s*(?:from|to|cc|bcc|subject|date|sent|re|fwd?)\s*:"
    r"|^\s*(?:dear|hi|hello|hey) (?!there\b|all\b|again\b|assistant\b)[^\n,!]{1,40}[,!]?\s*\n"
    r"|^\s*dear \w"
    r"|^\s*(?:(?:(?:best|kind|warm|many|with) ){0,2}(?:regards|wishes)|sincerely|yours|best|cheers)\b[^\n]{0,30}$"
    r"|^--\s|^\s*sent from my\b|^\s*[-=_*]{3,}\s*$|^\s*\[?\d{1,2}:\d\d",
    re.IGNORECASE | re.MULTILINE,
)
# What people open a statement with; no two of these make a third, so that there is one way to read them.
OPENERS = (
    r"(?:"
    + either(r"""
        and|also|so|but|well|yes|yeah|no|nope|oh|ok|okay|sorry|hi|hello|hey|hi there|hello there|please|just|now
        actually|currently|by the way|btw|fyi|ps|p\.s\.|thanks|thank you|personally|honestly|today|unfortunately|luckily
        sadly|in fact|of course|nowadays|good (?:morning|afternoon|evening|day|night)|as i (?:said|told you|mentioned)
        for the record|for your information|(?:quick\s)?(?:update|correction|reminder)|important|edit|to be clear
        to clarify|tomorrow|tonight|yesterday|usually|normally|often|sometimes|always|recently|lately|mostly|these days
        (?:at|since|until|on|in) (?:work|home|school|night|present|first|general|may|(?:19|20)\d\d|mondays?|weekends?)
        (?:at|in|on|during) the (?:morning|evening|afternoon|summer|winter|spring|autumn|weekend|moment|meantime|week)
        (?:in|since|until) (?:january|february|march|april|june|july|august|september|october|november|december)
        from now on|morning|evening|wait|i (?:almost )?forgot|turns out|looks like|seems|just wanted to let you know
        (?:fun|quick|random) (?:fact|one|note|thing)|heads up|guess what|(?:good|bad|great) news
        between you and me|(?:same )?as (?:before|always)|(?:small|tiny|little|minor|big) (?:update|correction|news)
        (?:if|in case) (?:it|that) (?:helps|matters|is relevant)|to answer your question
        not sure (?:if|whether) i (?:mentioned|said) (?:it|this)
        then|so you know|because|since|in short|basically|again|anyway|great|cool|sure|right
        (?:remember|don't forget|keep in mind|note|notice|know)(?: (?:this|that|these))?
        i(?:'ve)? (?:said|told you|mentioned)(?: already| before)?
        (?:one|two|three|a few|some|another) (?:more )?things?
        (?:(?:some|a few) )?(?:(?:facts|things|details|info|information) )?about (?:me|us|myself)
        for (?:the|my|our|this|next) (?:trip|holiday|vacation|journey|project|purchase|wedding|party|move|flight|hotel)
        you(?:'ve)? got (?:that|it|this) wrong|that(?:'s|\sis) (?:wrong|right|not right|not true|not correct|correct)
    """)
    + r"(?:[ ,!.:-]+|$)){0,8}"
)
OF_US = r"there(?:'s|'re| is| are) (?:[\w-]+ ){1,5}of us\b"
OWN = re.compile(
    rf"\W*{OPENERS}\W*(?:(?:i|i'm|i'd|i've|i'll|my|mine|me|we|we're|we've|our|myself)\b"
    r"|(?:you can |please |just |people |everyone |friends )?calls? me\b|let me\b|it(?:'s| is) (?:me|my|our)\b"
    r"|you can (?:find|reach|call|e?-?mail|contact|text|visit|follow|see) (?:me|my|us|our)\b"
    r"|you asked (?:me )?(?:about|for|what|where|when|who|how|if|whether) (?:my|our|i|we|me|us)\b"
    rf"|{OF_US}"
    r"|(?:make|change|set|update|raise|lower|increase|reduce|cut|move) (?:my|our|it)\b"
    r"|the (?:budget|deadline|kids|children|baby|family)\b|(?:neither|both) (?:of us|my|our)\b|unlike my\b"
    r"|(?:when|whenever|if|after|before|while|although|though) (?:i|we|my|our|possible|needed)\b)",
    re.IGNORECASE,
)
# What is said in so many words, or named as one's own.
SPEAKS = re.compile(
    rf"\W*{OPENERS}\W*(?:(?:i|i'm|i'd|i've|i'll|we|we're|we've)\b"
    r"|(?:my|our) (?:details|preferences|facts|info|profile|data|situation|constraints|requirements|needs)\b"
    rf"|{OF_US})",
    re.IGNORECASE,
)
REQUEST = re.compile(
    rf"\W*{OPENERS}\W*(?:(?:can|could|would|will) you (?:please |help me )?)?"
    + either("""
        find|book|show|recommend|suggest|plan|help|remind|set|call|buy|order|search|look|give me|tell me|get|choose
        pick|compare|use|do not|don't|avoid|keep|let|check|cancel|schedule|add|remember|forget|send
        reserve|explain how|make a|make me
    """)
    + r"\b",
    re.IGNORECASE,
)
# Peanuts make me sick; Lisbon is my home.
INVERTED = re.compile(
    r"\W*[\w'-]+(?: [$€£]?[\w'-]+){0,4} (?:is|are|isn't|aren't|makes?|works?|starts?|ends?|don't|doesn't|suits?|helps?)"
    r"(?:(?: (?!(?:is|are|am|i)\b)[\w'-]+){1,6}| wh(?:at|ere|en) i [\w'-]+(?: [\w'-]+){0,3})\W*",
    re.IGNORECASE,
)
# After work I run; money is tight, so my limit is $200. No name and no work of art stands before who speaks.
DATES = either("""
    monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|may|june|july|august|september
    october|november|december|christmas|easter
""")
CIRCUMSTANCE = re.compile(
    rf"\W*(?:(?i:{OPENERS})\W*(?i:every|after|before|at|for|on|in|until|since|if|when|while|because|now that|being"
    rf"|during|with|without|from|tomorrow|today|tonight)(?: (?:[a-z0-9$€£'-]+|(?i:{DATES}))){{0,7}}?,?"
    r"|[A-Z][a-z'-]+(?: [a-z'-]+){0,3} (?:is|are|was|were|isn't|aren't)(?: [a-z'-]+){1,4}, (?:so|and|but)?)"
    r" ?\b(?:I|I'm|I've|I'd|I'll|my|we|we're|we've|our)\b"
)
UNREAL = re.compile(
    rf"\b(?:{TEXTS}|his|her|their|(?:the|an?) (?:film|movie|play|game|dream|role|example|test|demo|joke|show|sign))\b",
    re.IGNORECASE,
)
AT_SOMETHING = re.compile(
    r"\b(?:this|that(?!(?:'s| is) my\b)|these|those|someone|somebody|anyone|following)\b", re.IGNORECASE
)
SAYS_NOTHING = re.compile(
    rf"\W*{OPENERS}\W*(?:again|there|everyone|a lot|so much|that's all|that is all|scratch that|never ?mind"
    r"|that(?: really)? (?:helps|helped|works|worked)|got it|sounds (?:good|great)|perfect|makes sense)?\W*",
    re.IGNORECASE,
)
TELLS_ON = re.compile(
    r"\W*(?:the (?:old|new|other|first|second|last) one|it|he|she|they|his|her|their|its|both)\b", re.IGNORECASE
)
FIELD = re.compile(
    r"\W*(?!(?:persona|customer|client|patient|character|speaker|guest|author|role|candidate)\b)"
    r"(?:(?:my|our) )?[\w'-]+(?: [\w'-]+){0,2}\W*",
    re.IGNORECASE,
)
SIGNED = re.compile(r"\W*(?:signed\b.*|(?-i:[A-Z])[\w.]*(?: (?-i:[A-Z])[\w.]*){0,2}(?:, .{0,20})?)\W*", re.IGNORECASE)
MARK = "• "
# An item that names something, and says nothing of it.
NAMED = re.compile(rf"{MARK}(?!.*\b(?:is|are|am|was|were|has|have|user|i|my|me|we|our)\b)[^:='’\n]+", re.IGNORECASE)
NOT_LITTLE = re.compile(rf"{FIRST_PERSON.pattern}|{AT_SOMETHING.pattern}|\busers?\b", re.IGNORECASE)
COLON = re.compile(r"[:：](?=\s|$)|\s[—–-]+\s")
ITEM = re.compile(r"(?:^|(?<=\n))[ \t]*(?:[-*•]|\d{1,2}[.)])[ \t]+")
LED = re.compile(r"[:：]\s*\n\s*")  # a line that leads to the next one, as before a colon
ENDS = re.compile(r"(?<=[.!?;])\s+|\n+")


def carries_material(text: str) -> bool:
    """Return whether a turn holds more than what the user plainly says."""
    text = clean(text).replace("’", "'")
    lines = [line for line in text.split("\n") if line.strip()]
    if len(text) > LONG or len(lines) > MOST_LINES:
        return True
    sentences = [sentence for sentence in ENDS.split(LED.sub(": ", ITEM.sub(MARK, text))) if sentence.strip()]
    return (
        len(sentences) > MOST_SENTENCES
        or _quotes(text)
        or any(sign.search(text) for sign in (TASK, POINTED_AT, REPORTED, FICTION, LETTER))
        or not (_says_little(sentences) or all(map(_is_plain, sentences, ["", *sentences])))
        or sum(bool(TELLS_ON.match(sentence)) for sentence in sentences) > MOST_TOLD
    )


def _says_little(sentences: list[str]) -> bool:
    """Whether a turn is a few words in which nobody speaks of himself: there is nothing to be somebody else's."""
    (only, *more) = sentences or [""]
    return not more and len(only.split()) <= FEW and not (NOT_LITTLE.search(only) or COLON.search(only))


def _quotes(text: str) -> bool:
    """Whether more stands in quotation marks, code or markup than a name or title."""
    mask = foreign(text)
    edges = [0, *(at for at in range(1, len(mask)) if mask[at] != mask[at - 1]), len(mask)]
    parts = (text[start:end] for start, end in pairwise(edges) if end > start and mask[start])
    return any(len(part.split()) > (MOST_QUOTED if FIRST_PERSON.search(part) else MOST_PROVERB) for part in parts)


def _is_plain(sentence: str, before: str) -> bool:
    """Whether a sentence is what people say of themselves or ask for; one may go on about the one before."""
    start = 0
    for mark in COLON.finditer(sentence):
        lead, rest = sentence[start : mark.start()], sentence[mark.end() :]
        if not _leads_plainly(lead, rest, dashed=mark.group().strip() not in (":", "：")):
            return False
        start = mark.end()
    return bool(
        OWN.match(sentence)
        or (before and NAMED.fullmatch(sentence) and len(sentence.split()) <= MOST_ITEM)
        or (CIRCUMSTANCE.match(sentence) and not UNREAL.search(sentence))
        or SAYS_NOTHING.fullmatch(sentence)
        or (REQUEST.match(sentence) or sentence.rstrip().endswith("?"))
        and not AT_SOMETHING.search(sentence)
        or (TELLS_ON.match(sentence) and OWN.match(before))
        or (INVERTED.fullmatch(sentence) and FIRST_PERSON.search(sentence))
        or (start and not FIRST_PERSON.search(sentence[start:]))
    )


def _leads_plainly(lead: str, rest: str, *, dashed: bool) -> bool:
    """Whether before a colon or dash stands what opens a statement, or the name of a field."""
    if SAYS_NOTHING.fullmatch(lead):
        return True
    if not FIRST_PERSON.search(rest):
        return bool(FIELD.fullmatch(lead) or (OWN.match(lead) and not SIGNED.fullmatch(rest)))
    speaks = OWN.match(lead) if dashed else SPEAKS.match(lead) and not AT_SOMETHING.search(lead)
    return bool(speaks) and not lead.rstrip().endswith((".", "!", "?"))
