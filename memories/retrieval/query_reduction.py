"""Query reduction: a question without what it says of the conversation and of the form of its answer. Pure."""

import re

TALK = r"(?:conversations?|chats?|discussions?|sessions?|exchanges?)"
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
        rf"\b(?:throughout|across|during|over|in|from) (?:all )?(?:of )?(?:our|my|these|those|the) (?:\w+ )?{TALK}\b",
        r",? in (?:chronological )?order(?=\W*$|[.?!])",
        r"\b(?:mention|list|name|give) only(?: and only)? [\w-]+ (?:items|things|points|topics|events|entries)\b",
        r"\b(?:different|various) (?:aspects|parts|sides) of\b",
        r"\b(?:did|have) i (?:ever )?(?:say|mention|tell you|mentioned|said|told you)\b",
        r"\bi(?:['’]ve| have)? (?:mentioned|said|told you|brought up)\b",
    )
]
WORD = re.compile(r"[^\W_]+")
STRAY = re.compile(r"(?<=[?.!,;:])[\s?.!,;:]+$|\s+(?=[?.!,;:])")


def reduce_query(question: str) -> str:
    """Return what a question asks for: "the order in which I brought up my plans in our chats?" asks for "my plans?".

    The question itself where nothing is left out, or next to nothing else is left.
    """
    reduced = question
    for frame in FRAMES:
        reduced = frame.sub(" ", reduced)
    if reduced == question or len(WORD.findall(reduced)) < 2:
        return question
    return STRAY.sub("", " ".join(reduced.split()))


def asks_for_summary(question: str) -> bool:
    """Return whether a question asks for a summary: of what both sides said, not of the asker's own turns."""
    return bool(SUMMARY.search(question))
