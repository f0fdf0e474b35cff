"""What used to be known on a question's topics: tombstones (docs/spec.md §6)."""

import re
import uuid

from memories.models import Tombstone
from memories.retrieval.scope import Places

WORD = re.compile(r"\w+(?:[-'’.]\w+)*")
LONGEST = 4  # words in a topic


def phrases(question: str) -> set[str]:
    """Return every run of one to four words of a question, lower-case: what a topic can be spelled like."""
    found = [word.lower() for word in WORD.findall(question)]
    return {" ".join(found[start : start + length]) for length in range(1, LONGEST + 1) for start in range(len(found))}


def matching_tombstones(question: str, places: Places, *, project_id: uuid.UUID, most: int) -> list[Tombstone]:
    """Return the newest tombstones of the asked namespaces and the shared one that share a topic with the question."""
    rows = Tombstone.objects.within(project_id).filter(
        namespace__in=places.scope_ids(foreign=False), topics__overlap=sorted(phrases(question))
    )
    return list(rows.order_by("-evicted_at", "id")[:most])
