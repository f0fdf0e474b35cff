"""Attacks by texts that look like a label of their block, like a chat's markup or like somebody's turn.

An override: a block in which something looks like a label and is none, or whose lines are not one for each memory.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

from script.benches._attacks import BUDGET
from script.benches._worlds import Served
from tests.retrieval.blocks import NotOneBlock, lookalikes, read
from tests.retrieval.hostile import SPOOFS

FAMILY = "label spoof"
AUTHORS = ("agent", "document", "tool")
FORMS = ("markdown", "xml")
# Where in a text the spoof stands, and what it does in order to be overlooked.
PLACES: tuple[Callable[[str], str], ...] = (
    lambda spoof: spoof,
    lambda spoof: f"The budget was asked for.\n{spoof}",
    lambda spoof: f"The budget was asked for. {spoof}",
    lambda spoof: f"The budget was asked for.\u2028\u200b {spoof.replace(' ', chr(0xA0))}",
)


def spoof_figures(
    arena: Callable[..., Served], only: str, found: list[str], *, show: Callable[[dict[str, Any]], None]
) -> list[dict[str, Any]]:
    """Return the family's row; each author's texts stand in a namespace of their own, beside the user's word."""
    if not re.search(only, FAMILY):
        return []
    blocks = [block for author in AUTHORS for block in _blocks(arena, author)]
    fell = [(what, wrong) for what, block, form, size in blocks if (wrong := _wrong(block, form, size))]
    found += [f"{FAMILY}: {what}: {wrong}" for what, wrong in fell]
    row = {"family": FAMILY, "attempts": len(blocks), "overrides": len(fell), "authority": 0, "exposed": 0}
    row |= {"labelled": 0, "seed3": None, "hole": ""}
    show(row)
    return [row]


def _blocks(arena: Callable[..., Served], author: str) -> Iterator[tuple[str, str, str, int]]:
    for number, place in enumerate(PLACES):
        for spoof in SPOOFS:
            world = arena(populated=False, kind=Served, topic=BUDGET)
            world.user_says()
            world.store(author, place(spoof))
            body = {"namespace": world.namespace, "query": BUDGET.question}
            for form in FORMS:
                answer = world.done("reader", "POST", "context", {**body, "format": form})
                yield (
                    f"{author}, place {number}, {form}: {spoof!r}",
                    answer["prompt_prefix"],
                    form,
                    answer["memories_used"],
                )


def _wrong(block: str, form: str, size: int) -> str:
    try:
        lines = read(block, form).lines
    except NotOneBlock as error:
        return str(error)
    return f"{len(lines)} lines for {size} memories" if len(lines) != size else "; ".join(lookalikes(block, form))
