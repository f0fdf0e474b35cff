"""What a URL of the explorer asks for, and back: one URL per state."""

import datetime
import re
import uuid
from dataclasses import dataclass, replace
from typing import Any, Self
from urllib.parse import urlencode

from django.db.models import Q, QuerySet
from django.http import Http404, QueryDict
from django.urls import reverse

from memories.console.figures import CROSSINGS, crossing, in_tenth_of_relevance, in_tenth_of_trust
from memories.cursors import Cursor
from memories.models import ApiKey
from memories.models.enums import FragmentType, SourceClass, Status, Tier
from memories.models.fragment import FragmentQuerySet
from memories.models.namespace import SHARED, BadUser, parts_of, user_of
from memories.retrieval import BALANCED, Filters, Question
from memories.upkeep.thresholds import thresholds_of

ALL = "all"
ON = ".."  # behind a day: that day and all after it
QUERY_LIMIT = 1000
PAGE = 50
HITS = 30  # of a search: what lies further down is found by better words
DEEP = 1_000  # hits among which to look for what a search has no filter for
FILTERS = ("namespace", "user", "type", "status", "tier", "tag", "source", "key", "day", "trust", "relevance")
NAMES = ("q", *FILTERS, "why", "weights", "tab")
# What is shown of an opened memory; the first needs no word.
TABS = ("", "trust", "links", "retrievals", "history")
USUAL = ",".join(str(round(100 * weight)) for weight in BALANCED.values())
NOTHING = ",".join("0" for _ in BALANCED)
WEIGHTS = re.compile(r"(?=.*[1-9])(?:100|[1-9]?[0-9])(?:,(?:100|[1-9]?[0-9])){3}", re.ASCII)
TENTHS = [f"0.{n}" for n in range(10)]
CHOICES = {
    "type": FragmentType.values,
    "status": [*Status.values, ALL],
    "tier": Tier.values,
    "tab": list(TABS),
    "source": SourceClass.values,
    "trust": TENTHS,
    "relevance": [*TENTHS, *CROSSINGS],
}


def normalise_newlines(text: str) -> str:
    """Return what a person typed into several lines: browsers end them in a way of their own."""
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def place_asked(params: QueryDict) -> tuple[str, str]:
    """Return the namespace and the user that an address names, also as one: `project:agent/user`. Raise Http404."""
    namespace, user = params.get("namespace", "").strip(), params.get("user", "")
    try:
        if "/" in namespace and not user:
            namespace, found = parts_of(namespace)
            user = found or ""
        return namespace, user_of(user) if user else ""
    except BadUser as error:
        raise Http404 from error


@dataclass(frozen=True, slots=True)
class ExplorerQuery:
    """The state of the explorer; `project` is named only where a person has several."""

    project: str = ""
    q: str = ""
    namespace: str = ""
    # Whose memories; words search as this user is answered.
    user: str = ""
    type: str = ""
    status: str = Status.ACTIVE.value
    tier: str = ""
    tag: str = ""
    # Who said it; the key by which it came, or another of its grant; the day (UTC) on which it was stored, or since
    # which; a tenth of trust without its age part, and of relevance now, or what it falls below within a week.
    source: str = ""
    key: str = ""
    day: str = ""
    trust: str = ""
    relevance: str = ""
    # "1": each hit says why it stands where it stands.
    why: str = ""
    # How much relevance, confidence, recency and importance count, 0..100 each, with commas between; empty: as usual,
    # and no sliders in sight.
    weights: str = ""
    # The tab of the opened memory; stays as one goes from memory to memory.
    tab: str = ""
    cursor: Cursor | None = None

    @classmethod
    def of(cls, params: QueryDict, *, project: str) -> Self:
        """Return the state that a query string asks for. Raise Http404 for one that can't be."""
        texts = {name: params.get(name, "").strip() for name in NAMES}
        texts["namespace"], texts["user"] = place_asked(params)
        if sliders := [params.get(f"w_{name}", "") for name in BALANCED if f"w_{name}" in params]:
            texts["weights"] = ",".join(sliders)
        if texts["weights"] == NOTHING:  # nobody weighs by nothing
            texts["weights"] = USUAL
        texts["status"] = texts["status"] or Status.ACTIVE.value
        if any(texts[name] and texts[name] not in words for name, words in CHOICES.items()):
            raise Http404
        if any("\0" in text for text in texts.values()):
            raise Http404
        try:
            cursor = Cursor.read(text) if (text := params.get("cursor", "")) else None
            if texts["day"]:
                day = datetime.date.fromisoformat(texts["day"].removesuffix(ON)).isoformat()
                texts["day"] = day + (ON if texts["day"].endswith(ON) else "")
        except (ValueError, OverflowError) as error:
            raise Http404 from error
        if texts["why"] not in ("", "1") or (texts["weights"] and not WEIGHTS.fullmatch(texts["weights"])):
            raise Http404
        texts["q"] = texts["q"][:QUERY_LIMIT]
        return cls(**texts, project=project, cursor=None if texts["q"] else cursor)

    @property
    def filters(self) -> dict[str, str]:
        """The chosen filters by name, as the URL carries them; an ordinary status is not a choice."""
        chosen = {name: getattr(self, name) for name in FILTERS if getattr(self, name)}
        return {name: value for name, value in chosen.items() if (name, value) != ("status", Status.ACTIVE)}

    @property
    def chips(self) -> list[tuple[str, str, str]]:
        """The chosen filters, each with the address without it."""
        usual: dict[str, Any] = dict.fromkeys(FILTERS, "") | {"status": Status.ACTIVE.value}
        first = replace(self, cursor=None)
        return [(name, value, replace(first, **{name: usual[name]}).url()) for name, value in self.filters.items()]

    @property
    def narrowed(self) -> bool:
        """Whether a filter other than the status leaves something out."""
        return bool(self.filters.keys() - {"status"})

    @property
    def since(self) -> datetime.datetime | None:
        """When the chosen day begins."""
        day = datetime.date.fromisoformat(self.day.removesuffix(ON)) if self.day else None
        return datetime.datetime.combine(day, datetime.time(), datetime.UTC) if day else None

    @property
    def until(self) -> datetime.datetime | None:
        """When it is over; None for the last day that there is, and where all after it counts too."""
        if self.since is None or self.day.endswith(ON) or self.since.date() == datetime.date.max:
            return None
        return self.since + datetime.timedelta(days=1)

    @property
    def is_beyond_search(self) -> bool:
        """Whether it asks what a ranked search, and the API, has no filter for."""
        return bool(self.source or self.key or self.trust or self.relevance)

    @property
    def weighing(self) -> dict[str, float]:
        """The weights of the ranking, by signal; they add up to 1 unless all are 0."""
        chosen = [int(text) for text in (self.weights or USUAL).split(",")]
        return {name: number / (sum(chosen) or 1) for name, number in zip(BALANCED, chosen, strict=True)}

    @property
    def sliders(self) -> list[tuple[str, int]]:
        """The same as the sliders stand."""
        return list(zip(BALANCED, map(int, (self.weights or USUAL).split(",")), strict=True))

    @property
    def with_why(self) -> str:
        """The same with the reasons shown, or without them."""
        return self.url(why="" if self.why else "1")

    @property
    def params(self) -> dict[str, str]:
        """What the query string holds."""
        texts = {"project": self.project, "q": self.q, **self.filters, "cursor": str(self.cursor or "")}
        texts |= {"why": self.why, "weights": self.weights} if self.q else {}
        return {name: value for name, value in texts.items() if value}

    @property
    def query(self) -> str:
        """What follows the path of an action, so that one stays where one is."""
        params = self.params | ({"tab": self.tab} if self.tab else {})
        return f"?{urlencode(params)}" if params else ""

    @property
    def here(self) -> str:
        """This list with no memory open."""
        return self.url(cursor=self.cursor)

    @property
    def newest(self) -> str:
        """The first page of this list."""
        return self.url(cursor=None)

    @property
    def everything(self) -> str:
        """The same in every status."""
        return self.url(status=ALL)

    @property
    def cleared(self) -> str:
        """The same words without any filter."""
        return type(self)(project=self.project, q=self.q).url()

    def url(self, fragment_id: uuid.UUID | None = None, **changes: Any) -> str:
        """The address of this state, changed, with a fragment open or none. A new filter begins at the first page."""
        changed = replace(self, **({"cursor": None} | changes)) if changes else self
        path = reverse("console:memory", args=[fragment_id]) if fragment_id else reverse("console:memories")
        params = changed.params | ({"tab": changed.tab} if fragment_id and changed.tab else {})
        return f"{path}?{urlencode(params)}" if params else path

    @property
    def view(self) -> str:
        """The query that a saved view keeps: this list from its beginning, in whatever project."""
        return urlencode(replace(self, project="", cursor=None).params)

    def conditions(self) -> Q:
        """Return what the facets' choices demand of a fragment."""
        body: dict[str, Any] = {"namespace__user": self.user, "type": self.type, "tier": self.tier}
        body |= {"status": self.status if self.status != ALL else ""}
        here = Q(namespace__name=self.namespace) | Q(namespace__parent__name=self.namespace) if self.namespace else Q()
        return here & Q(**{column: value for column, value in body.items() if value})

    def narrow(self, rows: FragmentQuerySet, *, project_id: uuid.UUID, now: datetime.datetime) -> QuerySet[Any]:
        """Return the rows that pass every other filter."""
        tags = [self.tag] if self.tag else []
        rows = rows.filter(Filters(tags=tags, since=self.since, until=self.until).conditions())
        if self.source:
            rows = rows.filter(source=self.source)
        if self.key:
            known = ApiKey.objects.within(project_id).filter(key_id=self.key)
            rows = rows.filter(grant_id__in=known.values("grant_id"))
            # No key wrote what a branch copied: that is listed where the branch is asked for.
            rows = rows if self.namespace else rows.unforked()
        if self.trust:
            rows = in_tenth_of_trust(rows, int(self.trust[2:]))
        if not self.relevance:
            return rows
        own = thresholds_of(project_id)
        if self.relevance in CROSSINGS:
            return crossing(rows, self.relevance, now=now, own=own)
        found: QuerySet[Any] = in_tenth_of_relevance(rows, int(self.relevance[2:]), now=now, own=own)
        return found

    def search_filters(self) -> Filters:
        """Return the same for a ranked search."""
        return Filters(
            type=[self.type] if self.type else [],
            tier=[self.tier] if self.tier else [],
            tags=[self.tag] if self.tag else [],
            since=self.since,
            until=self.until,
            status_filter=[self.status],
            include_all=self.status == ALL,
        )


def question_of(query: ExplorerQuery, *, project: str, names: list[str]) -> Question:
    """Return the search that the state stands for."""
    return Question(
        query=query.q,
        namespaces=[query.namespace] if query.namespace else names or [f"{project}:{SHARED}"],
        project_wide=False,
        all_users=not query.user,
        floor=0.0,
        filters=query.search_filters(),
        top_k=DEEP if query.is_beyond_search else HITS,
        weights=query.weighing if query.weights else None,
        explain=bool(query.why),
    )
