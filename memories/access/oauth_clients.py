"""OAuth clients: whoever registers is told its own description back as its id, signed, so that nothing is kept."""

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from django.core import signing
from django.utils.crypto import salted_hmac

from memories.errors import NovaError
from memories.providers.addresses import PORTS
from memories.providers.http import is_loopback

SALT = "novamem.oauth.client"
METHODS = ("none", "client_secret_post")
SCOPES = ("read", "write")  # the verbs that a client may be given
NAME_LIMIT, ADDRESS_LIMIT, ADDRESSES = 100, 500, 10
# Schemes of applications, as RFC 8252 has them; none that a browser runs or reads itself.
SCHEME = re.compile(r"[a-z][a-z0-9+.-]{1,40}")
FORBIDDEN = re.compile("about|blob|chrome|data|file|filesystem|ftp|javascript|mailto|vbscript|view-source|wss?")


class BadClient(NovaError):
    """A client can't be registered as it describes itself."""

    status = 400
    code = "validation"
    title = "This client can’t be let in"


class BadRedirect(BadClient):
    """An address that no answer may be sent to."""


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """Who asks people for their memories: a name that it chose, and where answers are sent."""

    id: str
    name: str
    redirect_uris: tuple[str, ...]
    method: str = "none"
    scopes: tuple[str, ...] = SCOPES

    @property
    def digest(self) -> str:
        """SHA-256 of its id, in hexadecimal."""
        return hashlib.sha256(self.id.encode()).hexdigest()

    @property
    def secret(self) -> str | None:
        """What it proves itself by, worked out of its id; None where it said that it keeps none."""
        return None if self.method == "none" else salted_hmac(SALT, self.id, algorithm="sha256").hexdigest()

    def takes(self, redirect_uri: str) -> bool:
        """Return whether answers may go there: to an address that it registered, on this machine at any port."""
        return any(_is_same(redirect_uri, known) for known in self.redirect_uris)


def register(name: str, redirect_uris: list[str], *, method: str, scopes: Iterable[str]) -> OAuthClient:
    """Return a new client: what it asks for of scopes and methods as far as they are known here. Raise BadClient."""
    name, uris = check_described(name, redirect_uris)
    method = "none" if method == "none" else "client_secret_post"
    told = (name, uris, method, known_scopes(scopes) or SCOPES)
    return OAuthClient(signing.dumps(told, salt=SALT, compress=True), *told)


def find_client(client_id: str) -> OAuthClient | None:
    """Return the client of an id that this server gave; None for any other.

    Of one whose id is an address only that is known: what it may ask for and where answers go, its codes say.
    """
    if client_id.startswith("https://"):
        return OAuthClient(client_id, client_id, ())
    try:
        name, uris, method, scopes = signing.loads(client_id, salt=SALT)
    except signing.BadSignature:
        return None
    return OAuthClient(client_id, name, tuple(uris), method, tuple(scopes))


def known_scopes(scopes: Iterable[str]) -> tuple[str, ...]:
    """Return those that there are here; clients ask every server for some that it has not."""
    asked = set(scopes)
    return tuple(scope for scope in SCOPES if scope in asked)


def check_described(name: object, redirect_uris: object) -> tuple[str, tuple[str, ...]]:
    """Return the name and the redirect URIs by which a client describes itself. Raise BadClient, BadRedirect."""
    if not isinstance(redirect_uris, list) or not all(isinstance(uri, str) for uri in redirect_uris):
        raise BadRedirect("redirect_uris is a list of addresses")
    if not 1 <= len(redirect_uris) <= ADDRESSES:
        raise BadRedirect(f"give 1 to {ADDRESSES} redirect_uris")
    for uri in redirect_uris:
        check_address(uri)
    plain = "".join(char for char in str(name) if unicodedata.category(char) not in ("Cc", "Cs") or char.isspace())
    return " ".join(plain.split())[:NAME_LIMIT] or "A client", tuple(redirect_uris)


def check_address(uri: str) -> None:
    """Raise BadRedirect for a redirect URI that is not https, of this machine, or of an application's own scheme."""
    try:
        parts = urlsplit(uri)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise BadRedirect(f"redirect URI {uri[:100]!r} is none: {error}") from error
    if len(uri) > ADDRESS_LIMIT or not uri.isascii() or not uri.isprintable() or " " in uri or parts.fragment:
        raise BadRedirect(
            f"redirect URI {uri[:100]!r} has a fragment, is not plain ASCII or longer than {ADDRESS_LIMIT}"
        )
    if parts.scheme in ("http", "https") and (not host or parts.username is not None):
        raise BadRedirect(f"redirect URI {uri[:100]!r} has no host, or names a user")
    if parts.scheme == "http" and not is_loopback(uri):
        raise BadRedirect(f"redirect URI {uri[:100]!r} is neither https nor of this machine")
    if not SCHEME.fullmatch(parts.scheme) or FORBIDDEN.fullmatch(parts.scheme):
        raise BadRedirect(f"redirect URI {uri[:100]!r} has no scheme of an application")


def canonical(url: str) -> str:
    """Return an address as others may have written it, too: no default port, no slash at the end, small letters."""
    parts = urlsplit(url)
    port = "" if parts.port in (None, PORTS.get(parts.scheme)) else f":{parts.port}"
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
    return parts._replace(netloc=f"{host}{port}", path=parts.path.rstrip("/")).geturl()


def is_other(resource: str, ours: str) -> bool:
    """Return whether what a request names is another resource than ours (RFC 8707)."""
    try:
        return canonical(resource) != ours
    except ValueError:
        return True


def _is_same(uri: str, known: str) -> bool:
    """Return whether two addresses are one; the port of this machine is whichever is free (RFC 8252, 7.3)."""
    try:
        one, other = urlsplit(uri), urlsplit(known)
        ports = [parts.port or PORTS.get(parts.scheme) for parts in (one, other)]
    except ValueError:
        return False
    is_local = one.scheme == "http" and is_loopback(uri)
    return _rest(one) == _rest(other) and (is_local or ports[0] == ports[1]) and "@" not in one.netloc


def _rest(parts: SplitResult) -> tuple[str | None, ...]:
    """Return all but the port; an address without a path is that of the root."""
    path = parts.path or ("/" if parts.scheme in PORTS else "")
    return parts.scheme, parts.hostname, path, parts.query, parts.fragment
