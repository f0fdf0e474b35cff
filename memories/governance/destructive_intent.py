"""A tripwire for steps and digests that tell to destroy what is kept. It knows common wordings and is no guarantee."""

import re
import unicodedata
from collections.abc import Iterable

# Whole verbs with their endings, so that Dropbox drops nothing; a few of other languages.
VERBS = (
    r"delet(?:e[sd]?|ing|ions?)|eras(?:e[sd]?|ing|ures?)|forget(?:s|ting)?|forgot(?:ten)?|wip(?:e[sd]?|ing)"
    r"|purg(?:e[sd]?|ing)|drop(?:s|ped|ping)?|remov(?:e[sd]?|ing|als?)|destroy(?:s|ed|ing)?|destruction"
    r"|truncat(?:e[sd]?|ing|ions?)|overwrit(?:es?|ten|ing)|clear(?:s|ed|ing)?|reset(?:s|ting)?|discard(?:s|ed|ing)?"
    r"|empt(?:y|ies|ied|ying)|shred(?:s|ded|ding)?|nuk(?:e[sd]?|ing)|trash(?:es|ed|ing)?|scrub(?:s|bed|bing)?"
    r"|expung(?:e[sd]?|ing)|obliterat(?:e[sd]?|ing)|eliminat(?:e[sd]?|ing|ion)|annihilat(?:e[sd]?|ing)"
    r"|eradicat(?:e[sd]?|ing)|zero(?:e[sd]|ing)?\s+out|clean(?:s|ed|ing)?\s+out|unlink(?:s|ed|ing)?|burn(?:s|ed|ing)?"
    r"|g[eo]t(?:s|ting)?\s+rid\s+of|do(?:es|ing)?\s+away\s+with|thr(?:ow|ows|ew|own|owing)\s+(?:away|out)"
    r"|(?:ge)?lösch\w*|loesch\w*|entfern(?:e|en|t|st)|vernicht\w*|vergiss|vergessen|leere[nt]?|verwirf|verwerfen"
    r"|supprim\w+|effac\w+|détrui\w+|oubli(?:e[rz]?|ons)|borra\w*|borre\w*|elimin[aeo]\w*|olvid[ae]\w*|cancell[ai]\w*"
)
THINGS = (
    r"memor(?:y|ies)|fragments?|records?|claims?|facts?|beliefs?|knowledge|tables?|databases?|namespaces?|projects?"
    r"|backups?|histor(?:y|ies)|everything|tombstones?|archives?|files?|data|storage|(?:memory\s+)?stores?|indexes"
    r"|all(?=\s*(?:$|[.,;:!?]))|all\s+(?:of\s+)?(?:it|them|this|that)|the\s+lot"
    r"|erinnerung(?:en)?|gedächtnis\w*|daten\w*|tabellen?|alles|dateien?|sicherung(?:en)?|verlauf|einträge"
    r"|mémoires?|souvenirs?|données|tout|memorias?|recuerdos?|datos|tod[oa]s?|tablas?|ricordi|memorie|dati|tutto"
)
VERB = re.compile(rf"(?<!\w)(?:{VERBS})(?!\w)", re.IGNORECASE)
THING = re.compile(rf"(?<!\w)(?:{THINGS})(?!\w)|(?:^|\s)[/~][\w/*.]*", re.IGNORECASE)
# What says that it is not to be done stands right before the verb.
DENIED = re.compile(r"(?:\b(?:not|never|without|cannot|nicht|nie|niemals|jamais|nunca)|n['’]t)\s+$", re.IGNORECASE)
PASSIVE = re.compile(r"\b(?:be|been|being|gets?)\s+(?:\w+\s+)?$", re.IGNORECASE)
SHELL = re.compile(r"\brm\s+-\w*[rf]", re.IGNORECASE)
SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[^\W\d_a-z])|\n")


def destroys(parts: Iterable[str]) -> bool:
    """Return whether one of these steps or sentences, by itself, tells to destroy something that is kept."""
    return any(_destroys(_plain(part)) for part in parts)


def sentences(text: str) -> list[str]:
    """Return a text's sentences; an abbreviation in the middle of one ends none."""
    return SENTENCE.split(text)


def _destroys(part: str) -> bool:
    if SHELL.search(part):
        return True
    for verb in VERB.finditer(part):
        before, after = part[: verb.start()], part[verb.end() :]
        if DENIED.search(before):
            continue
        if THING.search(after) or (PASSIVE.search(before) and THING.search(before)):
            return True
        # German puts the verb last.
        if verb[0].casefold().endswith(("en", "t")) and not after.strip(" .!") and THING.search(before):
            return True
    return False


def _plain(text: str) -> str:
    """Without marks that nobody sees, and with one form of each letter."""
    folded = unicodedata.normalize("NFKC", text)
    return "".join(c for c in folded if unicodedata.category(c) != "Cf")
