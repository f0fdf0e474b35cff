"""The paths under /compat/."""

from django.urls import path

from memories.compat.mem0 import views as mem0

urlpatterns = [
    path("mem0/v1/ping/", mem0.PingView.as_view()),
    path("mem0/v3/memories/add/", mem0.AddView.as_view()),
    path("mem0/v3/memories/search/", mem0.Mem0SearchView.as_view()),
    path("mem0/v3/memories/", mem0.ListView.as_view()),
    path("mem0/v1/memories/", mem0.MemoriesView.as_view()),
    path("mem0/v1/batch/", mem0.Mem0BatchView.as_view()),
    path("mem0/v1/feedback/", mem0.FeedbackView.as_view()),
    path("mem0/v1/exports/", mem0.ExportsView.as_view()),
    path("mem0/v1/exports/get/", mem0.ExportView.as_view()),
    path("mem0/v1/entities/", mem0.Mem0EntitiesView.as_view()),
    path("mem0/v2/entities/<str:kind>/<path:name>/", mem0.EntityView.as_view()),
    # What clients before 2.0 ask.
    path("mem0/v2/memories/", mem0.ListView.as_view()),
    path("mem0/v2/memories/search/", mem0.Mem0SearchView.as_view()),
    path("mem0/v1/memories/<uuid:memory_id>/", mem0.MemoryView.as_view()),
    path("mem0/v1/memories/<uuid:memory_id>/history/", mem0.Mem0HistoryView.as_view()),
]
