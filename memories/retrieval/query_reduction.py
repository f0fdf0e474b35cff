"""Query reduction: a question without what it says of the conversation and of the form of its answer. Pure."""

import re

# Talk with whoever is asked, not a session with somebody else: nothing may stand between the two words.
TALK = r"(?:our|these|those) (?:recent |past |previous |earlier |last )?(?:conversations?|chats?|discussions?)"
END = r"(?=\W*$|[.?!,;:]|,? in order\b|(?: about| with| on)\b)"
SAID = (
    r"(?:br(?:ought|ing) up|mention(?:ed)?|raised?|discuss(?:ed)?|talk(?:ed)? about|sp(?:oke|eak) about"
    r"|introduced?|said|say)"
)
REQUESTS = "summari[sz]e|describe|outline|recount"
TOLD = r"(?:complete |full |brief |short |quick |detailed |comprehensive )*(?:summary|overview|recap) of"
ASKED = r"^\W*(?:(?:can|could|would|will) you (?:please |also )?|please )?"
SUMMARY = re.compile(rf"{ASKED}summari[sz]e\b|\b{TOLD}\b", re.IGNORECASE)
# In the order in which one lies within another.
FRAMES = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{ASKED}(?:list|walk me through|tell me|give me|remind me (?:of|about)|{REQUESTS})\b",
        rf"\b(?:the |what )?(?:order|sequence) in which (?:i|we) (?:first )?{SAID}\b",
        rf"\bin (?:what|which) order (?:did|have) (?:i|we) (?:first )?{SAID}\b",
        rf"\b(?:an? |the )?{TOLD}(?: how| what)?\b",
        rf"\b(?:throughout|across|during|over|in|from) (?:all )?(?:of )?{TALK}{END}",
        r",? in (?:chronological )?order(?=\W*$|[.?!])",
        r"\b(?:mention|list|name|give) only(?: and only)? [\w-]+ (?:items|things|points|topics|events|entries)\b",
        r"\b(?:different|various) (?:aspects|parts|sides) of\b",
        r"\b(?:did|have) i (?:ever )?(?:say|said|mention(?:ed)?|t(?:ell|old) you)\b(?! (?:no|yes|to|hello|goodbye)\b)",
        r"\bi(?:['’]ve| have)? (?:mentioned|said|told you|brought up)\b",
    )
]
WORD = re.compile(r"[^\W_]+")
MARKS = "?.!,;: "
STRAY = re.compile(r" (?=[?.!,;:])")


def reduce_query(question: str) -> str:
    """Return what a question asks for: "the order in which I brought up my plans in our chats?" asks for "my plans?".

    The question itself where nothing is left out, or next to nothing else is left.
    """
    reduced = question
    for frame in FRAMES:
        reduced = frame.sub(" ", reduced)
    if reduced == question or len(WORD.findall(reduced)) < 2:
        return question
    reduced = " ".join(reduced.split())
    body = reduced.rstrip(MARKS)
    return STRAY.sub("", body) + reduced[len(body) :].strip()[:1]


def asks_for_summary(question: str) -> bool:
    """Return whether a question asks for a summary: of what both sides said, not of the asker's own turns."""
    return bool(SUMMARY.search(question))
