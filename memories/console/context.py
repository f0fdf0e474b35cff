"""/context/: the very block that an agent would get, what it is made of and what was left out."""

from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from memories import access
from memories.access import Principal
from memories.console.auth import member
from memories.console.errors import Refusal
from memories.console.explorer_query import place_asked
from memories.console.snippets import context_curl, server_url
from memories.models import Fragment
from memories.models.namespace import SHARED
from memories.retrieval import Question
from memories.retrieval.context import Context, Request, build_context

BUDGET, LEAST, MOST, LONGEST = 1200, 50, 100_000, 1000
SHOWN = 50  # of those that were left out
PER_TOKEN = 4  # characters


@dataclass(frozen=True, slots=True)
class PackedContext:
    """A memory of the answer, or one that was left out, with its value per token."""

    fragment: Fragment
    tokens: int
    reason: str = ""
    value: float = 0.0

    @property
    def density(self) -> float:
        """Value per token."""
        return self.value / self.tokens


@require_safe
@never_cache
@member
def preview(request: Any) -> HttpResponse:
    """Return the form, and the block for a question."""
    principal, now = request.principal, timezone.now()
    query, typed = request.GET.get("q", "").strip()[:LONGEST], request.GET.get("budget", "").strip() or str(BUDGET)
    if "\0" in query:
        raise Http404
    budget = int(typed) if typed.isascii() and typed.isdigit() and len(typed) <= len(str(MOST)) else 0
    refusal = None
    if not LEAST <= budget <= MOST:
        budget, refusal = BUDGET, Refusal("Nothing was asked", f"A budget has {LEAST} to {MOST:,} tokens.")
    with access.enter(principal, why="console"):
        names = [row.name for row in access.all_readable(principal)]
    chosen, user = place_asked(request.GET)
    if chosen and chosen not in names:
        raise Http404
    text: dict[str, Any] = {"query": query, "budget": budget, "names": names, "chosen": chosen, "now": now}
    text |= {"typed": typed, "whose": user}
    text["refusal"] = refusal
    if query and not refusal:
        places = [chosen] if chosen else names or [f"{principal.project}:{SHARED}"]
        request_of_context = Request(Question(query, places, project_wide=False), max_tokens=budget, preview=True)
        asking = principal.of_user(user or None)
        text |= _shown_block(asking, build_context(asking, request_of_context, now=now))
        base = server_url(request)
        command = context_curl(base, query, project=principal.project, names=places, budget=budget, user=user)
        text["curls"] = [("This block", command)]
    return render(request, "console/context.html", text, status=400 if refusal else 200)


def _shown_block(principal: Principal, found: Context) -> dict[str, Any]:
    with access.enter(principal, why="console"):
        rows = Fragment.objects.within(principal.project_id).in_bulk([i for i, _, _ in found.excluded[:SHOWN]])
    kept = [PackedContext(row, _tokens(row), value=found.values[row.id]) for row in found.included]
    by_type: dict[str, int] = {}
    for one in kept:
        by_type[one.fragment.type] = by_type.get(one.fragment.type, 0) + one.tokens
    cut = [PackedContext(rows[i], _tokens(rows[i]), reason, value) for i, reason, value in found.excluded if i in rows]
    around = max(0, found.tokens_used - sum(by_type.values()))
    by_type |= {"headings and fence": around} if around else {}
    return {"found": found, "kept": kept, "cut": cut, "by_type": list(by_type.items()), "left_out": len(found.excluded)}


def _tokens(row: Fragment) -> int:
    return max(1, -(-len(row.content) // PER_TOKEN))
