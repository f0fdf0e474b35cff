"""Assembling the context: search, pack, lay out, leave a receipt."""

import datetime
import uuid
from dataclasses import dataclass, field, replace

from memories import access, tallies
from memories.access import Principal
from memories.models import Fragment, Project, Receipt
from memories.retrieval.context.block import lay_out
from memories.retrieval.context.lines import estimate_tokens, markdown_line, xml_line
from memories.retrieval.context.packing import RATIOS, Item, by_density
from memories.retrieval.pipeline import find
from memories.retrieval.questions import Question

MEMORIES, MEMORIES_WITHOUT_BUDGET = 30, 15


@dataclass(frozen=True, slots=True)
class Request:
    """A context request: the question, and how much of the answer fits the prompt."""

    question: Question
    max_tokens: int | None = 1200
    max_memories: int | None = None
    ratios: dict[str, float] = field(default_factory=lambda: dict(RATIOS))
    form: str = "markdown"

    @property
    def most(self) -> int:
        """How many memories at the most."""
        return self.max_memories or (MEMORIES_WITHOUT_BUDGET if self.max_tokens is None else MEMORIES)


@dataclass(frozen=True, slots=True)
class Context:
    """The block and how it came about. `tokens_used` <= the budget, always."""

    prompt_prefix: str
    tokens_used: int
    included: list[Fragment]
    excluded: list[tuple[uuid.UUID, str, float]]
    receipt_id: uuid.UUID | None
    degraded: list[str]

    @property
    def truncated(self) -> bool:
        """Whether the budget kept something out."""
        return any(reason == "budget" for _, reason, _ in self.excluded)


def context(principal: Principal, request: Request, *, now: datetime.datetime) -> Context:
    """The context block for a question. Raises what search raises."""
    results = find(principal, replace(request.question, top_k=min(200, 2 * request.most)), now=now)
    salt = bytes(Project.objects.values_list("salt", flat=True).get(id=principal.project_id))
    line = xml_line if request.form == "xml" else markdown_line
    items = [Item(hit.fragment, hit.fragment.type, hit.score, len(line(hit.fragment)) + 1) for hit in results.hits]

    def fits(selection: list[Item[Fragment]]) -> bool:
        if request.max_tokens is None:
            return True
        block = lay_out([item.thing for item in selection], form=request.form, salt=salt)
        return estimate_tokens(block) <= request.max_tokens

    budget = None if request.max_tokens is None else request.max_tokens * 4
    packed = by_density(items, ratios=request.ratios, most=request.most, budget=budget, fits=fits)
    chosen = [item.thing for item in sorted(packed.included, key=lambda item: (-item.value, item.thing.id))]
    block = lay_out(chosen, form=request.form, salt=salt)
    tokens = estimate_tokens(block)
    tallies.note_reads(principal.project_id, [fragment.id for fragment in chosen], at=now)
    return Context(
        prompt_prefix=block,
        tokens_used=tokens,
        included=chosen,
        excluded=[(item.thing.id, reason, item.value) for item, reason in packed.excluded],
        receipt_id=_receipt(principal, chosen, tokens) if chosen else None,
        degraded=results.degraded,
    )


def _receipt(principal: Principal, chosen: list[Fragment], tokens: int) -> uuid.UUID:
    """What was handed out, by ids."""
    with access.enter(principal, why="context"):
        receipt = Receipt.objects.create(
            project_id=principal.project_id,
            namespace_id=chosen[0].namespace_id,
            fragment_ids=[fragment.id for fragment in chosen],
            tokens=tokens,
            key_id=principal.key_id,
        )
    return receipt.id
