"""The paths under /api/v1/."""

from django.urls import path

from memories.api.claims import ClaimsView, TimelineView
from memories.api.conflicts import ConflictsView, ConflictView, ResolveView, UndoView
from memories.api.contexts import ContextView
from memories.api.events import EventsView
from memories.api.fragments import BatchView, FragmentView, HistoryView, StoreView
from memories.api.ingesting import IngestView
from memories.api.models import ActivateView, BackfillView, CompareView, ModelsView, ModelView, RetireView
from memories.api.operations import CancelView, OperationsView, OperationView
from memories.api.overview import NamespacesView, StatsView
from memories.api.predicates import PredicatesView, PredicateView
from memories.api.searching import SearchBatchView, SearchView
from memories.api.voting import ArchiveView, CorroborateView, DisputeView, ReinforceView, UnarchiveView

urlpatterns = [
    path("fragments", StoreView.as_view()),
    path("fragments/batch", BatchView.as_view()),
    path("fragments/<uuid:fragment_id>", FragmentView.as_view()),
    path("fragments/<uuid:fragment_id>/history", HistoryView.as_view()),
    path("fragments/<uuid:fragment_id>/reinforce", ReinforceView.as_view()),
    path("fragments/<uuid:fragment_id>/dispute", DisputeView.as_view()),
    path("fragments/<uuid:fragment_id>/corroborate", CorroborateView.as_view()),
    path("fragments/<uuid:fragment_id>/archive", ArchiveView.as_view()),
    path("fragments/<uuid:fragment_id>/unarchive", UnarchiveView.as_view()),
    path("conflicts", ConflictsView.as_view()),
    path("conflicts/<uuid:conflict_id>", ConflictView.as_view()),
    path("conflicts/<uuid:conflict_id>/resolve", ResolveView.as_view()),
    path("conflicts/<uuid:conflict_id>/undo", UndoView.as_view()),
    path("ingest", IngestView.as_view()),
    path("search", SearchView.as_view()),
    path("search/batch", SearchBatchView.as_view()),
    path("context", ContextView.as_view()),
    path("claims", ClaimsView.as_view()),
    path("claims/timeline", TimelineView.as_view()),
    path("events", EventsView.as_view()),
    path("stats", StatsView.as_view()),
    path("namespaces", NamespacesView.as_view()),
    path("predicates", PredicatesView.as_view()),
    path("predicates/<uuid:predicate_id>", PredicateView.as_view()),
    path("models", ModelsView.as_view()),
    path("models/<uuid:model_id>", ModelView.as_view()),
    path("models/<uuid:model_id>/backfill", BackfillView.as_view()),
    path("models/<uuid:model_id>/compare", CompareView.as_view()),
    path("models/<uuid:model_id>/activate", ActivateView.as_view()),
    path("models/<uuid:model_id>/retire", RetireView.as_view()),
    path("operations", OperationsView.as_view()),
    path("operations/<uuid:operation_id>", OperationView.as_view()),
    path("operations/<uuid:operation_id>/cancel", CancelView.as_view()),
]
