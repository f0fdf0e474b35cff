"""The configuration file: every setting has a place in a TOML file, for who prefers one file to an environment.

Sections and keys follow older configuration files where these name a setting; either spelling of a key is
read, `top_k` or `topK`. The environment wins over the file, the file over the defaults.
"""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic.alias_generators import to_camel

NAME, FILE = "NOVAMEM_CONFIG", "config.toml"
OPTIONS = {"--config": NAME, "--data-dir": "NOVAMEM_DATA_DIR"}
PLACES = {
    "server": {
        "host": "HOST",
        "port": "PORT",
        "allowed_hosts": "ALLOWED_HOSTS",
        "csrf_trusted_origins": "CSRF_TRUSTED_ORIGINS",
        "behind_tls": "BEHIND_TLS",
        "trusted_proxies": "TRUSTED_PROXIES",
        "require_second_factor": "REQUIRE_SECOND_FACTOR",
        "login_days": "LOGIN_DAYS",
        "metrics_token": "METRICS_TOKEN",
        "event_streams_per_key": "EVENT_STREAMS_PER_KEY",
        "uploads_per_key": "UPLOADS_PER_KEY",
        "web_processes": "WEB_PROCESSES",
        "secret_key": "SECRET_KEY",
        "debug": "DEBUG",
    },
    "storage": {
        "data_dir": "NOVAMEM_DATA_DIR",
        "database_url": "DATABASE_URL",
        "database_owner_url": "DATABASE_OWNER_URL",
        "database_pool_size": "DATABASE_POOL_SIZE",
        "broker_url": "CELERY_BROKER_URL",
    },
    "embedding": {
        "provider": "EMBEDDER",
        "timeout": "EMBEDDINGS_TIMEOUT",
        "cache_size": "EMBEDDINGS_CACHE_SIZE",
        "url": "EMBEDDINGS_URL",
        "api_key": "EMBEDDINGS_API_KEY",
    },
    "retrieval": {
        "top_k": "RETRIEVAL_TOP_K",
        "similarity_threshold": "RETRIEVAL_SIMILARITY_THRESHOLD",
        "token_budget": "RETRIEVAL_TOKEN_BUDGET",
        "includes_cross_agent": "RETRIEVAL_INCLUDES_CROSS_AGENT",
        "cross_agent_threshold": "RETRIEVAL_CROSS_AGENT_THRESHOLD",
        "query_words": "QUERY_WORDS",
    },
    "sidecar": {
        "url": "LLM_SIDECAR_URL",
        "ollama_host": "OLLAMA_HOST",
        "host": "COGNITION_LLM_HOST",
        "port": "COGNITION_LLM_PORT",
        "openai": "LLM_SIDECAR_OPENAI",
        "model": "OLLAMA_MODEL",
        "api_key": "OLLAMA_API_KEY",
        "timeout_ms": "COGNITION_LLM_TIMEOUT_MS",
        "call_days": "LLM_CALL_DAYS",
    },
    "governance": {"reduction_client": "REDUCTION_CLIENT", "advisory_mode": "DYNAMIC_CREATION_ADVISORY_MODE"},
    "proxy": {
        "upstream_url": "PROXY_UPSTREAM_URL",
        "upstream_key": "PROXY_UPSTREAM_KEY",
        "inject": "PROXY_INJECT",
        "max_tokens": "PROXY_MAX_TOKENS",
        "top_k": "PROXY_TOP_K",
    },
    "decay": {"sm2": "DECAY_SM2"},
    "audit": {"witness": "AUDIT_WITNESS"},
    "backups": {
        "dir": "BACKUP_DIR",
        "keep": "BACKUP_KEEP",
        "recipients": "BACKUP_RECIPIENTS",
        "identity_file": "BACKUP_IDENTITY_FILE",
        "restore_max_gb": "RESTORE_MAX_GB",
        "trusted_signers": "TRUSTED_SIGNERS",
    },
    "upkeep": {
        "archive_days": "ARCHIVE_DAYS",
        "put_away_days": "PUT_AWAY_DAYS",
        "undo_days": "CONSOLIDATION_UNDO_DAYS",
        "capacity": "CAPACITY_FRAGMENTS",
        "owner_share": "OWNER_SHARE",
        "capacity_hot": "CAPACITY_HOT",
        "capacity_warm": "CAPACITY_WARM",
        "capacity_cold": "CAPACITY_COLD",
        "tier_hot_gb": "TIER_HOT_GB",
        "tier_warm_gb": "TIER_WARM_GB",
    },
    "operations": {"lease_seconds": "OPERATION_LEASE_SECONDS", "receipt_days": "RECEIPT_DAYS"},
    "logging": {"format": "LOG_FORMAT", "level": "LOG_LEVEL"},
}
PLACE_OF = {name: f"{section}.{key}" for section, keys in PLACES.items() for key, name in keys.items()}


class Section(BaseModel):
    """Knows its keys in both spellings, and no others; a value has its type or is refused."""

    model_config = ConfigDict(extra="forbid", strict=True, alias_generator=to_camel, populate_by_name=True)


def read(path: Path, scheme: Mapping[str, tuple[type, Any]]) -> dict[str, Any]:
    """The settings that a file gives, by their names. Raises ImproperlyConfigured with the file, place and reason."""
    try:
        told = tomllib.loads(path.read_text())
        found = _model(scheme).model_validate(told)
    except OSError as error:
        raise ImproperlyConfigured(f"{path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ImproperlyConfigured(f"{path} is no TOML: {error}") from error
    except ValidationError as error:
        wrong = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()]
        raise ImproperlyConfigured(f"{path}: {'; '.join(wrong)}. See config.example.toml.") from error
    sections = {name: getattr(found, name) for name in found.model_fields_set}
    return {
        PLACES[section][key]: getattr(values, key)
        for section, values in sections.items()
        for key in values.model_fields_set
    }


def _model(scheme: Mapping[str, tuple[type, Any]]) -> type[BaseModel]:
    """The shape of the file, made of the settings' types."""
    sections: dict[str, Any] = {}
    for section, keys in PLACES.items():
        kinds = {key: list[str] if scheme[name][0] is list else scheme[name][0] for key, name in keys.items()}
        fields: dict[str, Any] = {key: (kind | None, None) for key, kind in kinds.items()}
        sections[section] = (create_model(section.title(), __base__=Section, **fields) | None, None)
    return create_model("Config", __base__=Section, **sections)


def place(root: Path, environment: Mapping[str, str]) -> Path | None:
    """The file that is to be read: the named one, else config.toml beside the project, if it is there."""
    if named := environment.get(NAME):
        return Path(named).expanduser()
    return root / FILE if (root / FILE).exists() else None


def take_options(words: list[str]) -> list[str]:
    """The words of `manage.py …` without `--config PATH` and `--data-dir PATH`, which become the environment's.

    Of any other command the words are its own.
    """
    rest: list[str] = []
    given = iter(words)
    if "manage.py" not in (Path(word).name for word in words[:2]):
        return words
    for word in given:
        option, _, value = word.partition("=")
        if option in OPTIONS:
            os.environ[OPTIONS[option]] = value or next(given, "")
        else:
            rest.append(word)
    return rest
