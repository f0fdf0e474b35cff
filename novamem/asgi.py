"""The web entry point: `uvicorn novamem.asgi:application`."""

import multiprocessing
import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "novamem.settings")

application = get_asgi_application()

from memories import providers, tallies  # noqa: E402  # the applications have to be ready
from novamem.processes import tie_to  # noqa: E402

if parent := multiprocessing.parent_process():  # one of several that uvicorn keeps
    assert parent.pid is not None
    tie_to(parent.pid)
tallies.keep_writing()
providers.warm()
