"""The paths of the console."""

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import path
from django.views.generic import RedirectView

from memories.console.explorer import explorer

app_name = "console"

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="console:memories")),
    path(
        "login/", LoginView.as_view(template_name="console/login.html", redirect_authenticated_user=True), name="login"
    ),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("memories/", explorer, name="memories"),
    path("memories/<uuid:fragment_id>/", explorer, name="memory"),
]
