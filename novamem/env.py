"""Every setting that comes from the environment: its name, type, default and what to do when it is wrong.

`.env.example` lists the same names; a test compares the two.
"""

import os
import secrets
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import environ
from django.core.exceptions import ImproperlyConfigured

from novamem import config
from novamem.database import Logins

ROOT = Path(__file__).resolve().parent.parent

SCHEME: dict[str, tuple[type, Any]] = {
    "DATABASE_URL": (str, ""),
    "DATABASE_OWNER_URL": (str, ""),
    "CELERY_BROKER_URL": (str, "pgmq://"),
    "NOVAMEM_CONFIG": (str, ""),
    "NOVAMEM_DATA_DIR": (str, str(ROOT / "var")),
    "SECRET_KEY": (str, ""),
    "DEBUG": (bool, False),
    "HOST": (str, "127.0.0.1"),
    "PORT": (int, 8000),
    "ALLOWED_HOSTS": (list, ["localhost", "127.0.0.1", "[::1]"]),
    "CSRF_TRUSTED_ORIGINS": (list, []),
    "BEHIND_TLS": (bool, False),
    "TRUSTED_PROXIES": (list, ["127.0.0.1", "::1"]),
    "REQUIRE_SECOND_FACTOR": (bool, False),
    "METRICS_TOKEN": (str, ""),
    "QUERY_WORDS": (int, 200),
    "EVENT_STREAMS_PER_KEY": (int, 10),
    "UPLOADS_PER_KEY": (int, 2),
    "DATABASE_POOL_SIZE": (int, 16),
    "WEB_PROCESSES": (int, min(4, os.cpu_count() or 1)),
    "EMBEDDER": (str, "minilm"),
    "EMBEDDINGS_TIMEOUT": (float, 30.0),
    "EMBEDDINGS_CACHE_SIZE": (int, 1024),
    "EMBEDDINGS_URL": (str, ""),
    "EMBEDDINGS_API_KEY": (str, ""),
    "LLM_SIDECAR_URL": (str, ""),
    "OLLAMA_HOST": (str, ""),
    "COGNITION_LLM_HOST": (str, ""),
    "COGNITION_LLM_PORT": (int, 0),
    "LLM_SIDECAR_OPENAI": (bool, False),
    "OLLAMA_MODEL": (str, "llama3.1"),
    "OLLAMA_API_KEY": (str, ""),
    "COGNITION_LLM_TIMEOUT_MS": (int, 45_000),
    "REDUCTION_CLIENT": (str, "memories.governance.LocalChecks"),
    "DYNAMIC_CREATION_ADVISORY_MODE": (bool, False),
    "PROXY_UPSTREAM_URL": (str, ""),
    "PROXY_UPSTREAM_KEY": (str, ""),
    "PROXY_INJECT": (str, "last_user"),
    "PROXY_MAX_TOKENS": (int, 1200),
    "PROXY_TOP_K": (int, 10),
    "RETRIEVAL_TOP_K": (int, 10),
    "RETRIEVAL_SIMILARITY_THRESHOLD": (float, 0.0),
    "RETRIEVAL_TOKEN_BUDGET": (int, 1200),
    "RETRIEVAL_INCLUDES_CROSS_AGENT": (bool, False),
    "RETRIEVAL_CROSS_AGENT_THRESHOLD": (float, 0.8),
    "OPERATION_LEASE_SECONDS": (int, 60),
    "RECEIPT_DAYS": (int, 90),
    "LLM_CALL_DAYS": (int, 90),
    "LOGIN_DAYS": (int, 400),
    "DECAY_SM2": (bool, False),
    "ARCHIVE_DAYS": (int, 365),
    "PUT_AWAY_DAYS": (int, 365),
    "CAPACITY_FRAGMENTS": (int, 2_000_000),
    "OWNER_SHARE": (float, 0.5),
    "CAPACITY_HOT": (int, 0),
    "CAPACITY_WARM": (int, 0),
    "CAPACITY_COLD": (int, 0),
    "TIER_HOT_GB": (float, 10.0),
    "TIER_WARM_GB": (float, 50.0),
    "CONSOLIDATION_UNDO_DAYS": (int, 30),
    "AUDIT_WITNESS": (str, ""),
    "BACKUP_DIR": (str, ""),
    "BACKUP_KEEP": (int, 14),
    "BACKUP_RECIPIENTS": (list, []),
    "BACKUP_IDENTITY_FILE": (str, ""),
    "RESTORE_MAX_GB": (float, 64.0),
    "TRUSTED_SIGNERS": (list, []),
    "LOG_FORMAT": (str, "json"),
    "LOG_LEVEL": (str, "INFO"),
}

CHOICES = {"EMBEDDER": ("minilm", "fake"), "LOG_FORMAT": ("json", "console"), "PROXY_INJECT": ("last_user", "system")}

URLS = ("EMBEDDINGS_URL", "LLM_SIDECAR_URL", "PROXY_UPSTREAM_URL")
# Names that are not read any more, and what to set instead.
GONE = {"OLLAMA_BASE_URL": "LLM_SIDECAR_URL (or, deprecated, OLLAMA_HOST)"}
POSITIVE = (
    *("EMBEDDINGS_TIMEOUT", "EMBEDDINGS_CACHE_SIZE", "TIER_HOT_GB", "TIER_WARM_GB"),
    *("PROXY_MAX_TOKENS", "PROXY_TOP_K", "RESTORE_MAX_GB"),
)
MOST = 1_000_000
# Within limits: days that fit the calendar, numbers of fragments; 0 fragments of a tier are no limit.
WITHIN = {
    **dict.fromkeys(("ARCHIVE_DAYS", "PUT_AWAY_DAYS"), (1, 36_500)),
    "LOGIN_DAYS": (30, 36_500),
    "CAPACITY_FRAGMENTS": (1, 10**12),
    "OWNER_SHARE": (0.01, 1),
    "BACKUP_KEEP": (1, 100_000),
    "QUERY_WORDS": (1, 5_000),
    **dict.fromkeys(("EVENT_STREAMS_PER_KEY", "UPLOADS_PER_KEY"), (1, 10_000)),
    **dict.fromkeys(("CAPACITY_HOT", "CAPACITY_WARM", "CAPACITY_COLD"), (0, 10**12)),
    "COGNITION_LLM_PORT": (0, 65_535),
    "COGNITION_LLM_TIMEOUT_MS": (1, 600_000),
    "RETRIEVAL_TOP_K": (0, 200),
    "RETRIEVAL_SIMILARITY_THRESHOLD": (-1, 1),
    "RETRIEVAL_TOKEN_BUDGET": (0, 1_000_000),
    "RETRIEVAL_CROSS_AGENT_THRESHOLD": (0, 1),
}


@dataclass(frozen=True, slots=True)
class Setting:
    """A value in force and where it comes from: `environment`, `.env`, `TOML` or `default`."""

    value: Any
    origin: str


def load() -> dict[str, Any]:
    """Every setting, typed; for what runs before there is a database. Raises ImproperlyConfigured with a hint.

    The file `.env` beside this project gives what the environment does not, and a TOML file what both do not.
    """
    return {name: setting.value for name, setting in found().items()}


def found() -> dict[str, Setting]:
    """As `load`, with the origin of each value."""
    env = environ.Env(**SCHEME)
    given = set(os.environ) - _from_file
    environ.Env.read_env(ROOT / ".env")
    _from_file.update(set(os.environ) & set(SCHEME) - given)
    _refuse_gone()
    path = config.place(ROOT, os.environ)
    told = config.read(path, SCHEME) if path else {}
    origins = {name: ".env" if name in _from_file else "environment" for name in SCHEME if name in os.environ}
    origins |= {name: "TOML" for name in told if name not in origins}
    values = _values(env, {name: told[name] for name, origin in origins.items() if origin == "TOML"})
    return {name: Setting(value, origins.get(name, "default")) for name, value in values.items()}


def sidecar_url(values: dict[str, Any]) -> tuple[str, str]:
    """Where the language model is, and the setting that says so; both empty without one: nothing is guessed.

    LLM_SIDECAR_URL comes before OLLAMA_HOST (deprecated), that before COGNITION_LLM_HOST with COGNITION_LLM_PORT.
    """
    if values["LLM_SIDECAR_URL"]:
        return values["LLM_SIDECAR_URL"], "LLM_SIDECAR_URL"
    if host := values["OLLAMA_HOST"]:
        return host if host.startswith(("http://", "https://")) else f"http://{host}", "OLLAMA_HOST"
    if values["COGNITION_LLM_HOST"] and values["COGNITION_LLM_PORT"]:
        return "http://{COGNITION_LLM_HOST}:{COGNITION_LLM_PORT}".format(**values), "COGNITION_LLM_HOST"
    return "", ""


def own_database(values: dict[str, Any]) -> Logins | None:
    """The logins to the operator's own Postgres; None for the embedded one."""
    if not values["DATABASE_URL"] and not values["DATABASE_OWNER_URL"]:
        return None
    return Logins(values["DATABASE_URL"], values["DATABASE_OWNER_URL"])


def _refuse_gone() -> None:
    for name, instead in GONE.items():
        if name in os.environ:
            raise ImproperlyConfigured(f"{name} is not read any more. Rename it: {instead}.")


_from_file: set[str] = set()  # what `.env` put into the environment of this process


def _values(env: environ.Env, told: dict[str, Any]) -> dict[str, Any]:
    values = {}
    for name, (kind, _) in SCHEME.items():
        try:
            values[name] = told[name] if name in told else env(name)
        except (ValueError, environ.ImproperlyConfigured) as error:
            raise ImproperlyConfigured(f"{name} must be of type {kind.__name__}: {error}") from error
        if name in CHOICES and values[name] not in CHOICES[name]:
            raise ImproperlyConfigured(f"{name}={values[name]!r} is not known. Use one of: {', '.join(CHOICES[name])}.")
        if name in URLS and values[name] and not values[name].startswith(("http://", "https://")):
            raise ImproperlyConfigured(f"{name} must be a URL such as http://127.0.0.1:11434/v1.")
        if name in POSITIVE and not 0 < values[name] <= MOST:
            raise ImproperlyConfigured(f"{name} must be above 0 and at most {MOST}.")
        if name in WITHIN and not WITHIN[name][0] <= values[name] <= WITHIN[name][1]:
            raise ImproperlyConfigured("{} must be from {} to {}.".format(name, *WITHIN[name]))
    if bool(values["COGNITION_LLM_HOST"]) != bool(values["COGNITION_LLM_PORT"]):
        raise ImproperlyConfigured("COGNITION_LLM_HOST and COGNITION_LLM_PORT go together: set both or neither.")
    values["NOVAMEM_DATA_DIR"] = str((ROOT / Path(values["NOVAMEM_DATA_DIR"]).expanduser()).resolve())
    witness = values["AUDIT_WITNESS"]
    if witness and not witness.startswith(("/", "s3://", "http://", "https://")):
        raise ImproperlyConfigured("AUDIT_WITNESS must be a folder as an absolute path, s3://bucket/prefix, or a URL.")
    own = values["BACKUP_DIR"] or str(Path(values["NOVAMEM_DATA_DIR"]) / "backups")
    values["BACKUP_DIR"] = str((ROOT / Path(own).expanduser()).resolve())
    return values


def read() -> dict[str, Any]:
    """The settings in force, with a database and a secret. Raises ImproperlyConfigured with a hint."""
    values = load()
    if not values["DATABASE_URL"]:
        raise ImproperlyConfigured(
            "DATABASE_URL is not set. Run through script/server, script/manage or script/test, which bring an embedded "
            "Postgres, or set DATABASE_URL=postgres://nova_app:password@host:5432/name."
        )
    values["SECRET_KEY"] = values["SECRET_KEY"] or kept_secret(Path(values["NOVAMEM_DATA_DIR"]) / "secret_key")
    return values


def private_folder(path: Path) -> Path:
    """Return a folder that only its owner may enter; made, or closed, if need be and if it is ours to close."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(PermissionError):
        path.chmod(0o700)
    return path


def kept_secret(path: Path) -> str:
    """The secret in `path`; made on first use, readable by its owner only."""
    if not path.exists():
        private_folder(path.parent)
        draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
        draft.touch(mode=0o600)
        draft.write_text(secrets.token_urlsafe(48))
        with suppress(FileExistsError):  # several processes start at once: the first one's secret stays
            path.hardlink_to(draft)
        draft.unlink()
    return path.read_text()
