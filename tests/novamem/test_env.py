"""Settings from the environment: wrong ones are refused at start, with a hint."""

import os

import pytest
from django.core.exceptions import ImproperlyConfigured

from novamem import env

AGE = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"
SSH = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHsKLqeplhpW+uObz5dvMgjz1OxfM/XXUB+VHtZ6isGN alice@host"


@pytest.mark.parametrize(
    ("name", "value", "hint"),
    [
        ("EMBEDDER", "parrot", "minilm"),
        ("EMBEDDINGS_URL", "ollama:11434", "http://"),
        ("EMBEDDINGS_URL", "file:///etc/passwd", "http://"),
        ("EMBEDDINGS_TIMEOUT", "0", "above 0"),
        ("EMBEDDINGS_TIMEOUT", "nan", "float"),
        ("EMBEDDINGS_TIMEOUT", "inf", "float"),
        ("EMBEDDINGS_TIMEOUT", "soon", "float"),
        ("EMBEDDINGS_CACHE_SIZE", "-1", "above 0"),
        ("EMBEDDINGS_CACHE_SIZE", "many", "int"),
        ("ARCHIVE_DAYS", "0", "1 to 36500"),
        ("PUT_AWAY_DAYS", "40000", "1 to 36500"),
        ("CAPACITY_FRAGMENTS", "0", "1 to 1000000000000"),
        ("CAPACITY_COLD", "-1", "0 to 1000000000000"),
        ("CAPACITY_HOT", "1.5", "int"),
        ("TIER_HOT_GB", "0", "above 0"),
        ("TIER_WARM_GB", "lots", "float"),
        ("RERANKER", "http://", "a URL"),
        ("RERANKER", "ftp://host/rerank", "a URL"),
        ("RERANKER", "/nowhere/at/all", "a folder"),
        ("RERANKER", "a b", "name"),
        ("RERANKER_TIMEOUT", "0", "0.01 to 600"),
        ("RERANKER_DEPTH", "201", "1 to 200"),
        ("ENTITY_MODEL", "/nowhere/at/all", "a folder"),
        ("ENTITY_MODEL", "a b", "name"),
        ("ENTITY_MODEL", "spacy:/nowhere/at/all", "spaCy installed"),
        ("ENTITY_MODEL", "spacy:no_such_pipeline", "spaCy installed"),
        ("ENTITY_MODEL", "spacy:", "spaCy installed"),
        ("ENTITY_TIMEOUT", "0", "0.01 to 600"),
        ("LLM_SIDECAR_URL", "localhost:5002", "http://"),
        ("COGNITION_LLM_PORT", "5002", "COGNITION_LLM_HOST"),
        ("COGNITION_LLM_HOST", "localhost", "COGNITION_LLM_PORT"),
        ("COGNITION_LLM_TIMEOUT_MS", "0", "1 to 600000"),
        ("BEHIND_TLS", "treu", "bool"),
        ("URL_PREFIX", "novamem", "such as /novamem"),
        ("URL_PREFIX", "/novamem/", "such as /novamem"),
        ("URL_PREFIX", "/", "such as /novamem"),
        ("URL_PREFIX", "//novamem", "such as /novamem"),
        ("URL_PREFIX", "/nova mem", "such as /novamem"),
        ("URL_PREFIX", "/nova%20mem", "such as /novamem"),
        ("URL_PREFIX", "/novamem\n", "such as /novamem"),
        ("URL_PREFIX", "/apps/../novamem", "such as /novamem"),
        ("URL_PREFIX", "https://example.org/novamem", "such as /novamem"),
        ("CORS_ALLOWED_ORIGINS", "app.example.com", "such as https://app.example.com"),
        ("CORS_ALLOWED_ORIGINS", "https://app.example.com/", "without a path"),
        ("CORS_ALLOWED_ORIGINS", "https://app.example.com:443", "default port"),
        ("CORS_ALLOWED_ORIGINS", "https://App.example.com", "small letters"),
        ("CORS_ALLOWED_ORIGINS", "https://a.example.com,https://*.example.com", "no origins"),
        ("PROXY_UPSTREAMS", "https://api.example.com/v1", "a name and a URL"),
        ("PROXY_UPSTREAMS", "fast=api.example.com", "a name and a URL"),
        ("PROXY_UPSTREAM_KEYS", "hush", "names and keys"),
        ("PROXY_UPSTREAM_KEYS", "fast=hush", "for fast; name these in PROXY_UPSTREAMS"),
        ("DECAY_PER_DAY", "-1", "0 to 10"),
        ("COLD_BELOW", "1.5", "0 to 1"),
        ("ARCHIVE_BELOW", "0.2", "COLD_BELOW have to rise"),
        ("DISPUTE_THRESHOLD", "1.5", "0 to 1"),
        ("DEDUP_THRESHOLD", "0.4", "0.5 to 1"),
        ("CORROBORATE_THRESHOLD", "0.99", "DEDUP_THRESHOLD have to rise"),
        ("COMPRESS_AGE_DAYS", "soon", "int"),
        ("COMPACT_SUMMARY_DAYS", "90", "COMPACT_HASH_DAYS have to rise, and are 90, 90, 180"),
        ("WARM_DAYS", "0", "1 to 36500"),
        ("EVICTION_START", "0.6", "EVICTION_AGGRESSIVE have to rise"),
        ("EVICTION_TARGET", "0.9", "EVICTION_START have to rise"),
        ("EVICTION_RECENT_HOURS", "0", "1 to 8760"),
        ("PROTECTED_IMPORTANCE", "0", "0.1 to 1"),
        ("WEIGHT_BASE", "2", "0 to 1"),
        ("WEIGHT_KEPT", "0.5", "1 to 10"),
        ("MAX_CONTENT_LENGTH", "5000", "1000 to 2000"),
        ("BACKUP_RECIPIENTS", "age1x", "age1…, ssh-ed25519 …"),
        ("BACKUP_RECIPIENTS", "ssh-ed25519 AAAA", "age1…, ssh-ed25519 …"),
        ("BACKUP_IDENTITY_FILE", "/nonexistent", "no file"),
        ("TRUSTED_SIGNERS", "zz", "64 digits"),
        ("TRUSTED_SIGNERS", "A" * 64, "64 digits"),
        ("LOG_LEVEL", "LOUD", "Use one of: DEBUG, INFO, WARNING, ERROR, CRITICAL"),
        ("CELERY_BROKER_URL", "zz://me:hush@host", "such as redis://"),
        ("CELERY_BROKER_URL", "", "such as redis://"),
        ("TRUSTED_PROXIES", "abc", "such as 10.0.0.0/8"),
        ("TRUSTED_PROXIES", "10.1.2.3/8", "such as 10.0.0.0/8"),
        ("TRUSTED_PROXIES", "127.0.0.1,*", "such as 10.0.0.0/8"),
        ("WEB_PROCESSES", "0", "1 to 1000"),
        ("OLLAMA_BASE_URL", "http://localhost:11434", "LLM_SIDECAR_URL"),
    ],
)
def test_a_wrong_setting_is_named(monkeypatch, name, value, hint):
    monkeypatch.setenv(name, value)
    with pytest.raises(ImproperlyConfigured, match=name) as raised:
        env.load()
    assert hint in str(raised.value)
    assert "\n" not in str(raised.value)
    assert "hush" not in str(raised.value)


def test_every_wrong_one_is_named(monkeypatch):
    monkeypatch.setenv("ARCHIVE_DAYS", "0")
    monkeypatch.setenv("EMBEDDER", "parrot")
    with pytest.raises(ImproperlyConfigured) as raised:
        env.load()
    assert str(raised.value) == (
        "EMBEDDER='parrot' is not known. Use one of: minilm, minilm-int8, fake. ARCHIVE_DAYS must be from 1 to 36500."
    )


@pytest.mark.parametrize(
    ("name", "value", "meant"),
    [
        ("BEHIND_TLS", "", False),
        ("BEHIND_TLS", "yes", True),
        ("URL_PREFIX", "", ""),
        ("URL_PREFIX", "/apps/.novamem-2_a~", "/apps/.novamem-2_a~"),
        ("CORS_ALLOWED_ORIGINS", "*", ["*"]),
        (
            "CORS_ALLOWED_ORIGINS",
            "tauri://localhost,http://localhost:443",
            ["tauri://localhost", "http://localhost:443"],
        ),
        ("PROXY_UPSTREAMS", "a=http://127.0.0.1:1/v1,b=https://x/v1", ["a=http://127.0.0.1:1/v1", "b=https://x/v1"]),
        ("BACKUP_RECIPIENTS", f"{AGE}, {SSH}", [AGE, f" {SSH}"]),
        ("BACKUP_IDENTITY_FILE", "", ""),
        ("BACKUP_IDENTITY_FILE", __file__, __file__),
        ("TRUSTED_SIGNERS", "0a" * 32, ["0a" * 32]),
        ("CELERY_BROKER_URL", "redis+socket:///run/redis.sock", "redis+socket:///run/redis.sock"),
        ("CELERY_BROKER_URL", "amqp://a:b@host//;amqp://a:b@other//", "amqp://a:b@host//;amqp://a:b@other//"),
        ("TRUSTED_PROXIES", "*", ["*"]),
        ("TRUSTED_PROXIES", "172.16.0.0/12,::1", ["172.16.0.0/12", "::1"]),
        ("ALLOWED_HOSTS", "", []),
        ("ALLOWED_HOSTS", "a.example,,b.example", ["a.example", "b.example"]),
        ("SECRET_KEY", "$HOME", "$HOME"),
        ("REDUCTION_CLIENT", "", ""),
    ],
)
def test_what_stands_in_the_environment_is_meant(monkeypatch, name, value, meant):
    monkeypatch.setenv(name, value)
    assert getattr(env.load(), name) == meant


def test_the_file_beside_the_project_gives_what_the_environment_does_not(monkeypatch, tmp_path):
    for name in ("LOGIN_DAYS", "SECRET_KEY", "LOG_LEVEL", "NOVAMEM_CONFIG", "OF_A_LIBRARY"):
        monkeypatch.setenv(name, "before")
        monkeypatch.delenv(name)
    monkeypatch.setenv("LOG_LEVEL", "ERROR")
    monkeypatch.setattr(env, "ROOT", tmp_path)
    monkeypatch.setattr(env, "_from_file", set())
    (tmp_path / ".env").write_text("LOGIN_DAYS=90\nSECRET_KEY='a${b}c'\nLOG_LEVEL=DEBUG\nOF_A_LIBRARY=1\n")
    (tmp_path / "config.toml").write_text("[server]\nlogin_days = 60\n[operations]\nreceipt_days = 5\n")
    values, origins = env.load(), env.load().origins()
    assert (values.LOGIN_DAYS, values.SECRET_KEY, values.LOG_LEVEL) == (90, "a${b}c", "ERROR")
    assert (origins["LOGIN_DAYS"], origins["LOG_LEVEL"], origins["RECEIPT_DAYS"]) == (".env", "environment", "TOML")
    assert os.environ["OF_A_LIBRARY"] == "1"


def test_right_ones_have_their_types(monkeypatch):
    monkeypatch.setenv("EMBEDDINGS_URL", "https://models.example.org/v1")
    monkeypatch.setenv("EMBEDDINGS_TIMEOUT", "2.5")
    values = env.load()
    assert (values.EMBEDDINGS_URL, values.EMBEDDINGS_TIMEOUT) == ("https://models.example.org/v1", 2.5)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({}, ("", "")),
        ({"LLM_SIDECAR_URL": "http://a:1", "OLLAMA_HOST": "http://b:2"}, ("http://a:1", "LLM_SIDECAR_URL")),
        (
            {"OLLAMA_HOST": "b:2", "COGNITION_LLM_HOST": "c", "COGNITION_LLM_PORT": "3"},
            ("http://b:2", "OLLAMA_HOST"),
        ),
        ({"COGNITION_LLM_HOST": "c", "COGNITION_LLM_PORT": "3"}, ("http://c:3", "COGNITION_LLM_HOST")),
        (
            {"LLM_SIDECAR_URL": "http://a:1", "COGNITION_LLM_HOST": "c", "COGNITION_LLM_PORT": "3"},
            ("http://a:1", "LLM_SIDECAR_URL"),
        ),
    ],
)
def test_the_sidecar_is_where_the_first_of_these_says(monkeypatch, given, found):
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert env.load().sidecar() == found


@pytest.mark.parametrize(
    ("url", "processes", "cores", "at_once"),
    [
        ("", 2, 2, 1),
        ("postgres://nova_app@%2Fvar%2Fsocket/novamem", 2, 2, 1),
        ("postgres://nova_app:p@localhost:5432/novamem", 4, 4, 1),
        ("postgres://nova_app:p@localhost:5432/novamem", 4, 16, 2),
        ("postgres://nova_app:p@db.internal:5432/novamem", 2, 2, 2),
        ("", 1, 2, 2),
    ],
)
def test_questions_wait_for_each_other_where_processes_and_postgres_share_every_core(
    monkeypatch, url, processes, cores, at_once
):
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    monkeypatch.setenv("DATABASE_URL", url)
    monkeypatch.setenv("DATABASE_OWNER_URL", url.replace("nova_app", "nova_owner"))
    monkeypatch.setenv("WEB_PROCESSES", str(processes))
    assert env.load().questions_at_once() == at_once
