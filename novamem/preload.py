"""What every unit loads, loaded once: units and processes that are forked afterwards share it and import nothing."""

import gc
from contextlib import suppress
from functools import cache
from importlib import import_module

import django

COMMON = (
    "memories.mcp",
    "memories.proxy",
    "memories.tasks",
    "memories.management.commands.indexes",
    "novamem.asgi_bridge",
    "novamem.beat",
    "novamem.lifespan",
    "novamem.units",
    # What the libraries import late.
    "anyio._backends._asyncio",
    "celery.bin.celery",
    "celery.concurrency.thread",
    "celery.events.receiver",
    "celery.worker.consumer",
    "celery.worker.loops",
    "django_celery_beat.schedulers",
    "uvicorn.lifespan.on",
    "uvicorn.loops.uvloop",
)


@cache
def load() -> None:
    """Import the applications and load the embedding model; leaves no thread of ours and no connection behind.

    What fails here fails again in the unit, whose log says why.
    """
    with suppress(Exception):
        _load()
    gc.collect()
    gc.freeze()  # a collection would write to what is shared


def _load() -> None:
    django.setup(set_prefix=False)
    from django.core.checks import run_checks
    from django.db import connection
    from django.db.migrations.loader import MigrationLoader
    from django.urls import get_resolver

    from memories import providers
    from novamem.celery import app

    for name in COMMON:
        import_module(name)
    app.loader.import_default_modules()
    app.finalize()
    len(get_resolver().reverse_dict)  # all addresses
    run_checks()  # imports what settings name: middleware, backends, templates' tags
    MigrationLoader(None)  # `/readyz` looks for what was not applied
    try:
        providers.load_model()
    finally:
        connection.close()
        connection.close_pool()  # type: ignore[attr-defined]  # of the backend for Postgres
