"""Spellings: one wording in several spellings: they differ in case, spacing and the punctuation of sentences only."""

import re
import uuid

from django.db import connection

from memories import access
from memories.upkeep.consolidation.plan_state import Outlook

# A question mark asks, and signs at numbers and names count ("-5", "$750", "C++"): they are no mere punctuation.
APOSTROPHES = str.maketrans("‘’", "''")
SEPARATORS = re.compile(r"\s+|\.{2,}|(?<!\d)[,;:–—，；：、]|[,;:–—，；：、](?!\d)")
DASH = re.compile(r"(?<=\s)-(?=\s+[^\d\s])")
# Case and signs count in passwords, paths, identifiers and abbreviations.
LITERAL = re.compile(r"[/\\_@#=+*^~<>|]|(?=.*\d)(?=.*[^\W\d_])|[a-z].*[A-Z]|\A[A-Z]{2,3}\Z")
OPENING = "'\"“”„«»`*(（"
CLOSING = ".!…。！" + "'\"“”„«»`*)）"
LOOSE = " \t\n\r\u00a0,;:–—-，；：、‘’" + OPENING + CLOSING
# By everything left out that may be: who shares this is compared exactly.
GROUPS = """
    SELECT array_agg(f.id ORDER BY f.id) FROM memories_fragment f
    WHERE f.project_id = %s AND f.namespace_id = %s AND f.status = 'active' AND f.compression = 'full' AND f.key = ''
    GROUP BY f.type, md5(lower(translate(f.content, %s, ''))) HAVING count(*) > 1
"""


def spelling(text: str) -> str:
    """Return the words of a text, without what only its spelling adds; the text where there are none."""
    words = (_plain(word) for word in SEPARATORS.split(DASH.sub(" ", text.translate(APOSTROPHES))))
    return " ".join(word for word in words if word) or text


def _plain(word: str) -> str:
    """Return a word without the marks of sentences around it, in lower case unless its case tells."""
    stripped = word.lstrip(OPENING).rstrip(CLOSING)
    if not stripped or (stripped[:1].isdigit() and word.startswith("(")):
        return word.strip(".!…。！'\"“”„«»`")
    if LITERAL.search(stripped):
        return word.strip(".'\"“”„«»`")
    return stripped.casefold()


def read_groups(outlook: Outlook) -> list[list[uuid.UUID]]:
    """Return the memories of a namespace, by type, that may be one wording in several spellings."""
    with access.enter(outlook.principal, why="plan"), connection.cursor() as cursor:
        cursor.execute(GROUPS, [outlook.project_id, outlook.namespace.id, LOOSE])
        return [ids for (ids,) in cursor]
