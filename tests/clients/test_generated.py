"""The clients' methods and types are those of the API."""

import importlib.util
import inspect
import re
from pathlib import Path

import pytest
from novamem_client import AsyncNovaMem, NovaMem

CLIENTS = Path(__file__).resolve().parents[2] / "clients"


@pytest.fixture(scope="module")
def generate():
    """The program that writes them."""
    spec = importlib.util.spec_from_file_location("generate_clients", CLIENTS / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_they_are_what_the_document_says(generate):
    for path, text in generate.files().items():
        assert path.read_text() == text, f"run clients/generate.py: {path.name}"


def test_each_operation_is_a_method_of_both():
    operations = re.findall(r"operationId: (\S+)", (CLIENTS.parent / "tests/api/openapi.yaml").read_text())
    for client in (NovaMem("http://x", "k"), AsyncNovaMem("http://x", "k")):
        groups = [one for name, one in vars(client).items() if not name.startswith("_")]
        methods = [
            name
            for one in (client, *groups)
            for name, method in inspect.getmembers(one, inspect.ismethod)
            if not name.startswith("_") and name != "close" and "all" not in name.split("_")
        ]
        assert len(methods) == len(operations) > 100
        for_awaiting = [inspect.iscoroutinefunction(getattr(client.fragments, name)) for name in ("list", "store")]
        assert for_awaiting == [isinstance(client, AsyncNovaMem)] * 2


def test_the_versions_are_the_servers(settings):
    from novamem_client import __version__

    packages = [(CLIENTS / "python/pyproject.toml").read_text(), (CLIENTS / "javascript/package.json").read_text()]
    packages.append((CLIENTS / "javascript/index.js").read_text())
    assert __version__ == settings.VERSION
    assert all(f'"{settings.VERSION}"' in text for text in packages)
