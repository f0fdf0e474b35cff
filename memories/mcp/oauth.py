"""OAuth 2.1 for agents that are clients of the protocol: who may be asked, how to register, tokens (docs/mcp.md).

The protocol's own library reads and checks what is sent (RFC 6749, 7009, 7591, 7636); who asks a person is the console.
"""

import datetime
import math
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import close_old_connections
from django.utils import timezone
from mcp.server.auth.handlers.metadata import ProtectedResourceMetadataHandler
from mcp.server.auth.handlers.register import RegistrationHandler
from mcp.server.auth.handlers.token import TokenHandler
from mcp.server.auth.middleware.client_auth import AuthenticationError, ClientAuthenticator
from mcp.server.auth.provider import (
    AuthorizationCode,
    RefreshToken,
    RegistrationError,
    TokenError,
)
from mcp.server.auth.settings import ClientRegistrationOptions
from mcp.server.transport_security import RequestBodyLimitMiddleware
from mcp.shared.auth import OAuthClientInformationFull, OAuthMetadata, OAuthToken, ProtectedResourceMetadata
from pydantic import AnyUrl
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import request_response

from memories.access import authorizations, oauth_clients
from memories.access.authorizations import NotAuthorized, Tokens
from memories.access.oauth_clients import METHODS, SCOPES, BadClient, BadRedirect, OAuthClient

PREFIX = "/oauth"
AUTHORIZE, TOKEN, REGISTER, REVOKE = (f"{PREFIX}/{name}" for name in ("authorize", "token", "register", "revoke"))
RESOURCE = "/mcp"
ABOUT_RESOURCE, ABOUT_SERVER = "/.well-known/oauth-protected-resource", "/.well-known/oauth-authorization-server"
# Where clients look for it that are told of a server below a path.
ABOUT_SERVER_BELOW = "/.well-known/openid-configuration"
LARGEST = 32_768  # bytes of a request
NOT_KEPT = {"Cache-Control": "no-store"}
GRANTS = ["authorization_code", "refresh_token"]
# What OpenID Connect asks of a document at that address; there are no identity tokens here.
OPENID = {"subject_types_supported": ["public"], "id_token_signing_alg_values_supported": ["RS256"]}

T = TypeVar("T")
Handler = Callable[[Request], Awaitable[Response]]


class Provider:
    """What the library's handlers ask of whoever keeps clients, codes and tokens."""

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        """Return a client by its id."""
        found = oauth_clients.find_client(client_id)
        return _described(found) if found else None

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        """Fill in the id, and the secret of a client that keeps one. Raise RegistrationError."""
        try:
            made = oauth_clients.register(
                client_info.client_name or "",
                [str(uri) for uri in client_info.redirect_uris or []],
                method=client_info.token_endpoint_auth_method or "",
                scopes=(client_info.scope or "").split(),
            )
        except BadClient as error:
            is_redirect = isinstance(error, BadRedirect)
            raise RegistrationError(
                "invalid_redirect_uri" if is_redirect else "invalid_client_metadata", str(error)
            ) from error
        for name, told in _described(made).model_dump(exclude_unset=True).items():
            setattr(client_info, name, told)
        client_info.client_secret_expires_at = None if made.secret is None else 0

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        """Return what a code says; None for one that is none, another client's, or too old."""
        given = authorizations.read_code(authorization_code, _known(client))
        if given is None:
            return None
        return AuthorizationCode(
            code=authorization_code,
            scopes=given.verbs,
            expires_at=math.inf,  # the signature says it
            client_id=client.client_id,
            code_challenge=given.challenge,
            redirect_uri=AnyUrl(given.redirect_uri or given.resource),
            redirect_uri_provided_explicitly=bool(given.redirect_uri),
            resource=given.resource,
        )

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        """Return the tokens of a code. Raise TokenError for one that was used before."""
        known = _known(client)
        given = authorizations.read_code(authorization_code.code, known)
        if given is None:  # it grew too old meanwhile
            raise TokenError("invalid_grant", "The code has expired.")
        return await _told(lambda now: authorizations.redeem(given, known, now=now))

    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> RefreshToken | None:
        """Return what a refresh token says; None for one that is none, another client's, or too old."""
        said = authorizations.read_refresh(refresh_token, _known(client))
        scopes = said["verbs"] if said else []
        return RefreshToken(token=refresh_token, client_id=client.client_id, scopes=scopes) if said else None

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        """Return new tokens, for all that was allowed. Raise TokenError."""
        known = _known(client)
        return await _told(lambda now: authorizations.refresh(refresh_token.token, known, now=now))


def _described(client: OAuthClient) -> OAuthClientInformationFull:
    return OAuthClientInformationFull(
        client_id=client.id,
        client_secret=client.secret,
        client_name=client.name,
        redirect_uris=[AnyUrl(uri) for uri in client.redirect_uris],
        token_endpoint_auth_method=client.method,
        scope=" ".join(client.scopes),
    )


def _known(client: OAuthClientInformationFull) -> OAuthClient:
    """Return the client that was described."""
    uris = tuple(str(uri) for uri in client.redirect_uris or ())
    return OAuthClient(client.client_id, client.client_name or "", uris, client.token_endpoint_auth_method or "")


async def _told(made: Callable[[datetime.datetime], Tokens]) -> OAuthToken:
    try:
        tokens = await _work(made)
    except NotAuthorized as error:
        raise TokenError("invalid_grant", "It was used before, or is not allowed any more.") from error
    return OAuthToken(
        access_token=tokens.access,
        refresh_token=tokens.refresh,
        expires_in=int(tokens.lives.total_seconds()),
        scope=" ".join(tokens.verbs),
    )


async def _work(work: Callable[[datetime.datetime], T]) -> T:
    """Return what a unit of work with the database returns, done in a thread."""

    def done() -> T:
        close_old_connections()
        try:
            return work(timezone.now())
        finally:
            close_old_connections()

    return await sync_to_async(done, thread_sensitive=False)()


def challenge(site: str, *, is_invalid: bool) -> str:
    """Return what a 401 asks for, and where it says how to get it (RFC 9728, 5.1); `is_invalid` when a key came."""
    error = 'error="invalid_token", ' if is_invalid else ""
    return f'Bearer {error}scope="{" ".join(SCOPES)}", resource_metadata="{site}{ABOUT_RESOURCE}{RESOURCE}"'


def _about_resource(site: str) -> ProtectedResourceMetadata:
    told = {"resource": f"{site}{RESOURCE}", "authorization_servers": [site], "scopes_supported": SCOPES}
    return ProtectedResourceMetadata.model_validate({**told, "resource_name": "NovaMem"})


def _about_server(site: str) -> dict[str, Any]:
    told = OAuthMetadata.model_validate(
        {
            "issuer": site,
            "authorization_endpoint": f"{site}{AUTHORIZE}",
            "token_endpoint": f"{site}{TOKEN}",
            "registration_endpoint": f"{site}{REGISTER}",
            "revocation_endpoint": f"{site}{REVOKE}",
            "scopes_supported": SCOPES,
            "response_types_supported": ["code"],
            "grant_types_supported": GRANTS,
            "token_endpoint_auth_methods_supported": METHODS,
            "revocation_endpoint_auth_methods_supported": METHODS,
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
            "client_id_metadata_document_supported": settings.OAUTH_CLIENT_DOCUMENTS,
        }
    )
    return told.model_dump(mode="json", exclude_none=True)


def _answers() -> dict[str, tuple[tuple[str, ...], Any]]:
    """Return what answers each path, and to which methods."""
    provider: Any = Provider()
    authenticator = ClientAuthenticator(provider)
    register = RegistrationHandler(provider, ClientRegistrationOptions(enabled=True, default_scopes=list(SCOPES)))
    get, post = ("GET", "OPTIONS"), ("POST", "OPTIONS")
    handlers: dict[str, tuple[tuple[str, ...], Handler]] = {
        REGISTER: (post, register.handle),
        TOKEN: (post, partial(_give_tokens, TokenHandler(provider, authenticator))),
        REVOKE: (post, partial(_revoke, authenticator)),
        ABOUT_SERVER: (get, _tell_server),
        ABOUT_SERVER_BELOW: (get, _tell_openid),
        ABOUT_RESOURCE: (get, _tell_resource),
        f"{ABOUT_RESOURCE}{RESOURCE}": (get, _tell_resource),
    }
    return {path: (methods, _for_all_origins(answer, methods)) for path, (methods, answer) in handlers.items()}


def _for_all_origins(answer: Handler, methods: tuple[str, ...]) -> Any:
    """Return what answers pages of all origins, too: nothing here goes by cookies. Requests have some kB."""
    limited = RequestBodyLimitMiddleware(request_response(answer), LARGEST)
    return CORSMiddleware(limited, allow_origins=["*"], allow_methods=methods, allow_headers=["*"])


async def _give_tokens(handler: TokenHandler, request: Request) -> Response:
    """As the library does, which looks at no `resource` (RFC 8707), and takes an unknown grant for a wrong request."""
    form = await request.form()
    if form.get("grant_type") not in (None, *GRANTS):
        said = {"error": "unsupported_grant_type", "error_description": f"Grants here: {', '.join(GRANTS)}."}
        return JSONResponse(said, 400, NOT_KEPT)
    ours = f"{site_of(request)}{RESOURCE}"
    if any(oauth_clients.is_other(str(named), ours) for named in form.getlist("resource") if named):
        said = {"error": "invalid_target", "error_description": f"The resource here is {ours}."}
        return JSONResponse(said, 400, NOT_KEPT)
    answer: Response = await handler.handle(request)
    return answer


async def _revoke(authenticator: ClientAuthenticator, request: Request) -> Response:
    """End what a token is of (RFC 7009); whatever else is sent, and an unknown token, is no error."""
    try:
        client = await authenticator.authenticate_request(request)
    except AuthenticationError as error:
        return JSONResponse({"error": "invalid_client", "error_description": error.message}, 401)
    token = (await request.form()).get("token")
    if not isinstance(token, str):
        return JSONResponse({"error": "invalid_request", "error_description": "Send a token."}, 400)
    known = _known(client)
    await _work(lambda now: authorizations.end(token, known, now=now))
    return Response(headers=NOT_KEPT)


async def _tell_server(request: Request) -> Response:
    return JSONResponse(_about_server(site_of(request)))


async def _tell_openid(request: Request) -> Response:
    site = site_of(request)
    return JSONResponse({**_about_server(site), **OPENID, "jwks_uri": f"{site}{ABOUT_SERVER}"})


async def _tell_resource(request: Request) -> Response:
    return await ProtectedResourceMetadataHandler(_about_resource(site_of(request))).handle(request)


def site_of(request: Any) -> str:
    """Return the server's address as the caller knows it, without a slash at the end."""
    return oauth_clients.canonical(str(request.base_url))


ANSWERS = _answers()
