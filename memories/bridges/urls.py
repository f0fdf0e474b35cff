"""The paths under /api/v1/bridges/."""

from django.urls import path

from memories.bridges.atlas import BuildsView, EnrichView, RetrospectivesView, TagsView
from memories.bridges.taste_vault import PatternsView, ReinforcementsView, ResolutionsView, SupplementView
from memories.bridges.universes import BranchesView, MergesView

urlpatterns = [
    path("atlas/builds", BuildsView.as_view()),
    path("atlas/retrospectives", RetrospectivesView.as_view()),
    path("atlas/enrich", EnrichView.as_view()),
    path("atlas/tags", TagsView.as_view()),
    path("taste-vault/patterns", PatternsView.as_view()),
    path("taste-vault/reinforcements", ReinforcementsView.as_view()),
    path("taste-vault/resolutions", ResolutionsView.as_view()),
    path("taste-vault/supplement", SupplementView.as_view()),
    path("universes/branches", BranchesView.as_view()),
    path("universes/merges", MergesView.as_view()),
]
