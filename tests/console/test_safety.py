"""What every page owes: forms with a token only, and hostile text that stays text, whatever field it stands in."""

import itertools
import re
import uuid
from html.parser import HTMLParser

import pytest
from django.urls import get_resolver
from django.utils import timezone

from conflicts.models import PendingConflict
from conflicts.public import ClaimDraft
from memories import access, ingest
from memories.access import keys
from memories.console import urls
from memories.models import ApiKey, Backup, Fragment, Namespace, Operation, Proposal
from tests.console.conftest import a_person, logged_in

TRICKS = (
    "<script>alert({n})</script>",
    "<img src=x onerror=alert({n})>",
    '"><svg onload=alert({n})>',
    "' autofocus onfocus=alert({n}) x='",
    "</textarea><button>Accept {n}</button>",
    "</title><h1>Settled {n}</h1>",
    "{{{{ {n}|add:1 }}}} {{% csrf_token %}}",
    "javascript:alert({n})//",
    "\u202egnp.{n}exe",
    "\u2066\u2069\u200b{n}\u200f\ufeff",
    "&lt;b&gt;{n}&amp;",
    "<!-- {n} -->",
    "]]><b>{n}</b>",
    "<a href='/review/'>{n}</a>",
    "<style>*{{display:none}}</style>{n}",
    "\u0627\u0644\u0639 {n} \u05d0\u05d1",
    "%3Cscript%3E{n}",
    "<form action=//evil.example>{n}",
    "\U000e0041\U000e0042{n}",
    "<meta http-equiv=refresh content=0>{n}",
)
PAYLOADS = [trick.format(n=n) for n, trick in enumerate(itertools.islice(itertools.cycle(TRICKS), 200))]
assert len(set(PAYLOADS)) == 200
# What begins the line beside fields to edit whose texts hold such characters.
UNSEEN = "Characters that can’t be seen: "


class Tree(HTMLParser):
    """The elements of a page with their classes, in order; without what shows hidden characters and differences."""

    def __init__(self):
        super().__init__()
        self.found, self.open, self.warns = [], 0, False

    def handle_starttag(self, tag, attributes):
        names = dict(attributes)
        if names.get("class") == "invisible-char" or tag == "mark":
            self.open += 1
        elif not (self.warns and tag == "bdi"):
            handlers = sorted(name for name in names if name.startswith("on"))
            self.found.append((tag, names.get("class"), names.get("name"), *handlers))

    def handle_data(self, data):
        if data == UNSEEN and self.found[-1] == ("p", "strip strip-warn", None):
            self.found.pop()
            self.warns = True

    def handle_endtag(self, tag):
        self.warns = self.warns and tag != "p"


def tree(page):
    made = Tree()
    made.feed(page.text)
    return made.found


def a_world(texts, name):
    """A project in which every text stands in every field that takes one; its admin in front of a browser."""
    project = keys.ensure_project(name)
    person = access.system_principal(project, ceiling="user_explicit")
    drafts = [
        ingest.Draft(
            namespace=f"{name}:main",
            content=f"Said {n}: {text}",
            source=source,
            claims=[ClaimDraft(f"{text} {n // 2}"[:100], "budget", f"{text} {n}")],
            tags=[f"{text}"[:100]],
            topics=[f"{text}"[:100]],
            entities=[{"text": text, "label": "misc", "confidence": 1.0}],
            category=text[:100],
            source_id=text,
            provenance_source_id=text,
            conversation_id=text,
            workflow_id=text,
        )
        for n, (text, source) in enumerate(zip(texts, itertools.cycle(("user_explicit", "document")), strict=False))
    ]
    kept = ingest.store(person, ingest.prepare(drafts, embed_now=False), now=timezone.now())
    _proposed(person, [admission.fragment for admission in kept], texts)
    return person, logged_in(a_person(f"adam-{name}", project, role="admin"))


def _proposed(person, rows, texts):
    """What a model says of the first of them, in each field that takes its words: waiting, and come to nothing."""
    with access.enter(person, why="test"):
        for n, (older, newer, text) in enumerate(zip(rows[:40:2], rows[1:40:2], texts[::2], strict=False)):
            Proposal.objects.create(
                project_id=person.project_id,
                namespace_id=older.namespace_id,
                task_id=text,
                kind="supersession" if n % 2 else "option",
                outcome="allowed" if n % 2 else "blocked",
                proposal={"reason": text, "title": text},
                reasons=[text[:100]],
                judge=text[:100],
                about=[older.id, newer.id],
                waiting=bool(n % 2),
            )


def pairs(texts):
    """Each text twice, so that a claim and its challenger speak of the same."""
    return [text for text in texts[:100] for _ in (0, 1)]


@pytest.mark.long
def test_hostile_text_changes_no_page(db):
    """Two hundred memories of a hundred payloads each way: the same elements as for plain words."""
    for half in (PAYLOADS[:100], PAYLOADS[100:]):
        kind = half is not PAYLOADS[:100] and half[0] != PAYLOADS[0]
        hostile, there = a_world(pairs(half), f"hostile{int(kind)}")
        plain, here = a_world(pairs([f"plain{n:03d}" for n in range(100)]), f"plain{int(kind)}")
        for path in ("/review/", "/proposals/", "/beliefs/", "/audit/", "/agents/", "/", "/namespaces/"):
            assert tree(there.get(path)) == tree(here.get(path)), path
        names = (hostile.project, plain.project)
        newest = [
            tree(client.get(f"/connect/?namespace={n}:main")) for client, n in zip((there, here), names, strict=True)
        ]
        assert newest[0] == newest[1]
        # What is packed depends on how long the texts are: the same kinds of elements, however many.
        packed = [set(tree(client.get("/context/?q=said+budget&budget=4000"))) for client in (there, here)]
        assert packed[0] == packed[1]
        for query in ("status=quarantined", "status=active"):
            assert tree(there.get(f"/memories/?{query}")) == tree(here.get(f"/memories/?{query}")), query
        for model, path in ((PendingConflict, "/review/{id}/"), (Fragment, "/memories/{id}/?status=quarantined")):
            _same_details(model, path, (hostile, there), (plain, here))


def _same_details(model, path, one, other):
    order = "newcomer__provenance_source_id" if model is PendingConflict else "provenance_source_id"
    ids = []
    for principal, _ in (one, other):
        with access.enter(principal, why="test"):
            rows = model.objects.within(principal.project_id)
            rows = rows.filter(status="quarantined") if model is Fragment else rows
            ids.append(list(rows.order_by(order).values_list("id", flat=True)[:20]))
    assert len(ids[0]) == len(ids[1]) == 20
    plain = {tuple(tree(other[1].get(path.format(id=i)))) for i in ids[1][:2]}
    for i in ids[0]:
        assert tuple(tree(one[1].get(path.format(id=i)))) in plain, i


@pytest.mark.examples
@pytest.mark.parametrize("text", PAYLOADS[:20])
def test_what_is_asked_stays_text(vera, text):
    for path, name in (("/beliefs/", "subject"), ("/context/", "q"), ("/memories/", "q"), ("/tombstones/", "topic")):
        page = vera.get(path, {name: text, "predicate": "x"})
        assert page.status_code == 200
        plain = vera.get(path, {name: "plain", "predicate": "x"})
        assert tree(page) == tree(plain)


ID = uuid.UUID(int=7)
SAMPLES = {"<uuid:": str(ID), "<str:name>": "acme:main", "<str:kind>": "verify", "<str:how>": "revoke"}


def unsafe_paths():
    for entry in urls.urlpatterns:
        path = re.sub(r"<int:\w+>", "7", re.sub(r"<uuid:\w+>", str(ID), str(entry.pattern)))
        for pattern, sample in SAMPLES.items():
            path = path.replace(pattern, sample)
        yield "/" + re.sub(r"<(?:str|slug):\w+>", "x", path)


@pytest.mark.examples
@pytest.mark.parametrize("path", sorted(set(unsafe_paths())))
def test_every_address_can_be_opened(project, path):
    """Such as after a refused form, whose page stands at the address that takes it."""
    adam = logged_in(a_person("adam", project, role="admin"))
    asked = adam.get(path, {"project": project.name}, follow=True)
    assert asked.status_code in (200, 400, 403, 404), (
        "400: no client asks; 403: the operator's; 404: nothing has the sample's id"
    )
    above = [url for url, _ in asked.redirect_chain]
    assert all(path.startswith(url.partition("?")[0]) for url in above if not url.startswith("/login/"))


def test_a_form_address_leads_to_the_page_above(vera):
    for path, above in {
        f"/review/{ID}/undo/": f"/review/{ID}/",
        "/agents/keys/some-key/revoke/": "/agents/keys/",
        "/agents/keys/": "/agents/",
        "/undo/hide/": "/",
        "/logout/": "/",
    }.items():
        assert vera.get(path).headers["Location"] == above
        assert vera.get(path, {"project": "acme"}).headers["Location"] == f"{above}?project=acme"
        assert vera.head(path).status_code == 302
        assert vera.put(path).status_code in (403, 405)


@pytest.mark.examples
@pytest.mark.parametrize("path", sorted(set(unsafe_paths())))
def test_no_form_without_its_token(project, store, count, path):
    """Refused for lack of a token, or because nothing is ever posted there; and nothing has changed."""
    store("acme:main", "The heron nests behind the mill.")
    adam = logged_in(a_person("adam", project, role="admin"))
    before = [count(model) for model in (Fragment, Operation, Backup, ApiKey, Namespace)]
    answer = adam.post(path, {"action": "accept", "namespace": "acme:main", "source": "acme:main", "target": "twig"})
    assert answer.status_code in (403, 405)
    assert [count(model) for model in (Fragment, Operation, Backup, ApiKey, Namespace)] == before


def test_every_path_of_the_console_is_one_of_these():
    known = {str(entry.pattern) for entry in get_resolver().url_patterns[-1].url_patterns}
    assert known == {str(entry.pattern) for entry in urls.urlpatterns}
