"""What every unit loads, loaded once: units and processes that are forked afterwards share it and import nothing."""

import gc
import logging
from contextlib import suppress
from functools import cache
from importlib import import_module

import django

COMMON = (
    "memories.management.commands.indexes",
    "memories.proxy",
    "memories.tasks",
    "novamem.asgi_bridge",
    "novamem.beat",
    "novamem.lifespan",
    "novamem.schedules",
    "novamem.units",
    # What the libraries import late.
    "anyio._backends._asyncio",
    "celery.app.amqp",
    "celery.app.control",
    "celery.app.events",
    "celery.app.log",
    "celery.app.routes",
    "celery.apps.worker",
    "celery.bin.celery",
    "celery.concurrency.thread",
    "celery.events.receiver",
    "celery.utils.static",
    "celery.worker.components",
    "celery.worker.consumer",
    "celery.worker.loops",
    "celery.worker.strategy",
    "django_celery_beat.schedulers",
    "django.contrib.messages.storage.fallback",
    "python_ipware",
    "rich.logging",
    "uvicorn.lifespan.on",
    "uvicorn.loops.uvloop",
)


@cache
def load() -> None:
    """Import the applications and load the embedding model; leaves no thread of ours and no connection behind.

    What fails here fails again in the unit, whose log says why.
    """
    logging.disable(logging.INFO)  # the terminal is for what people have to know
    with suppress(Exception):
        _load()
    logging.disable(logging.NOTSET)
    gc.collect()
    gc.freeze()  # a collection would write to what is shared


def _load() -> None:
    django.setup(set_prefix=False)
    from django.core.checks import run_checks
    from django.db import connection
    from django.db.migrations.loader import MigrationLoader
    from django.template.loader import get_template
    from django.urls import get_resolver

    from memories import mcp, providers
    from novamem.celery import app

    for name in COMMON:
        import_module(name)
    app.loader.import_default_modules()
    app.finalize()
    len(get_resolver().reverse_dict)  # all addresses
    get_template("console/login.html")  # the first page, and what each extends
    mcp.Door()  # which remembers the tools' schemas
    run_checks()  # imports what settings name: middleware, backends, templates' tags
    MigrationLoader(None)  # `/readyz` looks for what was not applied
    try:
        providers.load_model()
    finally:
        connection.close()
        connection.close_pool()  # type: ignore[attr-defined]  # of the backend for Postgres
