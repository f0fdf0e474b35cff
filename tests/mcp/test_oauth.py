"""OAuth 2.1: the protocol's own client is sent to a person, who allows it something in the console."""

import base64
import hashlib
import html
import json
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from urllib.parse import parse_qsl, urlsplit

import httpx2
import pytest
from django.contrib.admin import site
from django.contrib.auth import get_user_model
from django.test import Client as Browser
from django.utils import timezone
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

from memories import access, containment
from memories.access import keys, members
from memories.models import ApiKey, Authorization, Fragment, Membership, Owner
from tests.conftest import take_away, web_server
from tests.mcp.conftest import Session

BACK = "http://127.0.0.1:8765/callback"
VERIFIER = "v" * 64
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()


class Kept:
    """What a client keeps of a server."""

    def __init__(self):
        self.tokens = self.client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


class Person:
    """Somebody in a browser, who allows whatever is asked."""

    def __init__(self, web, user):
        self.user, self.decision, self.form = user, "allow", {}
        browser = Browser()
        browser.force_login(user)
        cookies = {name: cookie.value for name, cookie in browser.cookies.items()}
        self.browser = httpx2.Client(base_url=web, cookies=cookies, trust_env=False, follow_redirects=True)

    def answers(self, url):
        """Where the client's address leads the person in the end: what the client is told."""
        page = self.browser.get(url)
        if "Back to the application" not in page.text:
            ticked = re.findall(r'name="verbs" value="(\w+)" checked', page.text)
            form = {"verbs": ticked, "namespaces": field(page, "namespaces"), **self.form}
            page = self.browser.post(page.url, data={**hidden(page), **form, "decision": self.decision})
        (there,) = re.findall(r'<a class="button primary" href="([^"]+)">Back', page.text)
        return html.unescape(there)


def hidden(page):
    """A page's hidden fields."""
    return dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page.text))


def field(page, name):
    """What a field of a page holds."""
    return re.search(rf'name="{name}" value="([^"]*)"', page.text)[1]


def told(there):
    """The parameters of an address."""
    return dict(parse_qsl(urlsplit(there).query))


@pytest.fixture
def rita(web, web_environment, committed, settings):
    """A reviewer of the committed project, logged in."""
    settings.SECRET_KEY = web_environment["SECRET_KEY"]  # by which her session is known
    user = get_user_model()._default_manager.create_user(f"rita-{committed.name}")
    Membership.objects.create(user=user, project=committed, role="reviewer")
    person = Person(web, user)
    yield person
    person.browser.close()
    take_away(user.pk)


@pytest.fixture
def by_consent(web, rita):
    """A client of the protocol that has nothing but the server's address, and sends people there."""
    kept, sent = Kept(), []

    async def redirect(url):
        sent.append(url)

    async def callback():
        answer = told(rita.answers(sent[-1]))
        return AuthorizationCodeResult(code=answer.get("code", ""), state=answer.get("state"), iss=answer["iss"])

    @asynccontextmanager
    async def connect():
        asks = OAuthClientMetadata(client_name="Claude", redirect_uris=[BACK], token_endpoint_auth_method="none")
        oauth = OAuthClientProvider(f"{web}/mcp", asks, kept, redirect, callback)
        async with (
            httpx2.AsyncClient(auth=oauth, trust_env=False, timeout=30) as http,
            Client(streamable_http_client(f"{web}/mcp", http_client=http)) as client,
        ):
            yield client

    session = Session(connect)
    session.kept, session.sent = kept, sent
    return session


class Asking:
    """A client made by hand: it registers, asks, and gets tokens."""

    def __init__(self, web, person):
        self.web, self.person = web, person

    def register(self, **more):
        body = {"client_name": "Claude", "redirect_uris": [BACK], "token_endpoint_auth_method": "none", **more}
        return httpx2.post(f"{self.web}/oauth/register", json=body, trust_env=False)

    def address(self, client_id, /, **more):
        query = {
            "response_type": "code",
            "client_id": client_id,
            "redirect_uri": BACK,
            "code_challenge": CHALLENGE,
            "code_challenge_method": "S256",
            "state": "s",
            "resource": f"{self.web}/mcp",
            **more,
        }
        return str(httpx2.URL(f"{self.web}/oauth/authorize", params=query))

    def code(self, client_id, /, **more):
        return told(self.person.answers(self.address(client_id, **more)))["code"]

    def redeem(self, client_id, code, /, **more):
        form = {"grant_type": "authorization_code", "client_id": client_id, "code": code}
        return self.token(**{**form, "redirect_uri": BACK, "code_verifier": VERIFIER, **more})

    def refresh(self, client_id, token):
        return self.token(grant_type="refresh_token", client_id=client_id, refresh_token=token)

    def token(self, **form):
        return httpx2.post(f"{self.web}/oauth/token", data=form, trust_env=False)

    def works(self, token):
        """Whether a token is a key."""
        answer = httpx2.get(
            f"{self.web}/api/v1/namespaces", headers={"Authorization": f"Bearer {token}"}, trust_env=False
        )
        return {200: True, 401: False}[answer.status_code]


@pytest.fixture
def asking(web, rita):
    return Asking(web, rita)


@pytest.fixture
def client_id(asking):
    """A registered client's id."""
    return asking.register().json()["client_id"]


@pytest.fixture
def tokens(asking, client_id):
    """What it got."""
    return asking.redeem(client_id, asking.code(client_id)).json()


def test_a_client_that_knows_the_address_alone_is_let_in_by_a_person(by_consent, committed, rows, service):
    by_consent.call("retain", content="The heron nests by the mill.")
    assert by_consent.call("recall", query="Where does the heron nest?")["results"]
    assert rows() == {"The heron nests by the mill.": "active"}
    assert len(by_consent.sent) == 1
    with access.enter(service, why="test"):
        (row,) = Authorization.objects.all()
        (memory,) = Fragment.objects.select_related("namespace")
        owner = Owner.objects.get(id=memory.owner_id)
        key = ApiKey.objects.select_related("grant").get(id=row.key_id)
    assert (row.client_name, memory.namespace.name) == ("Claude", f"{committed.name}:assistant")
    assert (memory.grant_id, owner.name) == (key.grant_id, f"client:rita-{committed.name}")
    assert (key.grant.verbs, key.grant.ceiling, key.grant.may_attest_user) == (["read", "write"], "tool_output", False)


def test_who_says_no_gives_nothing(asking, rita, client_id, committed, service):
    rita.decision = "deny"
    answer = told(rita.answers(asking.address(client_id)))
    assert (answer["error"], answer["state"], answer["iss"]) == ("access_denied", "s", asking.web)
    with access.enter(service, why="test"):
        assert not ApiKey.objects.exists()


def test_the_person_gives_less_than_is_asked(asking, rita, client_id, committed, service):
    rita.form = {"verbs": ["read"], "namespaces": f"{committed.name}:notes {committed.name}:diary"}
    given = asking.redeem(client_id, asking.code(client_id)).json()
    assert (given["scope"], given["token_type"], given["expires_in"]) == ("read", "Bearer", 3600)
    with access.enter(service, why="test"):
        (key,) = ApiKey.objects.select_related("grant")
    assert key.grant.namespaces == [f"{committed.name}:notes", f"{committed.name}:diary"]


def test_a_role_gives_no_more_than_it_has(asking, rita, client_id, committed):
    Membership.objects.filter(project=committed).update(role="viewer")
    page = rita.browser.get(asking.address(client_id))
    assert re.findall(r'value="(\w+)" (checked|disabled)', page.text) == [("read", "checked"), ("write", "disabled")]
    form = {"verbs": ["read", "write"], "namespaces": f"{committed.name}:notes", "decision": "allow"}
    page = rita.browser.post(page.url, data={**hidden(page), **form})
    assert (page.status_code, "more than was asked" in page.text) == (400, True)


@pytest.mark.parametrize(
    "form", [{"namespaces": "elsewhere:*"}, {"namespaces": ""}, {"verbs": []}, {"verbs": ["admin"]}]
)
def test_what_can_not_be_given_is_asked_again(asking, rita, client_id, form):
    page = rita.browser.get(asking.address(client_id))
    good = {"verbs": ["read"], "namespaces": field(page, "namespaces"), "decision": "allow"}
    page = rita.browser.post(page.url, data={**hidden(page), **good, **form})
    assert (page.status_code, "Allow</button>" in page.text) == (400, True)


def test_a_code_is_good_once_and_its_tokens_end_with_the_second_use(asking, client_id):
    code = asking.code(client_id)
    first = asking.redeem(client_id, code).json()
    assert asking.works(first["access_token"])
    again = asking.redeem(client_id, code)
    assert (again.status_code, again.json()["error"]) == (400, "invalid_grant")
    assert not asking.works(first["access_token"])
    assert asking.refresh(client_id, first["refresh_token"]).json()["error"] == "invalid_grant"


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"code_verifier": "w" * 64}, "invalid_grant"),
        ({"redirect_uri": "http://127.0.0.1:8766/callback"}, "invalid_request"),
        ({"code": "nothing"}, "invalid_grant"),
        ({"grant_type": "password"}, "unsupported_grant_type"),
    ],
)
def test_a_code_alone_is_nothing(asking, client_id, wrong, error, service):
    answer = asking.redeem(client_id, asking.code(client_id), **wrong)
    assert (answer.status_code, answer.json()["error"]) == (400, error)
    with access.enter(service, why="test"):
        assert not ApiKey.objects.exists()


def test_another_clients_code_is_none(asking, client_id):
    other = asking.register(client_name="Another").json()["client_id"]
    assert asking.redeem(other, asking.code(client_id)).json()["error"] == "invalid_grant"


def test_tokens_are_for_this_resource_and_by_grants_that_are_known(asking, client_id, tokens):
    code, other = asking.code(client_id), {"resource": "https://evil.example/mcp"}
    for answer in (
        asking.redeem(client_id, code, **other),
        asking.token(grant_type="refresh_token", client_id=client_id, refresh_token=tokens["refresh_token"], **other),
    ):
        assert (answer.status_code, answer.json()["error"]) == (400, "invalid_target")
    assert asking.redeem(client_id, code, resource=f"{asking.web}/mcp/").status_code == 200
    assert asking.redeem(client_id, asking.code(client_id, resource=""), resource="").status_code == 200
    answer = asking.token(grant_type="password", client_id=client_id, username="rita", password="x")
    assert (answer.status_code, answer.json()["error"]) == (400, "unsupported_grant_type")


def test_a_token_spends_no_account_of_a_model(web, tokens, committed, agent_of):
    other = {"X-Api-Key": agent_of(committed, owner="client:web").key}
    assert httpx2.post(f"{web}/v1/embeddings", json={}, headers=other, trust_env=False).status_code == 503
    for path in ("chat/completions", "messages", "embeddings", "models"):
        key = {"X-Api-Key": tokens["access_token"]}
        answer = httpx2.post(f"{web}/v1/{path}", json={}, headers=key, trust_env=False)
        assert (answer.status_code, "not_permitted" in answer.text) == (403, True), answer.text


def test_tokens_are_made_anew_and_the_former_end(asking, client_id, tokens, service):
    new = asking.refresh(client_id, tokens["refresh_token"]).json()
    assert new["access_token"] != tokens["access_token"]
    assert asking.works(new["access_token"])
    assert not asking.works(tokens["access_token"])
    with access.enter(service, why="test"):
        assert ApiKey.objects.count() == 1


def test_a_refresh_whose_answer_was_lost_is_answered_the_same(asking, client_id, tokens):
    answers = [asking.refresh(client_id, tokens["refresh_token"]).json() for _ in range(2)]
    assert answers[0]["access_token"] == answers[1]["access_token"]
    third = asking.refresh(client_id, answers[1]["refresh_token"]).json()
    assert asking.works(third["access_token"])


def test_a_refresh_token_of_before_ends_everything(asking, client_id, tokens):
    second = asking.refresh(client_id, tokens["refresh_token"]).json()
    third = asking.refresh(client_id, second["refresh_token"]).json()
    assert asking.refresh(client_id, tokens["refresh_token"]).json()["error"] == "invalid_grant"
    assert not asking.works(third["access_token"])
    assert asking.refresh(client_id, third["refresh_token"]).json()["error"] == "invalid_grant"


def test_another_clients_refresh_token_is_none(asking, client_id, tokens):
    other = asking.register(client_name="Another").json()["client_id"]
    assert asking.refresh(other, tokens["refresh_token"]).json()["error"] == "invalid_grant"
    assert asking.works(tokens["access_token"])


def test_who_is_no_member_any_more_has_no_client(asking, client_id, tokens, committed, service):
    """At once, not when the token ends."""
    (user_id,) = Membership.objects.filter(project=committed).values_list("user_id", flat=True)
    members.set_role(committed, user_id, role="viewer", by=service)
    assert not asking.works(tokens["access_token"])
    assert asking.refresh(client_id, tokens["refresh_token"]).json()["error"] == "invalid_grant"


def test_a_closed_account_has_no_client(asking, client_id, tokens, rita):
    assert members.close(rita.user.username, closed=True)
    assert not asking.works(tokens["access_token"])


def test_a_consent_of_who_may_no_more_gives_nothing(asking, client_id, rita, committed):
    code = asking.code(client_id)
    Membership.objects.filter(project=committed).update(role="viewer")
    assert asking.redeem(client_id, code).json()["error"] == "invalid_grant"


@pytest.mark.parametrize("which", ["access_token", "refresh_token"])
def test_a_client_gives_its_tokens_back(asking, client_id, tokens, which):
    other = asking.register(client_name="Another").json()["client_id"]
    for who, works in ((other, True), (client_id, False)):
        form = {"token": tokens[which], "client_id": who, "token_type_hint": "whatever"}
        assert httpx2.post(f"{asking.web}/oauth/revoke", data=form, trust_env=False).status_code == 200
        assert asking.works(tokens["access_token"]) is works


@pytest.mark.parametrize("method", ["client_secret_post", "client_secret_basic", None])
def test_a_client_that_keeps_a_secret_proves_itself_by_it(asking, method):
    made = asking.register(token_endpoint_auth_method=method).json()
    code = asking.code(made["client_id"])
    assert asking.redeem(made["client_id"], code).json()["error"] == "invalid_client"
    wrong = asking.redeem(made["client_id"], code, client_secret="wrong")
    assert (wrong.status_code, wrong.json()["error"]) == (401, "invalid_client")
    assert made["token_endpoint_auth_method"] == "client_secret_post"
    given = asking.redeem(made["client_id"], code, client_secret=made["client_secret"])
    assert asking.works(given.json()["access_token"])


@pytest.mark.parametrize(
    "uri",
    ["http://example.org/", "javascript:alert(1)", "data:text/html,x", "https://user@example.org/", "https://a.org/#b"],
)
def test_some_addresses_are_no_clients(asking, uri):
    answer = asking.register(redirect_uris=[uri])
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_redirect_uri")


@pytest.mark.parametrize("body", [{"redirect_uris": []}, {"redirect_uris": None}, {"grant_types": []}])
def test_what_registers_wrongly_is_told_so(asking, body):
    assert asking.register(**body).status_code == 400


def test_registering_keeps_nothing(asking, client_id, service):
    assert asking.register(client_name="x" * 10_000).json()["client_name"] == "x" * 100
    with access.enter(service, why="test"):
        assert not Authorization.objects.exists()


@pytest.mark.parametrize(
    ("wish", "error"),
    [
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge": "short"}, "invalid_request"),
        ({"scope": "admin"}, "invalid_scope"),
        ({"resource": "https://elsewhere.example/mcp"}, "invalid_target"),
    ],
)
def test_what_is_asked_wrongly_is_told_to_the_client(asking, rita, client_id, wish, error):
    there = rita.answers(asking.address(client_id, **wish))
    assert (told(there)["error"], told(there)["state"]) == (error, "s")
    # Else any link to this server led wherever whoever registered wants.
    assert "http-equiv" not in rita.browser.get(asking.address(client_id, **wish)).text


@pytest.mark.parametrize(
    "wish",
    [
        {"client_id": "nobody"},
        {"redirect_uri": "https://evil.example/"},
        {"redirect_uri": "http://127.0.0.1@evil.example/"},
    ],
)
def test_what_comes_from_nobody_knows_whom_is_told_to_the_person_alone(asking, rita, client_id, wish):
    page = rita.browser.get(asking.address(client_id, **wish))
    assert (page.status_code, "evil.example" in page.text) == (400, False)


def test_a_program_on_the_persons_machine_listens_where_it_can(asking, client_id):
    there = {"redirect_uri": "http://127.0.0.1:49152/callback"}
    assert asking.redeem(client_id, asking.code(client_id, **there), **there).status_code == 200


def test_nobody_is_asked_without_logging_in(asking, client_id):
    answer = httpx2.get(asking.address(client_id), trust_env=False)
    assert (answer.status_code, urlsplit(answer.headers["Location"]).path) == (302, "/login/")


def test_clients_are_told_where_to_ask(web):
    answer = httpx2.post(f"{web}/mcp", json={}, trust_env=False)
    where = re.search(r'resource_metadata="([^"]+)"', answer.headers["WWW-Authenticate"])[1]
    resource = httpx2.get(where, trust_env=False).json()
    assert (resource["resource"], resource["authorization_servers"]) == (f"{web}/mcp", [web])
    server = httpx2.get(f"{web}/.well-known/oauth-authorization-server", trust_env=False)
    assert server.json()["issuer"] == web
    assert server.json()["code_challenge_methods_supported"] == ["S256"]
    openid = httpx2.get(f"{web}/.well-known/openid-configuration", trust_env=False).json()
    assert openid.items() > server.json().items()
    assert {"jwks_uri", "subject_types_supported", "id_token_signing_alg_values_supported"} <= openid.keys()


@pytest.mark.parametrize("path", ["/oauth/token", "/oauth/register", "/oauth/revoke"])
def test_another_host_and_method_are_refused(web, path):
    assert httpx2.get(f"{web}{path}", trust_env=False).status_code == 405
    assert httpx2.post(f"{web}{path}", headers={"Host": "evil.example"}, trust_env=False).status_code == 421


@pytest.mark.parametrize("body", [b"", b"\xff\xfe", b"grant_type=" + b"x" * 100_000, json.dumps([]).encode()])
def test_nonsense_is_refused(web, body):
    for path in ("token", "register", "revoke"):
        assert httpx2.post(f"{web}/oauth/{path}", content=body, trust_env=False).status_code in (400, 401, 413)


def test_a_clients_key_is_not_rotated_by_hand(asking, tokens, committed):
    key_id = tokens["access_token"].split("_")[1]
    with pytest.raises(keys.BadGrant, match="client's"):
        keys.rotate(committed, key_id, now=timezone.now())


def test_what_clients_ask_every_server_for_is_no_error(asking, rita):
    made = asking.register(scope="openid read read offline_access").json()
    assert made["scope"] == "read"
    code = asking.code(made["client_id"], scope="read offline_access", resource="")
    assert asking.redeem(made["client_id"], code).json()["scope"] == "read"


def test_an_id_is_short_however_often_a_scope_is_named(asking):
    assert len(asking.register(scope="read " * 2000).json()["client_id"]) < 300


def test_a_body_is_looked_at_only_when_it_is_small(web):
    body = json.dumps({"redirect_uris": [""] * 100_000})
    for path in ("token", "register", "revoke"):
        assert httpx2.post(f"{web}/oauth/{path}", content=body, trust_env=False).status_code == 413


@pytest.mark.parametrize("kind", ["multipart/form-data", "multipart/form-data; boundary=x"])
def test_a_broken_form_is_refused(web, kind):
    answer = httpx2.post(f"{web}/oauth/token", content=b"--y", headers={"Content-Type": kind}, trust_env=False)
    assert answer.status_code in (400, 401)


def test_a_name_is_without_what_no_table_holds(asking):
    made = asking.register(client_name="Cl\0au\nde\ud800".encode("utf-8", "replace").decode()).json()
    assert made["client_name"] == "Clau de?"
    assert asking.redeem(made["client_id"], asking.code(made["client_id"])).status_code == 200


def test_the_answer_keeps_what_the_address_and_the_client_said(asking, rita):
    there = "https://a.example/back?promo_code=1&empty=&x=a%20b"
    made = asking.register(redirect_uris=[there]).json()["client_id"]
    rita.decision, state = "deny", "s" * 3000
    answer = rita.answers(asking.address(made, redirect_uri=there, state=state))
    assert answer.startswith(f"{there}&error=access_denied&")
    assert told(answer)["state"] == state


def test_where_the_client_named_no_address_neither_has_to_name_it_later(asking, rita, client_id):
    url = httpx2.URL(asking.address(client_id))
    code = told(rita.answers(str(url.copy_remove_param("redirect_uri"))))["code"]
    form = {"grant_type": "authorization_code", "client_id": client_id, "code": code, "code_verifier": VERIFIER}
    assert asking.token(**form).status_code == 200


@pytest.mark.parametrize("ends", ["revoke", "code", "refresh", "role"])
def test_taking_a_containment_back_revives_nothing_that_ended(asking, rita, client_id, committed, service, ends):
    code = asking.code(client_id)
    first = asking.redeem(client_id, code).json()
    now = asking.refresh(client_id, first["refresh_token"]).json()
    now = asking.refresh(client_id, now["refresh_token"]).json()
    with access.enter(service, why="test"):
        ground = containment.by_key(service, now["access_token"])
    held = containment.contain(service, ground, now=timezone.now())
    if ends == "revoke":
        form = {"token": now["refresh_token"], "client_id": client_id}
        httpx2.post(f"{asking.web}/oauth/revoke", data=form, trust_env=False)
    elif ends == "code":
        asking.redeem(client_id, code)
    elif ends == "refresh":
        asking.refresh(client_id, first["refresh_token"])
    else:
        members.enrol(committed, rita.user, role="viewer")
        members.enrol(committed, rita.user, role="reviewer")
    containment.undo(service, held.id, now=timezone.now())
    assert not asking.works(now["access_token"])
    assert asking.refresh(client_id, now["refresh_token"]).status_code == 400


def test_several_programs_of_one_client_refresh_at_once(asking, client_id, tokens):
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: asking.refresh(client_id, tokens["refresh_token"]).json(), range(8)))
    assert len({answer["access_token"] for answer in answers}) == 1
    assert all(3500 < answer["expires_in"] <= 3600 for answer in answers)


@pytest.mark.long
def test_pages_of_origins_that_are_allowed_may_call(web_environment, committed):
    origin = "https://inspector.example"
    with web_server({**web_environment, "CORS_ALLOWED_ORIGINS": origin}) as url:
        asks = {"Origin": origin, "Access-Control-Request-Method": "POST"}
        asks["Access-Control-Request-Headers"] = "authorization,mcp-protocol-version"
        before = httpx2.options(f"{url}/mcp", headers=asks, trust_env=False)
        assert (before.status_code, before.headers["Access-Control-Allow-Origin"]) == (200, origin)
        answer = httpx2.post(f"{url}/mcp", json={}, headers={"Origin": origin}, trust_env=False)
        assert (answer.status_code, answer.headers["Access-Control-Expose-Headers"]) == (401, "WWW-Authenticate")
        other = httpx2.options(f"{url}/mcp", headers={**asks, "Origin": "https://evil.example"}, trust_env=False)
        assert "Access-Control-Allow-Origin" not in other.headers


def test_one_address_is_told_however_the_proxy_writes_it(web):
    told_of = httpx2.get(
        f"{web}/.well-known/oauth-authorization-server", headers={"Host": "LOCALHOST:80"}, trust_env=False
    )
    assert told_of.json()["issuer"] == "http://localhost"


def test_a_person_locks_out_what_they_let_in(asking, rita, client_id, tokens, committed):
    page = rita.browser.get("/connect/")
    assert "Programs that you let in" in page.text
    (there,) = re.findall(r'action="(/connect/[0-9a-f-]+/withdraw/)"', page.text)
    page = rita.browser.post(there, data=hidden(page))
    assert (page.status_code, "Programs that you let in" in page.text) == (200, False)
    assert not asking.works(tokens["access_token"])


def test_nobody_locks_out_another_persons(asking, rita, tokens, committed, web):
    (there,) = re.findall(r'action="(/connect/[0-9a-f-]+/withdraw/)"', rita.browser.get("/connect/").text)
    user = get_user_model()._default_manager.create_user(f"rob-{committed.name}")
    Membership.objects.create(user=user, project=committed, role="admin")
    rob = Person(web, user)
    page = rob.browser.get("/connect/")
    assert "withdraw" not in page.text
    form = {"csrfmiddlewaretoken": re.search(r'csrfmiddlewaretoken" value="([^"]+)"', page.text)[1]}
    assert rob.browser.post(there, data=form).status_code == 404
    assert asking.works(tokens["access_token"])
    rob.browser.close()
    take_away(user.pk)


@pytest.mark.parametrize("how", ["save_model", "delete_model", "delete_queryset"])
def test_what_the_administration_changes_counts_at_once(asking, tokens, committed, how):
    """Whoever is made a viewer there, or taken out, has no program that writes."""
    row = Membership.objects.select_related("project").get(project=committed)
    admin = site._registry[Membership]
    if how == "save_model":
        row.role = "viewer"
        admin.save_model(None, row, None, True)
    elif how == "delete_model":
        admin.delete_model(None, row)
    else:
        admin.delete_queryset(None, Membership.objects.filter(project=committed))
    assert not asking.works(tokens["access_token"])
