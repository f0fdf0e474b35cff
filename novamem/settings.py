"""Django's settings, built from `novamem.env`. Nothing here decides anything about memories."""

import logging
import os
from pathlib import Path
from typing import Any

from django.db.backends.signals import connection_created

from novamem import broker, database, env
from novamem.logs import logging_config

ROOT = env.ROOT
VERSION = env.VERSION
given = env.read()
SECRET_KEY = given.SECRET_KEY or env.kept_secret(Path(given.NOVAMEM_DATA_DIR) / "secret_key")
ENV = {**given.model_dump(), "SECRET_KEY": SECRET_KEY}
ENV_ORIGINS = given.origins()
ENV_PLACES = env.PLACE_OF

DEBUG = given.DEBUG
ALLOWED_HOSTS = given.ALLOWED_HOSTS
CSRF_TRUSTED_ORIGINS = given.CSRF_TRUSTED_ORIGINS
# Pages of other origins may ask what takes a key, without cookies.
CORS_ALLOWED_ORIGINS = [origin for origin in given.CORS_ALLOWED_ORIGINS if origin != "*"]
CORS_ALLOW_ALL_ORIGINS = "*" in given.CORS_ALLOWED_ORIGINS
CORS_URLS_REGEX = r"^/(api|v1|compat)/"
CORS_ALLOW_HEADERS = ["*", "authorization"]  # which no star stands for
CORS_EXPOSE_HEADERS = ["*"]
URL_PREFIX = given.URL_PREFIX
FORCE_SCRIPT_NAME = URL_PREFIX or None
REQUIRE_SECOND_FACTOR = given.REQUIRE_SECOND_FACTOR
LOGIN_DAYS = given.LOGIN_DAYS
METRICS_TOKEN = given.METRICS_TOKEN
QUERY_WORDS = given.QUERY_WORDS
QUERY_PARTS = given.QUERY_PARTS
QUERY_PARTS_TIMEOUT = given.QUERY_PARTS_TIMEOUT
EVENT_STREAMS_PER_KEY = given.EVENT_STREAMS_PER_KEY
MAX_QUEUE_SECONDS = given.MAX_QUEUE_SECONDS
QUESTIONS_AT_ONCE = given.questions_at_once()
UPLOADS_PER_KEY = given.UPLOADS_PER_KEY
DATA_DIR = Path(given.NOVAMEM_DATA_DIR)
EMBEDDER = given.EMBEDDER
EMBEDDINGS_TIMEOUT = given.EMBEDDINGS_TIMEOUT
EMBEDDINGS_CACHE_SIZE = given.EMBEDDINGS_CACHE_SIZE
EMBEDDINGS_URL = given.EMBEDDINGS_URL
EMBEDDINGS_API_KEY = given.EMBEDDINGS_API_KEY
RERANKER = given.RERANKER
RERANKER_MODEL = given.RERANKER_MODEL
RERANKER_API_KEY = given.RERANKER_API_KEY
RERANKER_TIMEOUT = given.RERANKER_TIMEOUT
RERANKER_DEPTH = given.RERANKER_DEPTH
ENTITY_MODEL = given.ENTITY_MODEL
ENTITY_TIMEOUT = given.ENTITY_TIMEOUT
SIDECAR_URL, SIDECAR_SETTING = given.sidecar()
SIDECAR_OPENAI = given.LLM_SIDECAR_OPENAI
SIDECAR_MODEL = given.OLLAMA_MODEL
SIDECAR_KEY = given.OLLAMA_API_KEY
SIDECAR_TIMEOUT = given.COGNITION_LLM_TIMEOUT_MS / 1000
# Who judges what a language model proposes: the path of a class, or empty for nobody.
REDUCTION_CLIENT = given.REDUCTION_CLIENT
ADVISORY_MODE = given.DYNAMIC_CREATION_ADVISORY_MODE
OPERATION_LEASE_SECONDS = given.OPERATION_LEASE_SECONDS
PROXY_UPSTREAM_URL = given.PROXY_UPSTREAM_URL
PROXY_UPSTREAM_KEY = given.PROXY_UPSTREAM_KEY
PROXY_ANTHROPIC_URL = given.PROXY_ANTHROPIC_URL
PROXY_ANTHROPIC_KEY = given.PROXY_ANTHROPIC_KEY
PROXY_UPSTREAMS = given.named("PROXY_UPSTREAMS")
PROXY_UPSTREAM_KEYS = given.named("PROXY_UPSTREAM_KEYS")
PROXY_CALLER_KEYS = given.PROXY_CALLER_KEYS
PROXY_INJECT = given.PROXY_INJECT
PROXY_MAX_TOKENS = given.PROXY_MAX_TOKENS
PROXY_TOP_K = given.PROXY_TOP_K
RECEIPT_DAYS = given.RECEIPT_DAYS
WEBHOOK_PRIVATE_ADDRESSES = given.WEBHOOK_PRIVATE_ADDRESSES
OAUTH_CLIENT_DOCUMENTS = given.OAUTH_CLIENT_DOCUMENTS
OPERATION_DAYS = given.OPERATION_DAYS
IDEMPOTENCY_HOURS = given.IDEMPOTENCY_HOURS
TASK_DAYS = given.TASK_DAYS
USAGE_DAYS = given.USAGE_DAYS
LLM_CALL_DAYS = given.LLM_CALL_DAYS
DISPUTE_THRESHOLD = given.DISPUTE_THRESHOLD
DECAY_SM2 = given.DECAY_SM2
# Numbers of upkeep and of scores, by the names that they have there.
DECAY = {name: ENV[name.upper()] for name in ("decay_per_day", "cold_below", "archive_below")}
CONSOLIDATION = {
    name: ENV[name.upper()]
    for name in ("dedup_threshold", "corroborate_threshold", "compress_age_days", "prune_age_days")
}
COMPACTION_DAYS = {level: ENV[f"COMPACT_{level.upper()}_DAYS"] for level in ("summary", "keywords", "hash")}
TIERING = {name: ENV[name.upper()] for name in ("warm_days", "promote_at")}
EVICTION = {
    name: ENV[f"EVICTION_{name.upper()}"]
    for name in ("warning", "start", "aggressive", "target", "aggressive_target", "recent_hours")
}
PROTECTED_IMPORTANCE = given.PROTECTED_IMPORTANCE
WEIGHTS = {name.removeprefix("WEIGHT_").lower(): value for name, value in ENV.items() if name.startswith("WEIGHT_")}
MAX_CONTENT_LENGTH = given.MAX_CONTENT_LENGTH
ARCHIVE_DAYS = given.ARCHIVE_DAYS
PUT_AWAY_DAYS = given.PUT_AWAY_DAYS
OWNER_SHARE = given.OWNER_SHARE
# Of a project and of its tiers, in fragments; 0 is no limit.
CAPACITY = {
    "all": given.CAPACITY_FRAGMENTS,
    **{tier: ENV[f"CAPACITY_{tier.upper()}"] for tier in ("hot", "warm", "cold")},
}
TIER_GB = {tier: ENV[f"TIER_{tier.upper()}_GB"] for tier in ("hot", "warm")}
CONSOLIDATION_UNDO_DAYS = given.CONSOLIDATION_UNDO_DAYS
HISTORY_DAYS = given.HISTORY_DAYS
AUDIT_WITNESS = given.AUDIT_WITNESS
BACKUP_KEEP = given.BACKUP_KEEP
BACKUP_WEEKLY = given.BACKUP_WEEKLY
BACKUP_MONTHLY = given.BACKUP_MONTHLY
BACKUP_RECIPIENTS = given.BACKUP_RECIPIENTS
BACKUP_IDENTITY_FILE = given.BACKUP_IDENTITY_FILE
# How much a bundle may hold when it is unpacked, all files of its chain together.
RESTORE_MAX_BYTES = int(given.RESTORE_MAX_GB * 1024**3)
TRUSTED_SIGNERS = given.TRUSTED_SIGNERS
RETRIEVAL_TOP_K = given.RETRIEVAL_TOP_K
RETRIEVAL_SIMILARITY_THRESHOLD = given.RETRIEVAL_SIMILARITY_THRESHOLD
RETRIEVAL_TOKEN_BUDGET = given.RETRIEVAL_TOKEN_BUDGET
RETRIEVAL_INCLUDES_CROSS_AGENT = given.RETRIEVAL_INCLUDES_CROSS_AGENT
RETRIEVAL_CROSS_AGENT_THRESHOLD = given.RETRIEVAL_CROSS_AGENT_THRESHOLD

INSTALLED_APPS = [
    "django_prometheus",
    "memories.apps.AdministrationConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "django_celery_beat",
    "django_htmx",
    "django_otp",
    "django_otp.plugins.otp_static",
    "django_otp.plugins.otp_totp",
    "django_structlog",
    "drf_spectacular",
    "pghistory",
    "pgtrigger",
    "rest_framework",
    "template_partials",
    "memories",
    "conflicts",
]

MIDDLEWARE = [
    *(["corsheaders.middleware.CorsMiddleware"] if given.CORS_ALLOWED_ORIGINS else []),
    "django_prometheus.middleware.PrometheusBeforeMiddleware",
    "novamem.probe_host.ProbeHost",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "novamem.logs.RequestLog",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django_otp.middleware.OTPMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "django_prometheus.middleware.PrometheusAfterMiddleware",
    # Innermost: they are synchronous, and so one thread carries a request through all of them.
    "memories.rest.compression.CompressionMiddleware",
    "novamem.slow_requests.SlowRequestLog",
    "memories.console.logins.SecondFactorGate",
    "memories.admin.AttributionMiddleware",
    "memories.rest.problem_details.ProblemMiddleware",
]

ROOT_URLCONF = "novamem.urls"
ASGI_APPLICATION = "novamem.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [ROOT / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]


def connection(url: str, *, pooled: bool) -> dict[str, Any]:
    """Return one connection's setup; pooled for what serves many requests."""
    config = database.django_config(url)
    config["OPTIONS"]["application_name"] = "novamem"
    if pooled:
        config["CONN_HEALTH_CHECKS"] = True  # a pooled connection may have outlived a restart of Postgres
        # What a burst opened is closed again, one a minute: each takes some 3 MB of Postgres.
        pool = {"min_size": 1, "max_size": given.DATABASE_POOL_SIZE, "timeout": 1, "max_idle": 60}
        config["OPTIONS"]["pool"] = pool
    return config


# Everything runs as the application's login, which row-level security binds. The owner's, which migrates and builds
# indexes, is known to the processes that do so and to no other (docs/decisions/0099).
DATABASES = {"default": connection(given.DATABASE_URL, pooled=True)}
if given.DATABASE_OWNER_URL:
    DATABASES["owner"] = connection(given.DATABASE_OWNER_URL, pooled=False)
connection_created.connect(database.require_app)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
AUTHENTICATION_BACKENDS = ["memories.access.logins.PasswordBackend"]
LOGIN_URL = LOGOUT_REDIRECT_URL = "console:login"
LOGIN_REDIRECT_URL = "console:dashboard"
PASSWORD_RESET_TIMEOUT = 3600  # of a link by mail
EMAIL_HOST, EMAIL_PORT, EMAIL_USE_TLS = given.EMAIL_HOST, given.EMAIL_PORT, given.EMAIL_USE_TLS
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = given.EMAIL_HOST_USER, given.EMAIL_HOST_PASSWORD
DEFAULT_FROM_EMAIL = given.DEFAULT_FROM_EMAIL
EMAIL_TIMEOUT = 30
SESSION_ENGINE = "memories.access.sessions"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_PATH = CSRF_COOKIE_PATH = URL_PREFIX or "/"
if URL_PREFIX:  # a cookie of messages would be every installation's of the host
    MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"
# Whether a request came over https is the web server's to say, which believes the trusted proxies (novamem.web).
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = given.BEHIND_TLS
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if given.BEHIND_TLS else 0

OTP_TOTP_ISSUER = "NovaMem"
# The brake on logins (memories.access.logins) counts codes too; two brakes would tell two times to wait.
OTP_TOTP_THROTTLE_FACTOR = OTP_STATIC_THROTTLE_FACTOR = 0

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_I18N = False
USE_TZ = True

STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    # Any of Django's storages will do: bundles are read and written as streams.
    "backups": {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"location": given.BACKUP_DIR, "file_permissions_mode": 0o600},
    },
}

if AUDIT_WITNESS.startswith("s3://"):
    # Needs django-storages[s3], and a bucket whose default retention locks its objects.
    bucket, _, prefix = AUDIT_WITNESS.removeprefix("s3://").partition("/")
    options = {"bucket_name": bucket, "location": prefix, "file_overwrite": False}
    STORAGES["witness"] = {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": options}

STATIC_URL = f"{URL_PREFIX}/static/"
STATICFILES_DIRS = [ROOT / "static"]
WHITENOISE_USE_FINDERS = True  # no collectstatic: what is installed is what is served

FILE_UPLOAD_HANDLERS = [
    "django.core.files.uploadhandler.MemoryFileUploadHandler",
    "memories.api.uploads.OnDisk",
]
DATA_UPLOAD_MAX_MEMORY_SIZE = 8 * 1024 * 1024

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["memories.rest.authentication.KeyAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": [
        "memories.rest.authentication.HasVerb",
        "memories.rest.entity_tags.ComparesRevision",
    ],
    "DEFAULT_THROTTLE_CLASSES": ["memories.api.rate_limits.KeyThrottle"],
    "DEFAULT_RENDERER_CLASSES": ["memories.rest.json_renderer.FastJSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["memories.rest.parsers.StrictJSONParser", "memories.rest.parsers.UnlabelledJSONParser"],
    "DEFAULT_SCHEMA_CLASS": "memories.api.openapi.Schema",
    "EXCEPTION_HANDLER": "memories.rest.problem_details.handler",
    "UNAUTHENTICATED_USER": None,
    "DATETIME_FORMAT": "iso-8601",
}

SPECTACULAR_SETTINGS = {
    "TITLE": "NovaMem",
    "DESCRIPTION": "Long-term memory for AI agents that a team can trust.",
    "VERSION": VERSION,
    "SERVERS": [{"url": URL_PREFIX}] if URL_PREFIX else [],
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_AUTHENTICATION": [],
    "SERVE_PERMISSIONS": [],
    "COMPONENT_SPLIT_REQUEST": True,
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "PARSER_WHITELIST": ["memories.rest.parsers.StrictJSONParser"],
    "ENUM_NAME_OVERRIDES": {
        "StatusEnum": "memories.models.enums.Status",
        "PolicyEnum": "memories.models.enums.ExportPolicy",
        "PredicatePolicyEnum": "conflicts.enums.Policy",
        "ModelStateEnum": "memories.models.enums.ModelState",
        "CapacityStatusEnum": "memories.models.enums.CapacityStatus",
        "CompressionEnum": "memories.models.enums.Compression",
        "TierEnum": "memories.models.enums.Tier",
        "OperationStateEnum": "memories.models.enums.OperationState",
        "OutcomeEnum": "memories.models.enums.Outcome",
        "TaskStatusEnum": "memories.models.enums.TaskStatus",
        "ProposalOutcomeEnum": "memories.models.enums.ProposalOutcome",
        "AnnouncementAnswerKindEnum": "conflicts.events.Happening",
    },
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "memories.api.openapi.add_problems",
        "memories.api.openapi.add_headers",
        "memories.api.openapi.add_words",
    ],
}

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "font-src": ["'self'"],
        "connect-src": ["'self'"],
        "form-action": ["'self'"],
        "base-uri": ["'none'"],
        "frame-ancestors": ["'none'"],
    },
}
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"

SLOW_REQUEST_MS = given.SLOW_REQUEST_MS
# One line a request, when it ends; ids of requests come from the proxy in front, if there is one.
DJANGO_STRUCTLOG_STATUS_START_LOG_LEVEL = DJANGO_STRUCTLOG_CELERY_DEFAULT_LOG_LEVEL = logging.DEBUG
BEHIND_TLS = given.BEHIND_TLS
LOGGING = logging_config(level=given.LOG_LEVEL, style=given.LOG_FORMAT)
PROMETHEUS_EXPORT_MIGRATIONS = False
EXPORTS_TELEMETRY = bool(given.OTEL_EXPORTER_OTLP_ENDPOINT)
# Libraries report to nobody: onnxruntime tells its maker of machine and models unless this is said before its import.
for name in ("ORT_DISABLE_TELEMETRY", "HF_HUB_DISABLE_TELEMETRY", "DO_NOT_TRACK"):
    os.environ.setdefault(name, "1")

CELERY_BROKER_URL = given.CELERY_BROKER_URL
if CELERY_BROKER_URL == "pgmq://":
    CELERY_BROKER_TRANSPORT = broker.TRANSPORT
    CELERY_BROKER_TRANSPORT_OPTIONS = broker.transport_options(given.DATABASE_URL)
DJANGO_STRUCTLOG_CELERY_ENABLED = True  # messages carry the id of the request
CELERY_BEAT_SCHEDULER = "novamem.schedules:SeededScheduler"
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False
CELERY_WORKER_PREFETCH_MULTIPLIER = 4
CELERY_TIMEZONE = "UTC"
CELERY_TASK_IGNORE_RESULT = True
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
