"""The paths under /compat/."""

from django.urls import path

from memories.compat import mem0

urlpatterns = [
    path("mem0/v1/ping/", mem0.PingView.as_view()),
    path("mem0/v3/memories/add/", mem0.AddView.as_view()),
    path("mem0/v3/memories/search/", mem0.Mem0SearchView.as_view()),
    path("mem0/v3/memories/", mem0.ListView.as_view()),
    path("mem0/v1/memories/", mem0.MemoriesView.as_view()),
    path("mem0/v1/entities/", mem0.Mem0EntitiesView.as_view()),
    path("mem0/v2/entities/<str:kind>/<path:name>/", mem0.EntityView.as_view()),
    path("mem0/v1/memories/<uuid:memory_id>/", mem0.MemoryView.as_view()),
    path("mem0/v1/memories/<uuid:memory_id>/history/", mem0.Mem0HistoryView.as_view()),
]
