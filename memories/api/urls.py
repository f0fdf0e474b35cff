"""The paths under /api/v1/."""

from django.urls import path

from memories.api.fragments import BatchView, FragmentView, HistoryView, StoreView
from memories.api.ingesting import IngestView
from memories.api.operations import CancelView, OperationsView, OperationView
from memories.api.overview import NamespacesView, StatsView
from memories.api.searching import ContextView, SearchView

urlpatterns = [
    path("fragments", StoreView.as_view()),
    path("fragments/batch", BatchView.as_view()),
    path("fragments/<uuid:fragment_id>", FragmentView.as_view()),
    path("fragments/<uuid:fragment_id>/history", HistoryView.as_view()),
    path("ingest", IngestView.as_view()),
    path("search", SearchView.as_view()),
    path("context", ContextView.as_view()),
    path("stats", StatsView.as_view()),
    path("namespaces", NamespacesView.as_view()),
    path("operations", OperationsView.as_view()),
    path("operations/<uuid:operation_id>", OperationView.as_view()),
    path("operations/<uuid:operation_id>/cancel", CancelView.as_view()),
]
