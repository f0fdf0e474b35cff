"""What the console keeps for people: how searches went by day, and the views of the explorer that they named."""

import datetime
import uuid
from collections.abc import Mapping
from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone

from memories.models.sql import execute
from memories.models.table_spec import TableSpec
from memories.models.tenant import TenantModel, TenantQuerySet, unique_in_project

# Milliseconds: a search counts at the first of these that it did not pass, or behind them all.
SEARCH_BOUNDS = (5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000)


class SearchDayQuerySet(TenantQuerySet):
    """Searches by day."""

    def count_up(self, project_id: uuid.UUID, day: datetime.date, counts: Mapping[tuple[int, bool], int]) -> None:
        """Add searches to a day: how many by (place among the bounds, whether something was found)."""
        places = range(len(SEARCH_BOUNDS) + 1)
        took = [counts.get((place, True), 0) + counts.get((place, False), 0) for place in places]
        empty = sum(number for (_, found), number in counts.items() if not found)
        execute(
            """INSERT INTO memories_searchday AS d (id, project_id, day, searches, empty, took)
               VALUES (gen_random_uuid(), %s, %s, %s, %s, %s)
               ON CONFLICT (project_id, day) DO UPDATE SET searches = d.searches + excluded.searches,
                   empty = d.empty + excluded.empty,
                   took = ARRAY(
                       SELECT a + b FROM unnest(d.took, excluded.took) WITH ORDINALITY AS t (a, b, n) ORDER BY n)""",
            [project_id, day, sum(took), empty, took],
        )


class SearchDay(TenantModel):
    """What was asked of a project on one day (UTC): how many searches, how many found nothing, how long they took."""

    day = models.DateField()
    searches = models.PositiveIntegerField()
    empty = models.PositiveIntegerField()
    # How many by place among `SEARCH_BOUNDS`, the last for what took longer than all of them.
    took = ArrayField(models.PositiveIntegerField())

    objects = SearchDayQuerySet.as_manager()
    # Not exported: of its instance.
    spec = TableSpec(kind="operational", erase="kept")

    class Meta:
        constraints: ClassVar = [
            unique_in_project("search_day_project_id", "id"),
            unique_in_project("search_day_once", "day"),
            models.CheckConstraint(condition=models.Q(empty__lte=models.F("searches")), name="search_day_empty"),
        ]

    def __str__(self) -> str:
        return f"{self.searches} searches on {self.day}"


VIEWS = 50  # of one person in one project


class SavedViewQuerySet(TenantQuerySet):
    """Saved views."""

    def keep(self, project_id: uuid.UUID, owner_id: uuid.UUID, *, name: str, query: str) -> None:
        """Keep a person's view under a name, which had another state before or none; the newest fifty stay."""
        self.update_or_create(project_id=project_id, owner_id=owner_id, name=name, defaults={"query": query})
        views = self.filter(project_id=project_id, owner_id=owner_id).order_by("-created_at", "-id")
        self.filter(id__in=list(views.values_list("id", flat=True)[VIEWS:])).delete()

    def take(self, view_id: uuid.UUID, *, owner_id: uuid.UUID) -> "SavedView | None":
        """Delete one of a person's own, and return what it was; None where there is none."""
        found: SavedView | None = self.filter(id=view_id, owner_id=owner_id).first()
        self.filter(id=view_id, owner_id=owner_id).delete()
        return found


class SavedView(TenantModel):
    """A state of the explorer that a person named: the query of its address."""

    owner_id = models.UUIDField()
    name = models.CharField(max_length=60)
    query = models.CharField(max_length=4000)
    created_at = models.DateTimeField(default=timezone.now)

    objects = SavedViewQuerySet.as_manager()
    # Kept: a person's question, no memory.
    spec = TableSpec(kind="operational", erase="kept")

    class Meta:
        constraints: ClassVar = [
            unique_in_project("saved_view_project_id", "id"),
            unique_in_project("saved_view_name", "owner_id", "name"),
            models.CheckConstraint(condition=~models.Q(name=""), name="saved_view_named"),
        ]

    def __str__(self) -> str:
        return self.name
