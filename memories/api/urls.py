"""The paths under /api/v1/."""

from django.urls import path

from memories.api.backups import (
    BackupsView,
    BackupView,
    DownloadView,
    DrillView,
    ProtectView,
    RestoresView,
    VerifyView,
)
from memories.api.branches import ComparisonView, ForkView, MergeView, NamespaceView, ProjectView
from memories.api.cases import CaseGroupsView, CaseResolveView, CasesView, CaseUndoView, CaseView, ClearView
from memories.api.claims import ClaimsView, TimelineView
from memories.api.conflicts import ConflictsView, ConflictView, ReinstateView, ResolveView, UndoView
from memories.api.consolidations import ConsolidationsView, ConsolidationUndoView
from memories.api.containments import ContainmentsView, ContainmentUndoView, ContainmentView
from memories.api.contexts import ContextView
from memories.api.digests import DigestsView
from memories.api.erasure import ForgetView, LiftView
from memories.api.events import EventsView
from memories.api.fragments import BatchView, FragmentView, HistoryView, StoreView
from memories.api.graph import EntitiesView, GraphView
from memories.api.groups import ClustersView, ClusterView, EpisodesView, EpisodeView
from memories.api.ingestion import IngestView
from memories.api.lifecycle import (
    CompactView,
    EvictionPreviewView,
    RestoreTombstoneView,
    TierView,
    TombstonesView,
    TombstoneView,
)
from memories.api.models import WORK, ModelsView, ModelView, ModelWorkView
from memories.api.notices import NoticesView
from memories.api.operations import CancelView, OperationsView, OperationView
from memories.api.operations import UndoOperationView as OperationUndoView
from memories.api.overview import HealthReportView, NamespacesView, StatsView
from memories.api.packs import PackDownloadView, PacksView
from memories.api.predicates import PredicatesView, PredicateView
from memories.api.proposals import AcceptView, DismissView, ProposalStatsView, ProposalsView, ProposalUndoView
from memories.api.recall_checks import RecallChecksView, RecallCheckView, RecallFileView, RecallRunsView
from memories.api.rollbacks import RollbackView
from memories.api.rulings import RulingsView
from memories.api.search import SearchBatchView, SearchView
from memories.api.tasks import RecentTasksView, TasksView
from memories.api.timeline import DifferenceView, ProjectTimelineView
from memories.api.users import UserExportView, UsersView, UserView
from memories.api.votes import (
    ArchiveByKeyView,
    ArchiveView,
    CorroborateView,
    DisputeView,
    ReinforceView,
    UnarchiveView,
)
from memories.api.webhooks import WebhooksView, WebhookView

urlpatterns = [
    path("fragments", StoreView.as_view()),
    path("fragments/batch", BatchView.as_view()),
    path("fragments/<uuid:fragment_id>", FragmentView.as_view()),
    path("fragments/<uuid:fragment_id>/history", HistoryView.as_view()),
    path("fragments/<uuid:fragment_id>/reinforce", ReinforceView.as_view()),
    path("fragments/<uuid:fragment_id>/dispute", DisputeView.as_view()),
    path("fragments/<uuid:fragment_id>/corroborate", CorroborateView.as_view()),
    path("fragments/archive", ArchiveByKeyView.as_view()),
    path("fragments/<uuid:fragment_id>/archive", ArchiveView.as_view()),
    path("fragments/<uuid:fragment_id>/unarchive", UnarchiveView.as_view()),
    path("fragments/<uuid:fragment_id>/reinstate", ReinstateView.as_view()),
    path("fragments/<uuid:fragment_id>/tier", TierView.as_view()),
    path("fragments/<uuid:fragment_id>/compact", CompactView.as_view()),
    path("tombstones", TombstonesView.as_view()),
    path("tombstones/<uuid:tombstone_id>", TombstoneView.as_view()),
    path("tombstones/<uuid:tombstone_id>/restore", RestoreTombstoneView.as_view()),
    path("evictions/preview", EvictionPreviewView.as_view()),
    path("consolidations", ConsolidationsView.as_view()),
    path("consolidations/<uuid:operation_id>/undo", ConsolidationUndoView.as_view()),
    path("digests", DigestsView.as_view()),
    path("cases", CasesView.as_view()),
    path("cases/groups", CaseGroupsView.as_view()),
    path("cases/clear", ClearView.as_view()),
    path("cases/<str:case_id>", CaseView.as_view()),
    path("cases/<str:case_id>/resolve", CaseResolveView.as_view()),
    path("cases/<str:case_id>/undo", CaseUndoView.as_view()),
    path("rollbacks", RollbackView.as_view()),
    path("timeline", ProjectTimelineView.as_view()),
    path("timeline/difference", DifferenceView.as_view()),
    path("containments", ContainmentsView.as_view()),
    path("containments/<uuid:containment_id>", ContainmentView.as_view()),
    path("containments/<uuid:containment_id>/undo", ContainmentUndoView.as_view()),
    path("conflicts", ConflictsView.as_view()),
    path("conflicts/<uuid:conflict_id>", ConflictView.as_view()),
    path("conflicts/<uuid:conflict_id>/resolve", ResolveView.as_view()),
    path("conflicts/<uuid:conflict_id>/undo", UndoView.as_view()),
    path("recall-checks", RecallChecksView.as_view()),
    path("recall-checks/file", RecallFileView.as_view()),
    path("recall-checks/<uuid:check_id>", RecallCheckView.as_view()),
    path("recall-runs", RecallRunsView.as_view()),
    path("rulings", RulingsView.as_view()),
    path("notices", NoticesView.as_view()),
    path("webhooks", WebhooksView.as_view()),
    path("webhooks/<uuid:webhook_id>", WebhookView.as_view()),
    path("forget", ForgetView.as_view()),
    path("erasures/lift", LiftView.as_view()),
    path("ingest", IngestView.as_view()),
    path("search", SearchView.as_view()),
    path("search/batch", SearchBatchView.as_view()),
    path("context", ContextView.as_view()),
    path("claims", ClaimsView.as_view()),
    path("claims/timeline", TimelineView.as_view()),
    path("events", EventsView.as_view()),
    path("episodes", EpisodesView.as_view()),
    path("episodes/<uuid:episode_id>", EpisodeView.as_view()),
    path("clusters", ClustersView.as_view()),
    path("clusters/<uuid:cluster_id>", ClusterView.as_view()),
    path("graph", GraphView.as_view()),
    path("graph/entities", EntitiesView.as_view()),
    path("stats", StatsView.as_view()),
    path("health-report", HealthReportView.as_view()),
    path("namespaces", NamespacesView.as_view()),
    path("namespaces/<str:name>", NamespaceView.as_view()),
    path("namespaces/<str:name>/fork", ForkView.as_view()),
    path("namespaces/<str:name>/merge", MergeView.as_view()),
    path("namespaces/<str:name>/comparison", ComparisonView.as_view()),
    path("projects/<str:name>", ProjectView.as_view()),
    path("packs", PacksView.as_view()),
    path("packs/<uuid:operation_id>/download", PackDownloadView.as_view()),
    path("predicates", PredicatesView.as_view()),
    path("predicates/<uuid:predicate_id>", PredicateView.as_view()),
    path("models", ModelsView.as_view()),
    path("models/<uuid:model_id>", ModelView.as_view()),
    *(path(f"models/<uuid:model_id>/{work}", ModelWorkView.as_view()) for work in WORK),
    path("backups", BackupsView.as_view()),
    path("backups/<uuid:backup_id>", BackupView.as_view()),
    path("backups/<uuid:backup_id>/download", DownloadView.as_view()),
    path("backups/<uuid:backup_id>/verify", VerifyView.as_view()),
    path("backups/<uuid:backup_id>/drill", DrillView.as_view()),
    path("backups/<uuid:backup_id>/protect", ProtectView.as_view()),
    path("restores", RestoresView.as_view()),
    path("proposals", ProposalsView.as_view()),
    path("proposals/stats", ProposalStatsView.as_view()),
    path("proposals/<uuid:proposal_id>/accept", AcceptView.as_view()),
    path("proposals/<uuid:proposal_id>/dismiss", DismissView.as_view()),
    path("proposals/<uuid:proposal_id>/undo", ProposalUndoView.as_view()),
    path("tasks", TasksView.as_view()),
    path("tasks/recent", RecentTasksView.as_view()),
    path("operations", OperationsView.as_view()),
    path("operations/<uuid:operation_id>", OperationView.as_view()),
    path("operations/<uuid:operation_id>/cancel", CancelView.as_view()),
    path("operations/<uuid:operation_id>/undo", OperationUndoView.as_view()),
    path("users", UsersView.as_view()),
    path("users/<str:address>", UserView.as_view()),
    path("users/<str:address>/export", UserExportView.as_view()),
]
