"""The web entry point: `uvicorn novamem.asgi:application`."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "novamem.settings")

application = get_asgi_application()

from memories import providers, tallies  # noqa: E402  # the applications have to be ready

tallies.keep_writing()
providers.warm()
