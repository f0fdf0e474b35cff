"""Every setting that comes from the environment: its name, type, default and what to do when it is wrong.

`.env.example` lists the same names; a test compares the two.
"""

import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Any

import environ
from django.core.exceptions import ImproperlyConfigured

ROOT = Path(__file__).resolve().parent.parent

SCHEME: dict[str, tuple[type, Any]] = {
    "DATABASE_URL": (str, ""),
    "CELERY_BROKER_URL": (str, "pgmq://"),
    "NOVAMEM_DATA_DIR": (str, str(ROOT / "var")),
    "SECRET_KEY": (str, ""),
    "DEBUG": (bool, False),
    "HOST": (str, "127.0.0.1"),
    "PORT": (int, 8000),
    "ALLOWED_HOSTS": (list, ["localhost", "127.0.0.1", "[::1]"]),
    "CSRF_TRUSTED_ORIGINS": (list, []),
    "DATABASE_POOL_SIZE": (int, 16),
    "WEB_PROCESSES": (int, min(4, os.cpu_count() or 1)),
    "EMBEDDER": (str, "minilm"),
    "EMBEDDINGS_TIMEOUT": (float, 30.0),
    "EMBEDDINGS_CACHE_SIZE": (int, 1024),
    "EMBEDDINGS_URL": (str, ""),
    "EMBEDDINGS_API_KEY": (str, ""),
    "OPERATION_LEASE_SECONDS": (int, 60),
    "RECEIPT_DAYS": (int, 90),
    "LOG_FORMAT": (str, "json"),
    "LOG_LEVEL": (str, "INFO"),
}

CHOICES = {"EMBEDDER": ("minilm", "fake"), "LOG_FORMAT": ("json", "console")}

URLS = ("EMBEDDINGS_URL",)
POSITIVE, MOST = ("EMBEDDINGS_TIMEOUT", "EMBEDDINGS_CACHE_SIZE"), 1_000_000


def load() -> dict[str, Any]:
    """Every setting, typed; for what runs before there is a database. Raises ImproperlyConfigured with a hint.

    The file `.env` beside this project gives what the environment does not.
    """
    env = environ.Env(**SCHEME)
    environ.Env.read_env(ROOT / ".env")
    values = {}
    for name, (kind, _) in SCHEME.items():
        try:
            values[name] = env(name)
        except (ValueError, environ.ImproperlyConfigured) as error:
            raise ImproperlyConfigured(f"{name} must be of type {kind.__name__}: {error}") from error
        if name in CHOICES and values[name] not in CHOICES[name]:
            raise ImproperlyConfigured(f"{name}={values[name]!r} is not known. Use one of: {', '.join(CHOICES[name])}.")
        if name in URLS and values[name] and not values[name].startswith(("http://", "https://")):
            raise ImproperlyConfigured(f"{name} must be a URL such as http://127.0.0.1:11434/v1.")
        if name in POSITIVE and not 0 < values[name] <= MOST:
            raise ImproperlyConfigured(f"{name} must be above 0 and at most {MOST}.")
    values["NOVAMEM_DATA_DIR"] = str((ROOT / Path(values["NOVAMEM_DATA_DIR"]).expanduser()).resolve())
    return values


def read() -> dict[str, Any]:
    """The settings in force, with a database and a secret. Raises ImproperlyConfigured with a hint."""
    values = load()
    if not values["DATABASE_URL"]:
        raise ImproperlyConfigured(
            "DATABASE_URL is not set. Run through script/server, script/manage or script/test, which bring an embedded "
            "Postgres, or set DATABASE_URL=postgres://user:password@host:5432/name."
        )
    values["SECRET_KEY"] = values["SECRET_KEY"] or kept_secret(Path(values["NOVAMEM_DATA_DIR"]) / "secret_key")
    return values


def kept_secret(path: Path) -> str:
    """The secret in `path`; made on first use, readable by its owner only."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
        draft.touch(mode=0o600)
        draft.write_text(secrets.token_urlsafe(48))
        with suppress(FileExistsError):  # several processes start at once: the first one's secret stays
            path.hardlink_to(draft)
        draft.unlink()
    return path.read_text()
