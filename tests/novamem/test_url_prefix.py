"""Below a path of another site: the prefix is taken off once, and beside it there is nothing but probes."""

import json
import re
import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
from django.http import HttpRequest, HttpResponse
from django.urls import path, reverse

from memories.providers import fake_upstream
from novamem.asgi_bridge import Pages
from novamem.database import Logins
from novamem.request_limits import Bounded
from novamem.url_prefix import below
from tests.links import links, links_outside
from tests.novamem.conftest import LOCAL, NAME, PROXIES, Manage, Served, free_port, get, manage_py, until

pytestmark = pytest.mark.examples

Ask = Callable[..., httpx2.Response]
PREFIX = "/novamem"
HOST = f"https://{NAME}"
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


def told(request: HttpRequest, rest: str = "") -> HttpResponse:
    """What Django takes the request for."""
    known = {"path": request.path, "inside": request.path_info, "link": reverse(told), "cookies": request.COOKIES}
    return HttpResponse(json.dumps(known))


def missing(request: HttpRequest, exception: Exception) -> HttpResponse:
    """No page."""
    return HttpResponse(status=404)


handler404 = missing
urlpatterns = [path("", told), path("<path:rest>", told)]


@pytest.fixture(params=[lambda: Pages(threads=1), Bounded], ids=["pages", "streams"])
def ask(request: Any, settings: Any, door: Any) -> Iterator[Callable[[str], Ask]]:
    """Asks either kind of handler below a prefix."""
    settings.ROOT_URLCONF, settings.MIDDLEWARE = __name__, ["django.middleware.common.CommonMiddleware"]

    def behind(prefix: str) -> Ask:
        settings.FORCE_SCRIPT_NAME = prefix
        host, port = door(below(prefix, request.param()))
        return lambda place, **more: httpx2.get(f"http://{host}:{port}{place}", trust_env=False, timeout=60, **more)

    return behind


# Of which two are how paths of this server begin, and one how a segment does.
@pytest.mark.parametrize("prefix", ["/novamem", "/apps/novamem", "/api", "/memories", "/mem"])
def test_the_prefix_is_taken_off_once(ask: Any, prefix: str) -> None:
    asked = ask(prefix)
    for place in ("/", "/memories/", f"{prefix}/", f"{prefix}{prefix}/x", "/api/v1/fragments", "//memories/"):
        found = SimpleNamespace(**asked(f"{prefix}{place}").json())
        assert (found.path, found.inside, found.link) == (f"{prefix}{place}", place, f"{prefix}/")


def test_without_its_slash_the_first_page_is_elsewhere(ask: Any) -> None:
    answer = ask("/novamem")("/novamem")
    assert (answer.status_code, answer.headers["Location"]) == (301, "/novamem/")


@pytest.mark.parametrize("place", ["/", "/memories/", "/novamem2/", "/Novamem/", "/api/v1/fragments", "/metrics", "/x"])
def test_beside_the_prefix_there_is_nothing(ask: Any, place: str) -> None:
    answer = ask("/novamem")(place)
    assert (answer.status_code, answer.headers["Content-Type"]) == (404, "application/problem+json")
    assert (answer.json()["code"], "/novamem/" in answer.json()["detail"]) == ("not_found", True)


@pytest.mark.parametrize("prefix", ["/novamem", "/health", "/readyz"])
def test_probes_come_with_and_without_it(ask: Any, prefix: str) -> None:
    asked = ask(prefix)
    for probe in ("/healthz", "/readyz"):
        assert asked(probe).json()["inside"] == asked(f"{prefix}{probe}").json()["inside"] == probe


def test_the_cookie_of_the_longest_path_wins(ask: Any) -> None:
    """Browsers send it first, and Django takes the last: another application at the root would log everybody out."""
    sent = {"Cookie": "sessionid=ours; csrftoken=ours; sessionid=theirs; other=1"}
    cookies = ask("/novamem")("/novamem/", headers=sent).json()["cookies"]
    assert cookies == {"sessionid": "ours", "csrftoken": "ours", "other": "1"}


@pytest.fixture(scope="module")
def person(current: Logins) -> tuple[str, str]:
    """The first one's password and key."""
    made = manage_py(current, "firstrun").stdout
    password, key = re.search(r"password (\S+)", made), re.search(r"nova_\S+", made)
    assert password, made
    assert key, made
    return password[1], key[0]


@pytest.fixture(params=PROXIES)
def beside(
    request: Any, manage: Manage, current: Logins, person: tuple[str, str], tmp_path: Path
) -> Iterator[SimpleNamespace]:
    """A web server below a path of the site that a proxy serves, with a person and a key."""
    with fake_upstream.serving() as upstream:
        settings = {"BEHIND_TLS": "true", "ALLOWED_HOSTS": NAME, "PROXY_UPSTREAM_URL": upstream.url}
        # Nobody reads its log meanwhile, and a pipe that is full would hold it up.
        settings |= {"URL_PREFIX": PREFIX, "DATABASE_URL": current.app, "LOG_LEVEL": "ERROR"}
        port = free_port()
        process = manage("web", "--port", str(port), "--processes", "1", **settings)
        until(lambda: get(f"http://{LOCAL}:{port}/healthz"), process)
        with request.param(tmp_path, [port], f"{PREFIX}/") as proxy:
            straight = f"http://{LOCAL}:{port}"
            yield SimpleNamespace(url=proxy.secure, straight=straight, password=person[0], key=person[1])


@pytest.mark.long
@pytest.mark.timeout(900)  # one start serves all of it
def test_all_of_it_works_below_a_path_of_a_proxy(beside: SimpleNamespace) -> None:
    common: Any = {"base_url": beside.url, "verify": False, "trust_env": False, "timeout": 60}
    with httpx2.Client(headers={"Host": NAME}, **common) as browser:
        logs_in(browser, beside.password)
        has_static_files(browser)
        leads_nowhere_else(browser)
        browser.headers["X-CSRFToken"] = browser.cookies["csrftoken"]
        out = browser.post(f"{PREFIX}/logout/", headers={"Origin": HOST})
        assert (out.status_code, out.headers["Location"]) == (302, f"{PREFIX}/login/")
        assert browser.get(f"{PREFIX}/").headers["Location"] == f"{PREFIX}/login/?next={PREFIX}/"
    with httpx2.Client(headers={"Host": NAME, "Authorization": f"Bearer {beside.key}"}, **common) as agent:
        answers_agents(agent)
        streams_events(agent)
    places = ["/healthz", "/readyz", f"{PREFIX}/healthz", f"{PREFIX}/metrics", "/login/", "/metrics"]
    asked = [httpx2.get(beside.straight + place, headers={"Host": NAME}, trust_env=False) for place in places]
    assert [answer.status_code for answer in asked] == [200, 200, 200, 200, 404, 404]


def logs_in(browser: httpx2.Client, password: str) -> None:
    """Through the redirects of a first visit, to where the person wanted to go."""
    assert browser.get(PREFIX).headers["Location"].endswith(f"{PREFIX}/")
    led = browser.get(f"{PREFIX}/memories/?q=budget")
    assert (led.status_code, led.headers["Location"]) == (302, f"{PREFIX}/login/?next={PREFIX}/memories/%3Fq%3Dbudget")
    page = browser.get(led.headers["Location"])
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)
    assert token
    form = {"username": "admin", "password": password, "csrfmiddlewaretoken": token[1]}
    entered = browser.post(led.headers["Location"], data=form, headers={"Origin": HOST})
    assert (entered.status_code, entered.headers["Location"]) == (302, f"{PREFIX}/memories/?q=budget")
    assert {cookie.path for cookie in browser.cookies.jar} == {PREFIX}
    assert "budget" in browser.get(entered.headers["Location"]).text


def has_static_files(browser: httpx2.Client) -> None:
    """Styles, scripts and pictures of the first page."""
    files = {link for _, link in links(browser.get(f"{PREFIX}/").text) if "/static/" in link}
    assert len(files) > 5
    assert {browser.get(file).status_code for file in files} == {200}


def leads_nowhere_else(browser: httpx2.Client) -> None:
    """One page of each kind that links lead to, from the first one on."""
    waiting, seen = [f"{PREFIX}/", f"{PREFIX}/admin/"], set()
    while waiting:
        there = waiting.pop()
        kind = re.sub(r"[0-9a-f-]{36}", "ID", there.partition("?")[0])
        if kind in seen:
            continue
        seen.add(kind)
        page = browser.get(there)
        assert page.status_code < 400 or page.status_code == 403, there
        assert links_outside(page.text, page.headers, of=f"{HOST}{there}", prefix=PREFIX) == []
        here = [link for name, link in links(page.text) if name == "href" and "/static/" not in link]
        waiting += [link for link in here if link.startswith(f"{PREFIX}/")]
    assert len(seen) > 30
    assert {f"{PREFIX}/review/", f"{PREFIX}/memories/ID/", f"{PREFIX}/api/docs/", f"{PREFIX}/installation/"} <= seen
    part = browser.get(f"{PREFIX}/memories/?q=budget", headers={"HX-Request": "true", "HX-Target": "explorer"})
    assert "<html" not in part.text
    assert links_outside(part.text, part.headers, of=f"{HOST}{PREFIX}/memories/", prefix=PREFIX) == []


def answers_agents(agent: httpx2.Client) -> None:
    """The API, the OpenAPI document, the agents' protocol, chats and mem0's door."""
    text = {"namespace": "demo:main", "content": "The heron nests in the reeds."}
    assert agent.post(f"{PREFIX}/api/v1/fragments", json=text).status_code == 201
    agent.post(f"{PREFIX}/api/v1/fragments", json={**text, "content": "The otter sleeps."})
    question = {"namespace": "demo:main", "query": "Where does the heron nest?"}
    hits = agent.post(f"{PREFIX}/api/v1/search", json=question).json()["results"]
    assert any("reeds" in json.dumps(hit) for hit in hits)
    following = agent.get(f"{PREFIX}/api/v1/fragments?namespace=demo:main&limit=1").json()["next"]
    assert following.startswith(f"{HOST}{PREFIX}/api/v1/fragments?")
    assert agent.get(following.removeprefix(HOST)).status_code == 200
    assert agent.get(f"{PREFIX}/api/schema?format=json").json()["servers"] == [{"url": PREFIX}]
    accepted = {"Accept": "application/json, text/event-stream"}
    begun = agent.post(f"{PREFIX}/mcp", json=INITIALIZE, headers=accepted)
    assert begun.json()["result"]["serverInfo"]["name"] == "novamem"
    chat = {"model": "fake", "messages": [{"role": "user", "content": "Where does the heron nest?"}]}
    said = agent.post(f"{PREFIX}/v1/chat/completions", json=chat, headers={"X-NovaMem-Namespace": "demo:main"})
    assert said.json()["choices"]
    assert agent.get(f"{PREFIX}/compat/mem0/v1/ping/").status_code == 200
    missing = agent.get(f"{PREFIX}/api/v1/nowhere")
    assert (missing.status_code, missing.json()["code"]) == (404, "not_found")


def streams_events(agent: httpx2.Client) -> None:
    """What is erased meanwhile is told at once."""
    text = {"namespace": "demo:main", "content": f"The grebe dives at {secrets.token_hex(4)}."}
    stored = agent.post(f"{PREFIX}/api/v1/fragments", json=text).json()["id"]
    accepted = {"Accept": "text/event-stream"}
    with ThreadPoolExecutor(1) as threads, agent.stream("GET", f"{PREFIX}/api/v1/events", headers=accepted) as stream:
        assert stream.status_code == 200
        erased = threads.submit(agent.delete, f"{PREFIX}/api/v1/fragments/{stored}")
        assert any(stored in line for line in stream.iter_lines())
    assert erased.result().status_code == 204


@pytest.mark.long
def test_the_server_at_the_terminal_says_where_it_is(serve: Callable[..., Served]) -> None:
    with serve(URL_PREFIX=PREFIX) as served:
        assert served.url.endswith(PREFIX)
        assert served.get("/readyz")["parts"]["database"] == {"state": "ok"}


@pytest.mark.parametrize(("path", "code"), [("/api/v1", "not_found"), ("/api/v2/x", "not_found"), ("/v1", "not_found")])
def test_paths_of_no_door_are_told_as_that_door_tells_errors(client, path, code):
    answer = client.get(path)
    told = answer.json()
    assert (answer.status_code, told.get("error", told)["code"]) == (404, code)
