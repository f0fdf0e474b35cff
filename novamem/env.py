"""Every setting: its name in the environment, its place in a TOML file, type, default and what to do when it is wrong.

`.env.example` and `config.example.toml` list the same names; tests compare them.
"""

import errno
import os
import re
import secrets
import tomllib
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pyrage
from django.core.exceptions import ImproperlyConfigured
from dotenv import load_dotenv
from kombu.transport import TRANSPORT_ALIASES
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict
from pydantic import AfterValidator, BeforeValidator, ValidationError, ValidationInfo, field_validator, model_validator
from pydantic_settings import BaseSettings, InitSettingsSource, NoDecode, SettingsConfigDict
from pydantic_settings import PydanticBaseSettingsSource as Source

from novamem import config
from novamem.database import Logins

ROOT = Path(__file__).resolve().parent.parent
VERSION: str = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
# Names that are not read any more, and what to set instead.
MODEL = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")  # as hubs name them
# As browsers write them: in small letters, without the port that goes without saying.
ORIGIN = re.compile(r"(?!https:.*:443$)(?!http:.*:80$)[a-z][a-z0-9+.-]*://[a-z0-9._:\[\]-]+")
UPSTREAM, NAMED = re.compile(r"[A-Za-z0-9_-]+=https?://[^/\s].*"), re.compile(r"[A-Za-z0-9_-]+=\S+")
PREFIX = re.compile(r"(/(?!\.\.?(/|$))[A-Za-z0-9._~-]+)*")  # the path of a URL, without what would have to be escaped
SIGNER = re.compile(r"[0-9a-f]{64}")
GONE = {"OLLAMA_BASE_URL": "LLM_SIDECAR_URL (or, deprecated, OLLAMA_HOST)"}


def _only(right: Callable[[Any], bool], hint: str) -> AfterValidator:
    """Refuse what is not right; the hint follows the setting's name."""

    def check(value: Any) -> Any:
        if not right(value):
            raise ValueError(hint.format(value))
        return value

    return AfterValidator(check)


def _one_of(*choices: str) -> AfterValidator:
    return _only(choices.__contains__, "={!r} is not known. Use one of: " + ", ".join(choices) + ".")


def _within(least: float, most: float) -> AfterValidator:
    return _only(lambda value: least <= value <= most, f" must be from {least} to {most}.")


def _beginning(hint: str, *starts: str) -> AfterValidator:
    return _only(lambda value: not value or value.startswith(starts), f" must be {hint}.")


def _leads_to_postgres(given: str) -> bool:
    """Return whether it is empty, or a URL that libpq reads."""
    with suppress(ProgrammingError):
        return not given or given.startswith(("postgres://", "postgresql://")) and bool(conninfo_to_dict(given))
    return False


def _names_reranker(given: str) -> bool:
    """Return whether it is empty, a URL with a host, a folder that is there, or what may be a model's name."""
    if given.startswith(("http://", "https://")):
        return bool(urlsplit(given).hostname)
    return not given or MODEL.fullmatch(given) is not None or _is_folder(given)


def _names_recogniser(given: str) -> bool:
    """Return whether it is empty, a folder that is there, what may be a model's name, or a pipeline of spaCy's."""
    if given.startswith("spacy:"):
        source = given.removeprefix("spacy:")
        return find_spec("spacy") is not None and (
            _is_folder(source) or source.isidentifier() and bool(find_spec(source))
        )
    return not given or MODEL.fullmatch(given) is not None or _is_folder(given)


def _is_folder(given: str) -> bool:
    return Path(given).is_absolute() and Path(given).is_dir()


def _leads_to_broker(given: str) -> bool:
    """Return whether a URL is of a kind that Celery knows; what stands before a plus is the kind."""
    kind, there, _ = given.partition("://")
    return bool(there) and kind.partition("+")[0] in TRANSPORT_ALIASES


def _is_proxy(given: str) -> bool:
    """Return whether it is an address or a network."""
    with suppress(ValueError):
        return bool(ip_network(given) if "/" in given else ip_address(given))
    return False


def _is_recipient(given: str) -> bool:
    """Return whether it is a public key of age or SSH."""
    kind = pyrage.ssh.Recipient if given.strip().startswith("ssh-") else pyrage.x25519.Recipient
    with suppress(pyrage.RecipientError):
        return bool(kind.from_str(given.strip()))
    return False


Flag = Annotated[bool, BeforeValidator(lambda given: given or False)]
Words = Annotated[
    list[str],
    NoDecode,
    BeforeValidator(lambda given: list(filter(None, given.split(","))) if isinstance(given, str) else given),
]
POSTGRES = _only(_leads_to_postgres, " must be a URL such as postgres://user:password@host:5432/name.")
HTTP = _beginning("a URL such as http://127.0.0.1:11434/v1", "http://", "https://")
ORIGINS = _only(
    lambda given: all(origin == "*" or ORIGIN.fullmatch(origin) for origin in given),
    "={!r} are no origins. Write such as https://app.example.com, in small letters, without a path or default port, "
    "or * for all.",
)
UPSTREAMS = _only(
    lambda given: all(UPSTREAM.fullmatch(each) for each in given),
    "={!r} are no upstreams. Write each as a name and a URL, such as fast=https://api.example.com/v1.",
)
# Said without the value, which is secret.
KEYS = _only(
    lambda given: all(NAMED.fullmatch(each) for each in given), " must be names and keys, such as fast=sk-1,other=sk-2."
)
BROKER = _only(
    _leads_to_broker, " must be pgmq://, or a URL such as redis://host:6379/0 or amqp://user:password@host//."
)
PROXIES = _only(
    lambda given: given == ["*"] or all(map(_is_proxy, given)),
    "={!r} are no proxies. Write addresses or networks such as 10.0.0.0/8, or * for all.",
)
RECIPIENTS = _only(
    lambda given: all(map(_is_recipient, given)),
    "={!r} are no public keys. Write each as age1…, ssh-ed25519 … or ssh-rsa ….",
)
SIGNERS = _only(
    lambda given: all(SIGNER.fullmatch(each) for each in given),
    "={!r} are no fingerprints. Write each with its 64 digits, 0 to 9 and a to f.",
)
IDENTITY = _only(lambda given: not given or Path(given).is_file(), "={!r} is no file that can be read here.")
POSITIVE = _only(lambda value: 0 < value <= 1_000_000, " must be above 0 and at most 1000000.")
DAYS, AGED = _within(1, 36_500), _within(0, 36_500)  # what fits the calendar
# Of what is still needed for a month: by undo, by charts. 0 keeps it for good.
LONG = _only(lambda value: value == 0 or 30 <= value <= 36_500, " must be 0, for good, or from 30 to 36500.")
AGES = _only(lambda value: value == 0 or 90 <= value <= 36_500, " must be 0, for good, or from 90 to 36500.")
COUNT, NO_LIMIT = _within(1, 10**12), _within(0, 10**12)  # of fragments; 0 of a tier are no limit
OPEN = _within(1, 10_000)
BELOW = _only(
    lambda value: PREFIX.fullmatch(value) is not None,
    "={!r} can't be the beginning of paths. Write it such as /novamem: a slash before each part and none at the end; "
    "letters, digits and - . _ ~ alone.",
)
SHARE, FACTOR = _within(0, 1), _within(0, 10)
LIKENESS = _within(0.5, 1)
SCORED_BY = "fake, a URL such as http://127.0.0.1:8080/rerank, a folder that exists, or a model's name"
READ_BY = (
    "a folder that exists, a model's name, or spacy: and the folder or the package of a pipeline, "
    "with spaCy installed (pip install spacy)"
)
WITNESS = "a folder as an absolute path, s3://bucket/prefix, or a URL"


SAMPLED = ("always_on", "always_off", "traceidratio")
SAMPLERS = (*SAMPLED, "parentbased_always_on", "parentbased_always_off", "parentbased_traceidratio")

COMPACTED = ("COMPACT_SUMMARY_DAYS", "COMPACT_KEYWORDS_DAYS", "COMPACT_HASH_DAYS")
# None of them is below the one before.
RISING = (
    COMPACTED,
    ("ARCHIVE_BELOW", "COLD_BELOW"),
    ("CORROBORATE_THRESHOLD", "DEDUP_THRESHOLD"),
    ("EVICTION_WARNING", "EVICTION_START", "EVICTION_AGGRESSIVE"),
    ("EVICTION_TARGET", "EVICTION_START"),
    ("EVICTION_AGGRESSIVE_TARGET", "EVICTION_AGGRESSIVE"),
)


class Settings(BaseSettings):
    """Each with its section and key in the TOML file, of which NOVAMEM_CONFIG, the file's name, has none."""

    model_config = SettingsConfigDict(case_sensitive=True, extra="ignore", allow_inf_nan=False)

    DATABASE_URL: Annotated[str, "storage.database_url", POSTGRES] = ""
    DATABASE_OWNER_URL: Annotated[str, "storage.database_owner_url", POSTGRES] = ""
    CELERY_BROKER_URL: Annotated[str, "storage.broker_url", BROKER] = "pgmq://"
    NOVAMEM_CONFIG: str = ""
    NOVAMEM_DATA_DIR: Annotated[str, "storage.data_dir"] = str(ROOT / "var")
    SECRET_KEY: Annotated[str, "server.secret_key"] = ""
    DEBUG: Annotated[Flag, "server.debug"] = False
    HOST: Annotated[str, "server.host"] = "127.0.0.1"
    PORT: Annotated[int, "server.port"] = 8000
    ALLOWED_HOSTS: Annotated[Words, "server.allowed_hosts"] = ["localhost", "127.0.0.1", "[::1]"]
    CSRF_TRUSTED_ORIGINS: Annotated[Words, "server.csrf_trusted_origins"] = []
    OAUTH_CLIENT_DOCUMENTS: Annotated[Flag, "server.oauth_client_documents"] = False
    CORS_ALLOWED_ORIGINS: Annotated[Words, "server.cors_allowed_origins", ORIGINS] = []
    BEHIND_TLS: Annotated[Flag, "server.behind_tls"] = False
    TRUSTED_PROXIES: Annotated[Words, "server.trusted_proxies", PROXIES] = ["127.0.0.1", "::1"]
    REQUIRE_SECOND_FACTOR: Annotated[Flag, "server.require_second_factor"] = False
    URL_PREFIX: Annotated[str, "server.url_prefix", BELOW] = ""
    METRICS_TOKEN: Annotated[str, "server.metrics_token"] = ""
    QUERY_WORDS: Annotated[int, "retrieval.query_words", _within(1, 5_000)] = 200
    QUERY_PARTS: Annotated[Flag, "retrieval.query_parts"] = False
    QUERY_PARTS_TIMEOUT: Annotated[float, "retrieval.query_parts_timeout", _within(0.01, 600)] = 3.0
    EVENT_STREAMS_PER_KEY: Annotated[int, "server.event_streams_per_key", OPEN] = 10
    UPLOADS_PER_KEY: Annotated[int, "server.uploads_per_key", OPEN] = 2
    DATABASE_POOL_SIZE: Annotated[int, "storage.database_pool_size"] = 16
    MAX_QUEUE_SECONDS: Annotated[float, "server.max_queue_seconds", _within(0, 600)] = 10.0
    WEB_PROCESSES: Annotated[int, "server.web_processes", _within(1, 1_000)] = min(4, os.cpu_count() or 1)
    EMBEDDER: Annotated[str, "embedding.provider", _one_of("minilm", "minilm-int8", "fake")] = "minilm"
    EMBEDDINGS_TIMEOUT: Annotated[float, "embedding.timeout", POSITIVE] = 30.0
    EMBEDDINGS_CACHE_SIZE: Annotated[int, "embedding.cache_size", POSITIVE] = 1024
    EMBEDDINGS_URL: Annotated[str, "embedding.url", HTTP] = ""
    EMBEDDINGS_API_KEY: Annotated[str, "embedding.api_key"] = ""
    RERANKER: Annotated[str, "reranker.source", _only(_names_reranker, f" must be {SCORED_BY}.")] = ""
    RERANKER_MODEL: Annotated[str, "reranker.model"] = ""
    RERANKER_API_KEY: Annotated[str, "reranker.api_key"] = ""
    RERANKER_TIMEOUT: Annotated[float, "reranker.timeout", _within(0.01, 600)] = 3.0
    RERANKER_DEPTH: Annotated[int, "reranker.depth", _within(1, 200)] = 50
    ENTITY_MODEL: Annotated[str, "entities.model", _only(_names_recogniser, f" must be {READ_BY}.")] = ""
    ENTITY_TIMEOUT: Annotated[float, "entities.timeout", _within(0.01, 600)] = 10.0
    LLM_SIDECAR_URL: Annotated[str, "sidecar.url", HTTP] = ""
    OLLAMA_HOST: Annotated[str, "sidecar.ollama_host"] = ""
    COGNITION_LLM_HOST: Annotated[str, "sidecar.host"] = ""
    COGNITION_LLM_PORT: Annotated[int, "sidecar.port", _within(0, 65_535)] = 0
    LLM_SIDECAR_OPENAI: Annotated[Flag, "sidecar.openai"] = False
    OLLAMA_MODEL: Annotated[str, "sidecar.model"] = "llama3.1"
    OLLAMA_API_KEY: Annotated[str, "sidecar.api_key"] = ""
    COGNITION_LLM_TIMEOUT_MS: Annotated[int, "sidecar.timeout_ms", _within(1, 600_000)] = 45_000
    REDUCTION_CLIENT: Annotated[str, "governance.reduction_client"] = "memories.governance.LocalChecks"
    DYNAMIC_CREATION_ADVISORY_MODE: Annotated[Flag, "governance.advisory_mode"] = False
    PROXY_UPSTREAM_URL: Annotated[str, "proxy.upstream_url", HTTP] = ""
    PROXY_UPSTREAM_KEY: Annotated[str, "proxy.upstream_key"] = ""
    PROXY_ANTHROPIC_URL: Annotated[str, "proxy.anthropic_url", HTTP] = ""
    PROXY_ANTHROPIC_KEY: Annotated[str, "proxy.anthropic_key"] = ""
    PROXY_UPSTREAMS: Annotated[Words, "proxy.upstreams", UPSTREAMS] = []
    PROXY_UPSTREAM_KEYS: Annotated[Words, "proxy.upstream_keys", KEYS] = []
    PROXY_CALLER_KEYS: Annotated[Flag, "proxy.caller_keys"] = False
    PROXY_INJECT: Annotated[str, "proxy.inject", _one_of("last_user", "system")] = "last_user"
    PROXY_MAX_TOKENS: Annotated[int, "proxy.max_tokens", POSITIVE] = 1200
    PROXY_TOP_K: Annotated[int, "proxy.top_k", POSITIVE] = 10
    RETRIEVAL_TOP_K: Annotated[int, "retrieval.top_k", _within(0, 200)] = 10
    RETRIEVAL_SIMILARITY_THRESHOLD: Annotated[float, "retrieval.similarity_threshold", _within(-1, 1)] = 0.0
    RETRIEVAL_TOKEN_BUDGET: Annotated[int, "retrieval.token_budget", _within(0, 1_000_000)] = 1200
    RETRIEVAL_INCLUDES_CROSS_AGENT: Annotated[Flag, "retrieval.includes_cross_agent"] = False
    RETRIEVAL_CROSS_AGENT_THRESHOLD: Annotated[float, "retrieval.cross_agent_threshold", _within(0, 1)] = 0.8
    OPERATION_LEASE_SECONDS: Annotated[int, "operations.lease_seconds"] = 60
    WEBHOOK_PRIVATE_ADDRESSES: Annotated[Flag, "webhooks.private_addresses"] = False
    RECEIPT_DAYS: Annotated[int, "operations.receipt_days"] = 90
    OPERATION_DAYS: Annotated[int, "operations.days", LONG] = 90
    IDEMPOTENCY_HOURS: Annotated[int, "operations.idempotency_hours", _within(1, 8_760)] = 48
    TASK_DAYS: Annotated[int, "operations.task_days", LONG] = 90
    USAGE_DAYS: Annotated[int, "operations.usage_days", LONG] = 400
    LLM_CALL_DAYS: Annotated[int, "sidecar.call_days"] = 90
    EMAIL_HOST: Annotated[str, "mail.host"] = ""
    EMAIL_PORT: Annotated[int, "mail.port", _within(1, 65_535)] = 587
    EMAIL_HOST_USER: Annotated[str, "mail.user"] = ""
    EMAIL_HOST_PASSWORD: Annotated[str, "mail.password"] = ""
    EMAIL_USE_TLS: Annotated[Flag, "mail.use_tls"] = True
    DEFAULT_FROM_EMAIL: Annotated[str, "mail.sender"] = "novamem@localhost"
    LOGIN_DAYS: Annotated[int, "server.login_days", _within(30, 36_500)] = 400
    # Three disputes of an inference reach a trust of .35; less can't be reached.
    DISPUTE_THRESHOLD: Annotated[float, "trust.dispute_threshold", SHARE] = 0.4
    DECAY_SM2: Annotated[Flag, "decay.sm2"] = False
    DECAY_PER_DAY: Annotated[float, "decay.per_day", FACTOR] = 0.05
    COLD_BELOW: Annotated[float, "decay.cold_below", SHARE] = 0.15
    ARCHIVE_BELOW: Annotated[float, "decay.archive_below", SHARE] = 0.1
    DEDUP_THRESHOLD: Annotated[float, "consolidation.dedup_threshold", LIKENESS] = 0.95
    CORROBORATE_THRESHOLD: Annotated[float, "consolidation.corroborate_threshold", LIKENESS] = 0.9
    COMPRESS_AGE_DAYS: Annotated[int, "consolidation.compress_age_days", AGED] = 30
    PRUNE_AGE_DAYS: Annotated[int, "consolidation.prune_age_days", AGED] = 90
    COMPACT_SUMMARY_DAYS: Annotated[int, "compaction.summary_days", DAYS] = 30
    COMPACT_KEYWORDS_DAYS: Annotated[int, "compaction.keywords_days", DAYS] = 90
    COMPACT_HASH_DAYS: Annotated[int, "compaction.hash_days", DAYS] = 180
    WARM_DAYS: Annotated[int, "upkeep.warm_days", DAYS] = 30
    PROMOTE_AT: Annotated[int, "upkeep.promote_at", POSITIVE] = 5
    EVICTION_WARNING: Annotated[float, "eviction.warning", SHARE] = 0.7
    EVICTION_START: Annotated[float, "eviction.start", SHARE] = 0.8
    EVICTION_AGGRESSIVE: Annotated[float, "eviction.aggressive", SHARE] = 0.95
    EVICTION_TARGET: Annotated[float, "eviction.target", SHARE] = 0.75
    EVICTION_AGGRESSIVE_TARGET: Annotated[float, "eviction.aggressive_target", SHARE] = 0.7
    EVICTION_RECENT_HOURS: Annotated[int, "eviction.recent_hours", _within(1, 8_760)] = 24
    PROTECTED_IMPORTANCE: Annotated[float, "eviction.protected_importance", _within(0.1, 1)] = 0.7
    WEIGHT_BASE: Annotated[float, "weights.base", SHARE] = 0.5
    WEIGHT_ENTITY: Annotated[float, "weights.entity", SHARE] = 0.05
    WEIGHT_VALENCE: Annotated[float, "weights.valence", SHARE] = 0.2
    WEIGHT_MANUAL: Annotated[float, "weights.manual", SHARE] = 0.3
    WEIGHT_CONVERSATION: Annotated[float, "weights.conversation", SHARE] = 0.1
    WEIGHT_ACCESS: Annotated[float, "weights.access", FACTOR] = 0.1
    WEIGHT_DECAY_PER_DAY: Annotated[float, "weights.decay_per_day", FACTOR] = 0.1
    WEIGHT_EMOTION: Annotated[float, "weights.emotion", FACTOR] = 0.3
    WEIGHT_KEPT: Annotated[float, "weights.kept", _within(1, 10)] = 1.5
    MAX_CONTENT_LENGTH: Annotated[int, "limits.max_content_length", _within(1_000, 2_000)] = 2_000
    ARCHIVE_DAYS: Annotated[int, "upkeep.archive_days", DAYS] = 365
    PUT_AWAY_DAYS: Annotated[int, "upkeep.put_away_days", DAYS] = 365
    CAPACITY_FRAGMENTS: Annotated[int, "upkeep.capacity", COUNT] = 2_000_000
    OWNER_SHARE: Annotated[float, "upkeep.owner_share", _within(0.01, 1)] = 0.5
    CAPACITY_HOT: Annotated[int, "upkeep.capacity_hot", NO_LIMIT] = 0
    CAPACITY_WARM: Annotated[int, "upkeep.capacity_warm", NO_LIMIT] = 0
    CAPACITY_COLD: Annotated[int, "upkeep.capacity_cold", NO_LIMIT] = 0
    TIER_HOT_GB: Annotated[float, "upkeep.tier_hot_gb", POSITIVE] = 10.0
    TIER_WARM_GB: Annotated[float, "upkeep.tier_warm_gb", POSITIVE] = 50.0
    CONSOLIDATION_UNDO_DAYS: Annotated[int, "upkeep.undo_days"] = 30
    HISTORY_DAYS: Annotated[int, "audit.history_days", AGES] = 0
    AUDIT_WITNESS: Annotated[str, "audit.witness", _beginning(WITNESS, "/", "s3://", "http://", "https://")] = ""
    BACKUP_DIR: Annotated[str, "backups.dir"] = ""
    BACKUP_KEEP: Annotated[int, "backups.keep", _within(1, 100_000)] = 14
    BACKUP_WEEKLY: Annotated[int, "backups.weekly", _within(0, 1_000)] = 4
    BACKUP_MONTHLY: Annotated[int, "backups.monthly", _within(0, 1_000)] = 6
    BACKUP_RECIPIENTS: Annotated[Words, "backups.recipients", RECIPIENTS] = []
    BACKUP_IDENTITY_FILE: Annotated[str, "backups.identity_file", IDENTITY] = ""
    RESTORE_MAX_GB: Annotated[float, "backups.restore_max_gb", POSITIVE] = 64.0
    TRUSTED_SIGNERS: Annotated[Words, "backups.trusted_signers", SIGNERS] = []
    LOG_FORMAT: Annotated[str, "logging.format", _one_of("json", "console")] = "json"
    LOG_LEVEL: Annotated[str, "logging.level", _one_of("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")] = "INFO"
    SLOW_REQUEST_MS: Annotated[int, "logging.slow_request_ms", _within(0, 3_600_000)] = 1_000
    LOG_MB: Annotated[int, "logging.megabytes", _within(1, 100_000)] = 10
    OTEL_EXPORTER_OTLP_ENDPOINT: Annotated[str, "telemetry.endpoint", HTTP] = ""
    OTEL_EXPORTER_OTLP_HEADERS: Annotated[str, "telemetry.headers"] = ""
    OTEL_SERVICE_NAME: Annotated[str, "telemetry.service_name"] = "novamem"
    OTEL_TRACES_SAMPLER: Annotated[str, "telemetry.sampler", _one_of(*SAMPLERS)] = "parentbased_always_on"
    OTEL_TRACES_SAMPLER_ARG: Annotated[float, "telemetry.share", SHARE] = 1.0

    @field_validator("NOVAMEM_DATA_DIR", "BACKUP_DIR")
    @classmethod
    def _absolute(cls, given: str, info: ValidationInfo) -> str:
        if info.field_name == "BACKUP_DIR":
            given = given or str(Path(info.data["NOVAMEM_DATA_DIR"]) / "backups")
        return str((ROOT / Path(given).expanduser()).resolve())

    @model_validator(mode="after")
    def _together(self) -> "Settings":
        if bool(self.COGNITION_LLM_HOST) != bool(self.COGNITION_LLM_PORT):
            raise ValueError("COGNITION_LLM_HOST and COGNITION_LLM_PORT go together: set both or neither.")
        if stray := self.named("PROXY_UPSTREAM_KEYS").keys() - self.named("PROXY_UPSTREAMS").keys():
            raise ValueError(
                f"PROXY_UPSTREAM_KEYS has keys for {', '.join(sorted(stray))}; name these in PROXY_UPSTREAMS."
            )
        for names in RISING:
            values = [getattr(self, name) for name in names]
            if values != sorted(values) or (names == COMPACTED and len({*values}) < len(values)):
                raise ValueError(f"{', '.join(names)} have to rise, and are {', '.join(map(str, values))}.")
        return self

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: Source,
        env_settings: Source,
        dotenv_settings: Source,
        file_secret_settings: Source,
    ) -> tuple[Source, ...]:
        """Return the environment, which has what `.env` gives by then, and the TOML file."""
        values = config.read(ROOT, {place: _kind(name) for name, place in PLACE_OF.items()})
        named = {name: values[place] for name, place in PLACE_OF.items() if place in values}
        return env_settings, InitSettingsSource(settings_cls, named)

    def named(self, setting: str) -> dict[str, str]:
        """Return a setting of words such as `name=value`, by their names."""
        return dict(word.split("=", 1) for word in getattr(self, setting))

    def origins(self) -> dict[str, str]:
        """Return where each value comes from: `environment`, `.env`, `TOML` or `default`."""
        origin_of = dict.fromkeys(self.model_fields_set, "TOML")
        origin_of |= {name: ".env" if name in _from_file else "environment" for name in os.environ}
        return {name: origin_of.get(name, "default") for name in Settings.model_fields}

    def sidecar(self) -> tuple[str, str]:
        """Return where the language model is, and the setting that says so; both empty without one: nothing is guessed.

        LLM_SIDECAR_URL comes before OLLAMA_HOST (deprecated), that before COGNITION_LLM_HOST with COGNITION_LLM_PORT.
        """
        if self.LLM_SIDECAR_URL:
            return self.LLM_SIDECAR_URL, "LLM_SIDECAR_URL"
        if host := self.OLLAMA_HOST:
            return host if host.startswith(("http://", "https://")) else f"http://{host}", "OLLAMA_HOST"
        if self.COGNITION_LLM_HOST:
            return f"http://{self.COGNITION_LLM_HOST}:{self.COGNITION_LLM_PORT}", "COGNITION_LLM_HOST"
        return "", ""

    def own_database(self) -> Logins | None:
        """Return the logins to the operator's own Postgres; None for the embedded one."""
        if not self.DATABASE_URL and not self.DATABASE_OWNER_URL:
            return None
        return Logins(self.DATABASE_URL, self.DATABASE_OWNER_URL)

    def questions_at_once(self) -> int:
        """Return how many questions a web process works on: one where these and Postgres share every core, else two."""
        host = str(conninfo_to_dict(self.DATABASE_URL).get("host") or "") if self.DATABASE_URL else ""
        is_here = not host or host.startswith("/") or host in ("localhost", "127.0.0.1", "::1")
        return 1 if is_here and (os.cpu_count() or 1) <= self.WEB_PROCESSES else 2


PLACE_OF = {
    name: place for name, field in Settings.model_fields.items() for place in field.metadata if isinstance(place, str)
}
_from_file: set[str] = set()  # what `.env` put into the environment of this process


def load() -> Settings:
    """Return every setting; for what runs before there is a database. Raise ImproperlyConfigured with a hint.

    The file `.env` beside this project gives what the environment does not, and a TOML file what both do not.
    """
    before = set(os.environ) - _from_file
    load_dotenv(ROOT / ".env", interpolate=False)
    _from_file.update(set(os.environ) - before)
    for name, instead in GONE.items():
        if name in os.environ:
            raise ImproperlyConfigured(f"{name} is not read any more. Rename it: {instead}.")
    if (zone := os.environ.get("PGTZ")) and not _is_zone(zone):
        raise ImproperlyConfigured(f"PGTZ={zone} is no time zone, and Postgres lets nobody in with it. Unset it.")
    try:
        return Settings()
    except ValidationError as error:
        raise ImproperlyConfigured(" ".join(map(_hint, error.errors()))) from None


def _is_zone(name: str) -> bool:
    with suppress(ZoneInfoNotFoundError, ValueError, OSError):
        return bool(ZoneInfo(name))
    return False


def _kind(name: str) -> Any:
    return Settings.model_fields[name].annotation


def _hint(error: Any) -> str:
    """Return what is wrong with a setting, by its name."""
    name = "".join(map(str, error["loc"][:1]))
    if error["type"] == "value_error":
        return f"{name}{error['ctx']['error']}"
    return f"{name} must be of type {_kind(name).__name__}: {error['msg']}."


def read() -> Settings:
    """Return the settings in force, with a database. Raise ImproperlyConfigured with a hint."""
    values = load()
    if not values.DATABASE_URL:
        raise ImproperlyConfigured(
            "DATABASE_URL is not set. Run through script/server, script/manage or script/test, which bring an embedded "
            "Postgres, or set DATABASE_URL=postgres://nova_app:password@host:5432/name."
        )
    return values


def private_folder(path: Path) -> Path:
    """Return a folder that only its owner may enter; made, or closed, if need be and if it is ours to close.

    Raise OSError where nothing can be written.
    """
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(OSError):
        path.chmod(0o700)
    if not os.access(path, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    return path


def kept_secret(path: Path) -> str:
    """Return the secret in `path`; made on first use, readable by its owner only."""
    if not path.exists():
        private_folder(path.parent)
        draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
        draft.touch(mode=0o600)
        draft.write_text(secrets.token_urlsafe(48))
        with suppress(FileExistsError):  # several processes start at once: the first one's secret stays
            path.hardlink_to(draft)
        draft.unlink()
    return path.read_text()
