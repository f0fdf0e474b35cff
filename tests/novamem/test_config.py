"""The TOML file: where it stands among the sources, and that it is refused when it is wrong."""

import os
import tomllib

import pytest
from django.core.exceptions import ImproperlyConfigured

from novamem import config, env

EXAMPLE = env.ROOT / "config.example.toml"


@pytest.fixture
def toml(tmp_path, monkeypatch):
    """Writes a file and names it; nothing else is set."""
    for name in {*env.Settings.model_fields} & {*os.environ}:
        monkeypatch.delenv(name)

    def write(text):
        path = tmp_path / "nova.toml"
        path.write_text(text)
        monkeypatch.setenv("NOVAMEM_CONFIG", str(path))

    return write


def test_the_file_gives_what_the_environment_does_not(toml, monkeypatch):
    toml('[server]\nport = 9000\nhost = "0.0.0.0"\nallowed_hosts = ["a.example"]\n[retrieval]\ntopK = 5\n')
    monkeypatch.setenv("HOST", "127.0.0.2")
    found, origins = env.load(), env.load().origins()
    assert (found.PORT, found.HOST, found.ALLOWED_HOSTS) == (9000, "127.0.0.2", ["a.example"])
    assert (found.RETRIEVAL_TOP_K, found.LOG_LEVEL) == (5, "INFO")
    assert [origins[name] for name in ("PORT", "HOST", "ALLOWED_HOSTS")] == ["TOML", "environment", "TOML"]
    assert (origins["RETRIEVAL_TOP_K"], origins["LOG_LEVEL"]) == ("TOML", "default")


def test_older_files_name_settings_that_have_another_place_here(toml):
    toml("""
        [consolidation]
        deduplicationThreshold = 0.97
        decay_rate = 0.06
        archiveThreshold = 0.2
        deletionThreshold = 0.12
        [limits]
        maxFragments = 500_000
        maxContentLength = 1500
        [decay]
        per_day = 0.07
    """)
    found = env.load()
    assert (found.DEDUP_THRESHOLD, found.COLD_BELOW, found.ARCHIVE_BELOW) == (0.97, 0.2, 0.12)
    assert (found.CAPACITY_FRAGMENTS, found.MAX_CONTENT_LENGTH, found.DECAY_PER_DAY) == (500_000, 1500, 0.07)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[consolidation]\ndecayRate = 'fast'", "decay.per_day: .*number"),
        ("decay = 3\n[consolidation]\ndecayRate = 1", "decay: "),
        ("[server]\nport = '9000'", "server.port: .*integer"),
        ("[server]\nprot = 9000", "server.prot: .*not permitted"),
        ("[sever]\nport = 9000", "sever: "),
        ("port = 9000", "port: "),
        ("[server", "no TOML"),
        ("[embedding]\nprovider = 'parrot'", "EMBEDDER='parrot'"),
        ("[embedding]\ntimeout = 0", "EMBEDDINGS_TIMEOUT must be above 0"),
        ("[embedding]\ntimeout = nan", "EMBEDDINGS_TIMEOUT must be of type float: .*finite"),
        ("[retrieval]\ncross_agent_threshold = 1.5", "RETRIEVAL_CROSS_AGENT_THRESHOLD must be from 0 to 1"),
    ],
)
def test_a_wrong_file_is_named_with_the_place(toml, text, why):
    toml(text)
    with pytest.raises(ImproperlyConfigured, match=why):
        env.load()


def test_a_file_that_is_not_there_is_an_error_when_it_was_named(toml, monkeypatch):
    monkeypatch.setenv("NOVAMEM_CONFIG", "/nowhere/nova.toml")
    with pytest.raises(ImproperlyConfigured, match="/nowhere/nova.toml"):
        env.load()


def test_every_setting_has_one_place():
    assert sorted(env.PLACE_OF) == sorted({*env.Settings.model_fields} - {config.NAME})
    assert len(set(env.PLACE_OF.values())) == len(env.PLACE_OF)


def test_the_example_shows_each_default(toml):
    lines = [line.removeprefix("# ") for line in EXAMPLE.read_text().splitlines()]
    shown = tomllib.loads("\n".join(line for line in lines if line.startswith("[") or " = " in line))
    names = {place: name for name, place in env.PLACE_OF.items()}
    assert {f"{section}.{key}" for section, keys in shown.items() for key in keys} == set(names)
    changes = {"WEB_PROCESSES", "NOVAMEM_DATA_DIR"}  # the machine's, and a path below the project
    for section, keys in shown.items():
        for key, value in keys.items():
            name = names[f"{section}.{key}"]
            assert name in changes or value == env.Settings.model_fields[name].default, name
    toml(EXAMPLE.read_text())
    assert {origin for name, origin in env.load().origins().items() if name != config.NAME} == {"default"}


@pytest.mark.parametrize(
    ("words", "rest", "told"),
    [
        (
            ["manage.py", "stats", "--config", "a.toml", "-j"],
            ["manage.py", "stats", "-j"],
            {"NOVAMEM_CONFIG": "a.toml"},
        ),
        (
            ["python", "./manage.py", "--data-dir=b", "--config", "a.toml", "shell", "-c", "1"],
            ["python", "./manage.py", "shell", "-c", "1"],
            {"NOVAMEM_CONFIG": "a.toml", "NOVAMEM_DATA_DIR": "b"},
        ),
        (["manage.py", "--configure"], ["manage.py", "--configure"], {}),
        (["manage.py", "--json", "stats", "x"], ["manage.py", "stats", "x", "--json"], {}),
        (["python", "manage.py", "--data-dir", "b", "--json", "stats"], ["python", "manage.py", "stats", "--json"], {}),
        (["python", "-c", "pass", "--config", "x"], ["python", "-c", "pass", "--config", "x"], {}),
    ],
)
def test_options_of_every_command_become_the_environment(monkeypatch, words, rest, told):
    for name in ("NOVAMEM_CONFIG", "NOVAMEM_DATA_DIR"):
        monkeypatch.setenv(name, "before")
        monkeypatch.delenv(name)
    assert config.take_options(words) == rest
    assert {name: os.environ[name] for name in told} == told
    assert "NOVAMEM_CONFIG" in told or "NOVAMEM_CONFIG" not in os.environ
