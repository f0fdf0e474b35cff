"""Assembling the context: search, follow links, pack, lay out, leave a receipt."""

import datetime
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from memories import access, agent_tasks, usage_counters
from memories.access import Principal
from memories.models import Fragment, Project
from memories.retrieval.conflict_filter import rivalry
from memories.retrieval.context import metrics
from memories.retrieval.context.block import (
    BlockEntry,
    entry,
    frame_size,
    gone_entry,
    heading_sizes,
    render_block,
    task_entry,
)
from memories.retrieval.context.linked import linked_memories
from memories.retrieval.context.markup import estimate_tokens
from memories.retrieval.context.packing import BUDGET, RATIOS, Item, Packed, Space, by_density, by_score
from memories.retrieval.context.receipts import leave_receipt
from memories.retrieval.context.tombstones import matching_tombstones
from memories.retrieval.pipeline import answer, prepare_question
from memories.retrieval.precedence import claims_against_fragments
from memories.retrieval.questions import Question, Results
from memories.retrieval.scope import Places

MEMORIES, MEMORIES_WITHOUT_BUDGET = 30, 15
LEAST_CONSIDERED, MOST_CONSIDERED = 50, 200
MOST_STONES = 3
TASK_SHARE = 4  # tasks take a quarter of the room at the most
RIVAL, CONTRADICTS = "rival", "contradicts"


@dataclass(frozen=True, slots=True)
class Request:
    """A context request: the question, and how much of the answer fits the prompt."""

    question: Question
    max_tokens: int | None = 1200
    max_memories: int | None = None
    packing: str = "density"
    ratios: dict[str, float] = field(default_factory=lambda: dict(RATIOS))
    form: str = "markdown"
    include_tombstones: bool = True
    include_tasks: int = 0
    # A person only looks: nothing counts as read, no receipt is left.
    preview: bool = False

    @property
    def most(self) -> int:
        """How many memories at the most."""
        return self.max_memories or (MEMORIES_WITHOUT_BUDGET if self.max_tokens is None else MEMORIES)

    @property
    def considered(self) -> int:
        """How many hits it chooses from: where the best are too long, shorter ones may fit."""
        return min(MOST_CONSIDERED, max(2 * self.most, LEAST_CONSIDERED))

    @property
    def space(self) -> Space:
        """The room inside the block's frame."""
        left = None if self.max_tokens is None else 4 * self.max_tokens - frame_size(self.form)
        return Space(self.most, left, heading_sizes(self.form))


@dataclass(frozen=True, slots=True)
class Context:
    """The block and how it came about. `tokens_used` <= the budget, always."""

    prompt_prefix: str
    tokens_used: int
    included: list[Fragment]
    excluded: list[tuple[uuid.UUID, str, float]]
    receipt_id: uuid.UUID | None
    degraded: list[str]
    nothing_relevant: bool
    # Of those included, by id: what the packing weighed.
    values: dict[uuid.UUID, float]

    @property
    def truncated(self) -> bool:
        """Whether the budget kept something out."""
        return any(reason == BUDGET for _, reason, _ in self.excluded)


@dataclass(frozen=True, slots=True)
class Memory:
    """A candidate with its finished line."""

    fragment: Fragment
    entry: BlockEntry


def build_context(principal: Principal, request: Request, *, now: datetime.datetime) -> Context:
    """Return the context block for a question. Raise what search raises."""
    prepared = prepare_question(principal, replace(request.question, top_k=request.considered), now=now)
    with access.enter(principal, why="context", keeps_plans=True):
        results = answer(principal, prepared, now=now)
        places = results.places
        items, left_out = _candidates(principal, request, places, results, now)
        space = request.space
        tasks = _tasks(principal, request, places, space, now)
        packed = _packed(items, request, space)
        _leave_out_contradictions(packed, items)
        packed.excluded += left_out
        tombstones = _tombstones(principal, request, places, packed, space)
        chosen = sorted(packed.included, key=lambda item: (-item.value, not item.first, item.thing.fragment.id))
        block = render_block(
            [*(item.thing.entry for item in chosen), *tasks, *tombstones],
            form=request.form,
            salt=_salt(principal, results),
        )
        included = [item.thing.fragment for item in chosen]
        tokens = estimate_tokens(block)
        receipt_id = None
        if not request.preview:
            receipt_id = leave_receipt(principal, included, places, tokens=tokens, now=now)
    if not request.preview:
        metrics.count(kept=len(included), excluded=[reason for _, reason in packed.excluded])
        usage_counters.count_reads(principal.project_id, results.used({row.id for row in included}), at=now)
        usage_counters.count_search(
            principal.project_id, took=results.took_ms["total"], found=bool(results.hits), at=now
        )
    return Context(
        prompt_prefix=block,
        tokens_used=tokens,
        included=included,
        excluded=[(item.thing.fragment.id, reason, item.value) for item, reason in packed.excluded],
        receipt_id=receipt_id,
        degraded=results.degraded,
        nothing_relevant=results.nothing_relevant,
        values={item.thing.fragment.id: item.value for item in chosen},
    )


def _salt(principal: Principal, results: Results) -> bytes:
    """Return the project's salt, which came with the hits where there are any."""
    if results.hits:
        return bytes(results.hits[0].fragment.project.salt)
    return bytes(Project.objects.values_list("salt", flat=True).get(id=principal.project_id))


def _candidates(
    principal: Principal, request: Request, places: Places, results: Results, now: datetime.datetime
) -> tuple[list[Item[Memory]], list[tuple[Item[Memory], str]]]:
    """Hits and what they link to; apart, with the reason, what gives way to a claim once linked ones come in."""

    def item(fragment: Fragment, value: float, *, first: bool = False) -> Item[Memory]:
        made = entry(fragment, form=request.form)
        return Item(Memory(fragment, made), made.kind, value, made.size, first)

    hits = results.hits
    linked = linked_memories(hits, request.question, places, principal, most=request.most, now=now)
    for hit in hits:
        labels: Any = hit.fragment
        labels.contradicts, labels.on_record = hit.contradicts, hit.on_record
    against = claims_against_fragments([row for row, _ in linked], results.claims, places) if results.claims else {}
    for row, _ in linked:
        labels = row
        labels.contradicts, labels.on_record = (
            (against[row.id].contradicts, against[row.id].on_record) if against else (None, None)
        )
    items = [item(hit.fragment, hit.score, first=hit.reserved) for hit in hits]
    items += [item(fragment, value) for fragment, value in linked]
    if not linked or request.question.filters.include_all:
        return items, []
    ids = [one.thing.fragment.id for one in items]
    losers = dict.fromkeys(
        rivalry(ids, project_id=principal.project_id, places=places.ranks, nearest=places.nearest).outdone, RIVAL
    )
    losers |= {which: CONTRADICTS for which, held in against.items() if held.contradicts}
    left_out = [(one, losers[one.thing.fragment.id]) for one in items if one.thing.fragment.id in losers]
    return [one for one in items if one.thing.fragment.id not in losers], left_out


def _leave_out_contradictions(packed: Packed[Memory], items: Sequence[Item[Memory]]) -> None:
    """Nothing is shown that contradicts a claim which was found and had no room."""
    found = {item.thing.fragment.id for item in items} - {item.thing.fragment.id for item in packed.included}
    for item in [*packed.included]:
        against = getattr(item.thing.fragment, "contradicts", None)
        if against and against.fragment_id in found:
            packed.included.remove(item)
            packed.excluded.append((item, CONTRADICTS))


def _packed(items: Sequence[Item[Memory]], request: Request, space: Space) -> Packed[Memory]:
    if request.packing == "priority":
        return by_score(items, space=space)
    return by_density(items, ratios=request.ratios, space=space)


def _tasks(
    principal: Principal, request: Request, places: Places, space: Space, now: datetime.datetime
) -> list[BlockEntry]:
    """The latest tasks, as many as were asked for and fit their share; they leave the number of memories alone."""
    if not request.include_tasks:
        return []
    share = space.copy()
    share.most, share.left = request.include_tasks, None if space.left is None else space.left // TASK_SHARE
    fitting: Packed[BlockEntry] = Packed()
    found = agent_tasks.recent(principal, places.own, limit=request.include_tasks, now=now)
    for task in agent_tasks.believable(principal, found.tasks, now=now):
        made = task_entry(task, form=request.form)
        fitting.offer(Item(made, made.kind, 0.0, made.size), share)
    for item in fitting.included:
        space.left = None if space.left is None else space.left - space.cost(item)
        space.opened.add(item.kind)
    return [item.thing for item in fitting.included]


def _tombstones(
    principal: Principal, request: Request, places: Places, packed: Packed[Memory], space: Space
) -> list[BlockEntry]:
    """Tombstones in the room that memories left; none where memories were found and not one of them had room."""
    if not request.include_tombstones or (packed.excluded and not packed.included):
        return []
    fitting: Packed[BlockEntry] = Packed()
    space.most = MOST_STONES
    for stone in matching_tombstones(request.question.query, places, project_id=principal.project_id, most=MOST_STONES):
        made = gone_entry(stone, form=request.form)
        fitting.offer(Item(made, made.kind, 0.0, made.size), space)
    return [item.thing for item in fitting.included]
