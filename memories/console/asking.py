"""What a URL of the explorer asks for, and back: one URL per state."""

import datetime
import uuid
from dataclasses import dataclass, replace
from typing import Any, Self
from urllib.parse import urlencode

from django.db.models import Q
from django.http import Http404, QueryDict
from django.urls import reverse

from memories.models import Fragment
from memories.models.words import FragmentType, Status, Tier
from memories.retrieval import Filters

ALL = "all"
QUERY_LIMIT = 1000
CHOICES = {"type": FragmentType.values, "status": [*Status.values, ALL], "tier": Tier.values}


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where the next page begins: after this row, newest first."""

    created_at: datetime.datetime
    id: uuid.UUID

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """The place, or None for no cursor. Raises ValueError."""
        if not text:
            return None
        at, _, fragment_id = text.partition("~")
        return cls(datetime.datetime.fromisoformat(at).astimezone(datetime.UTC), uuid.UUID(fragment_id))

    @classmethod
    def after(cls, row: Fragment) -> Self:
        """The place after a row."""
        return cls(row.created_at, row.id)

    def __str__(self) -> str:
        return f"{self.created_at.astimezone(datetime.UTC).isoformat()}~{self.id}"

    def older(self) -> Q:
        """The rows after it."""
        return Q(created_at__lt=self.created_at) | Q(created_at=self.created_at, id__lt=self.id)


@dataclass(frozen=True, slots=True)
class Asked:
    """The state of the explorer; `project` is named only where a person has several."""

    project: str = ""
    q: str = ""
    namespace: str = ""
    type: str = ""
    status: str = Status.ACTIVE.value
    tier: str = ""
    tag: str = ""
    cursor: Cursor | None = None

    @classmethod
    def of(cls, params: QueryDict, *, project: str) -> Self:
        """The state that a query string asks for. Raises Http404 for one that can't be."""
        texts = {name: params.get(name, "").strip() for name in ("q", "namespace", "type", "status", "tier", "tag")}
        texts["status"] = texts["status"] or Status.ACTIVE.value
        if any(texts[name] and texts[name] not in words for name, words in CHOICES.items()):
            raise Http404
        if any("\0" in text for text in texts.values()):
            raise Http404
        try:
            cursor = Cursor.parse(params.get("cursor", ""))
        except (ValueError, OverflowError) as error:
            raise Http404 from error
        texts["q"] = texts["q"][:QUERY_LIMIT]
        return cls(**texts, project=project, cursor=None if texts["q"] else cursor)

    @property
    def filters(self) -> dict[str, str]:
        """The chosen filters by name, as the URL carries them; an ordinary status is not a choice."""
        names = ("namespace", "type", "status", "tier", "tag")
        chosen = {name: getattr(self, name) for name in names if getattr(self, name)}
        return {name: value for name, value in chosen.items() if (name, value) != ("status", Status.ACTIVE)}

    @property
    def narrowed(self) -> bool:
        """Whether a filter other than the status leaves something out."""
        return bool(self.namespace or self.type or self.tier or self.tag)

    @property
    def params(self) -> dict[str, str]:
        """What the query string holds."""
        texts = {"project": self.project, "q": self.q, **self.filters, "cursor": str(self.cursor or "")}
        return {name: value for name, value in texts.items() if value}

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
        asked = replace(self, **({"cursor": None} | changes)) if changes else self
        path = reverse("console:memory", args=[fragment_id]) if fragment_id else reverse("console:memories")
        return f"{path}?{urlencode(asked.params)}" if asked.params else path

    def conditions(self, *, without: str = "") -> Q:
        """What the filters demand of a fragment, without one of them for counting its alternatives."""
        asked: dict[str, Any] = {"namespace__name": self.namespace, "type": self.type, "tier": self.tier}
        asked |= {"status": self.status if self.status != ALL else "", "tags__contains": [self.tag] if self.tag else ""}
        skipped = {"namespace": "namespace__name"}.get(without, without)
        return Q(**{column: value for column, value in asked.items() if value and column != skipped})

    def search_filters(self) -> Filters:
        """The same for a ranked search."""
        return Filters(
            type=[self.type] if self.type else [],
            tier=[self.tier] if self.tier else [],
            tags=[self.tag] if self.tag else [],
            status_filter=[self.status],
            include_all=self.status == ALL,
        )
