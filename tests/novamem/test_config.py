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
    for name in {*env.SCHEME} & {*os.environ}:
        monkeypatch.delenv(name)

    def write(text):
        path = tmp_path / "nova.toml"
        path.write_text(text)
        monkeypatch.setenv("NOVAMEM_CONFIG", str(path))

    return write


def test_the_file_gives_what_the_environment_does_not(toml, monkeypatch):
    toml('[server]\nport = 9000\nhost = "0.0.0.0"\nallowed_hosts = ["a.example"]\n[retrieval]\ntopK = 5\n')
    monkeypatch.setenv("HOST", "127.0.0.2")
    found = env.found()
    assert (found["PORT"], found["HOST"]) == (env.Setting(9000, "TOML"), env.Setting("127.0.0.2", "environment"))
    assert found["ALLOWED_HOSTS"] == env.Setting(["a.example"], "TOML")
    assert (found["RETRIEVAL_TOP_K"].value, found["LOG_LEVEL"]) == (5, env.Setting("INFO", "default"))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[server]\nport = '9000'", "server.port: .*integer"),
        ("[server]\nprot = 9000", "server.prot: .*not permitted"),
        ("[sever]\nport = 9000", "sever: "),
        ("port = 9000", "port: "),
        ("[server", "no TOML"),
        ("[embedding]\nprovider = 'parrot'", "EMBEDDER='parrot'"),
        ("[embedding]\ntimeout = 0", "EMBEDDINGS_TIMEOUT must be above 0"),
        ("[embedding]\ntimeout = nan", "EMBEDDINGS_TIMEOUT must be above 0"),
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
    assert sorted(config.PLACE_OF) == sorted({*env.SCHEME} - {config.NAME})
    assert len(config.PLACE_OF) == sum(map(len, config.PLACES.values()))


def test_the_example_shows_each_default(toml):
    lines = [line.removeprefix("# ") for line in EXAMPLE.read_text().splitlines()]
    shown = tomllib.loads("\n".join(line for line in lines if line.startswith("[") or " = " in line))
    assert {section: set(keys) for section, keys in shown.items()} == {s: set(k) for s, k in config.PLACES.items()}
    changes = {"WEB_PROCESSES", "NOVAMEM_DATA_DIR"}  # the machine's, and a path below the project
    for section, keys in shown.items():
        for key, value in keys.items():
            name = config.PLACES[section][key]
            assert name in changes or value == env.SCHEME[name][1], name
    toml(EXAMPLE.read_text())
    assert {setting.origin for name, setting in env.found().items() if name != config.NAME} == {"default"}


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
