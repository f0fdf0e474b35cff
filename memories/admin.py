"""Django admin: raw rows of the global tables, for superusers, read-mostly.

Tenant tables are not here on purpose. The admin runs as the app role and enters no project, so row-level security
shows it none of their rows; and a row changed here would pass by the gate, the embeddings and the fingerprints.
People look after memories in the console, scripts through the API.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from django.contrib import admin, messages
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import Resolver404, resolve
from django.utils import timezone

from memories import access, jobs, upkeep
from memories.access import authorizations
from memories.models import EmbeddingModel, Membership, Project
from memories.recall_checks import RecallLost

for model in (get_user_model(), Group):
    admin.site.unregister(model)


class AttributionMiddleware:
    """Row history tells who changed accounts and memberships in the administration."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer a change there in a transaction of its person."""
        if request.method != "POST" or not _is_administration(request) or not request.user.is_authenticated:
            return self.get_response(request)
        with access.attributed_transaction(request.user, why="administration"):
            return self.get_response(request)


def _is_administration(request: HttpRequest) -> bool:
    with suppress(Resolver404):
        return resolve(request.path_info).app_name == "admin"
    return False


class ReadOnly(admin.ModelAdmin):  # type: ignore[type-arg]  # subscriptable for mypy only
    """Looks only."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Nobody."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody."""
        return False


@admin.register(get_user_model())
class AccountAdmin(ReadOnly):
    """Accounts: made with a membership, closed by `member close`; superusers by `createsuperuser --database owner`."""

    list_display = ("username", "is_superuser", "is_staff", "is_active", "last_login", "date_joined")
    list_filter = ("is_superuser", "is_active")
    search_fields = ("username",)
    fields = list_display


@admin.register(Project)
class ProjectAdmin(ReadOnly):
    """Projects: made by `apikey create` and `member add`; deleting one would strand its rows."""

    list_display = ("name", "id", "created_at")
    search_fields = ("name",)
    fields = ("id", "name", "created_at")


@admin.register(EmbeddingModel)
class EmbeddingModelAdmin(ReadOnly):
    """Embedding models: their states follow the work on them, so they are not set by hand."""

    list_display = ("name", "provider", "dim", "state", "created_at")
    list_filter = ("state", "provider")
    actions = ("backfill", "activate", "activate_with_loss", "retire")

    def has_operate_permission(self, request: HttpRequest) -> bool:
        """Superusers: models are the installation's."""
        return bool(request.user.is_superuser)

    @admin.action(description="Embed what has no vector of it, in every project", permissions=["operate"])
    def backfill(self, request: HttpRequest, rows: "QuerySet[EmbeddingModel]") -> None:
        """Start the work."""
        self._each(request, rows, lambda row: jobs.fill_model(row, now=timezone.now()))

    @admin.action(description="Switch all questions to it", permissions=["operate"])
    def activate(self, request: HttpRequest, rows: "QuerySet[EmbeddingModel]") -> None:
        """Refused while vectors are missing."""
        self._each(request, rows, lambda row: jobs.activate_model(row, force=False, now=timezone.now()))

    @admin.action(description="Switch all questions to it, although recall checks would fail", permissions=["operate"])
    def activate_with_loss(self, request: HttpRequest, rows: "QuerySet[EmbeddingModel]") -> None:
        """Refused while vectors are missing."""
        options: dict[str, Any] = {"force": False, "accept_recall_loss": True}
        self._each(request, rows, lambda row: jobs.activate_model(row, **options, now=timezone.now()))

    @admin.action(description="End it and drop its vectors", permissions=["operate"])
    def retire(self, request: HttpRequest, rows: "QuerySet[EmbeddingModel]") -> None:
        """Refused for the active one."""
        self._each(request, rows, lambda row: jobs.retire_model(row, now=timezone.now()))

    def _each(
        self, request: HttpRequest, rows: "QuerySet[EmbeddingModel]", act: Callable[[EmbeddingModel], object]
    ) -> None:
        for row in rows:
            try:
                act(row)
                self.log_change(request, row, request.POST.get("action", ""))
            except (upkeep.model_registry.UnfitState, upkeep.model_registry.VectorsMissing, RecallLost) as error:
                self.message_user(request, f"{row.name}: {error}.", messages.ERROR)


@admin.register(Membership)
class MembershipAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Who belongs to which project, as what. Here adding and taking away is safe: it names no memory."""

    list_display = ("user", "project", "role", "created_at")
    list_filter = ("role", "project")
    list_select_related = ("user", "project")
    search_fields = ("user__username", "project__name")
    readonly_fields = ("created_at",)

    def save_model(self, request: HttpRequest, obj: Membership, form: Any, change: bool) -> None:
        """Keep it; who may do less lets their programs do no more."""
        former = Membership.objects.filter(pk=obj.pk).select_related("project").first()
        super().save_model(request, obj, form, change)
        _end_unfounded(obj, *([former] if former else []))

    def delete_model(self, request: HttpRequest, obj: Membership) -> None:
        """Take somebody out of a project, and their programs."""
        super().delete_model(request, obj)
        _end_unfounded(obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Membership]) -> None:
        """Take several out."""
        rows = list(queryset.select_related("project"))
        super().delete_queryset(request, queryset)
        _end_unfounded(*rows)


def _end_unfounded(*rows: Membership) -> None:
    for row in rows:
        authorizations.end_unfounded(row.project, row.user_id, now=timezone.now())
