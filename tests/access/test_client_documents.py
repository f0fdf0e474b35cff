"""Clients whose id is the address of a document about them, on a server that says whatever a test wants."""

import json

import pytest

from memories.access import client_documents
from memories.access.client_documents import read_client
from memories.access.oauth_clients import BadClient, find_client
from memories.providers import addresses
from memories.providers.fake_servers import FakeHandler, FakeServer, running

ID = "https://claude.example/client.json"
BACK = "http://127.0.0.1/callback"
FINE = {"client_id": ID, "client_name": "Claude", "redirect_uris": [BACK], "token_endpoint_auth_method": "none"}


class Handler(FakeHandler):
    """Says what it was told to, once it has been asked."""

    def do_GET(self):  # the library's name
        self.server.asked.append((self.path, self.headers["Host"]))
        body = self.server.body
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Location", "https://elsewhere.example/")
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def site(settings, monkeypatch):
    """Whose documents are read, instead of those of all sites; over plain HTTP, since it has no certificate."""
    settings.OAUTH_CLIENT_DOCUMENTS = True
    server = FakeServer(0, Handler)
    server.asked, server.status, server.body = [], 200, json.dumps(FINE).encode()
    found = addresses.pinned

    def pinned(url):
        sent = found(url)
        assert str(sent["url"]).startswith("https://127.0.0.1")
        return sent | {"url": sent["url"].copy_with(scheme="http", port=server.server_port)}

    monkeypatch.setattr(addresses, "resolve", lambda host, port, **_: "127.0.0.1")
    monkeypatch.setattr(client_documents, "pinned", pinned)
    with running(server):
        yield server


def test_webhooks_that_may_lead_to_private_addresses_let_no_document_do_so(settings):
    settings.OAUTH_CLIENT_DOCUMENTS = settings.WEBHOOK_PRIVATE_ADDRESSES = True
    with pytest.raises(BadClient, match="private address"):
        read_client("https://127.0.0.1:19443/client.json")


def test_a_document_describes_its_client(site):
    client = read_client(ID)
    assert (client.id, client.name, client.redirect_uris, client.method) == (ID, "Claude", (BACK,), "none")
    assert client.takes("http://127.0.0.1:49152/callback")
    assert site.asked == [("/client.json", "claude.example")]
    assert find_client(ID).digest == client.digest


@pytest.mark.parametrize(
    "wrong",
    [
        {"client_id": "https://claude.example/other.json"},
        {"client_id": None},
        {"redirect_uris": []},
        {"redirect_uris": "http://127.0.0.1/"},
        {"redirect_uris": ["http://claude.example/"]},
        {"redirect_uris": [7]},
        {"token_endpoint_auth_method": "client_secret_post"},
        {"token_endpoint_auth_method": "private_key_jwt"},
    ],
)
def test_a_document_that_does_not_fit_describes_nobody(site, wrong):
    site.body = json.dumps({**FINE, **wrong}).encode()
    with pytest.raises(BadClient):
        read_client(ID)


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"\xff", b"[" * 5000, b" " * 10_241])
def test_what_is_no_document_describes_nobody(site, body):
    site.body = body
    with pytest.raises(BadClient):
        read_client(ID)


@pytest.mark.parametrize("status", [204, 302, 404, 500])
def test_no_redirect_is_followed(site, status):
    site.status = status
    with pytest.raises(BadClient, match=str(status)):
        read_client(ID)


@pytest.mark.parametrize(
    "address",
    [
        "https://claude.example",
        "https://claude.example/",
        "https://claude.example/a/../b",
        "https://claude.example/a#b",
        "https://user@claude.example/a",
        "https://claude.example:x/a",
        "https://claude.example/ä",
        f"https://claude.example/{'a' * 500}",
    ],
)
def test_some_addresses_are_nobodys(site, address):
    with pytest.raises(BadClient):
        read_client(address)
    assert site.asked == []


def test_private_addresses_are_not_asked(site, monkeypatch):
    monkeypatch.undo()
    for host in ("127.0.0.1", "localhost", "[::1]", "169.254.169.254"):
        with pytest.raises(BadClient, match="private address"):
            read_client(f"https://{host}/client.json")


def test_nothing_is_asked_unless_the_operator_wants_it(site, settings):
    settings.OAUTH_CLIENT_DOCUMENTS = False
    with pytest.raises(BadClient, match="OAUTH_CLIENT_DOCUMENTS"):
        read_client(ID)
    assert site.asked == []
