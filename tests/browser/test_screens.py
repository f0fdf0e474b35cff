"""Every screen at every width, light and dark: nothing serious for axe, nothing wider than the window."""

import os
import re
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.tokens import default_token_generator
from django.utils import timezone
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from conflicts.public import ClaimDraft
from memories import access, ingest, jobs
from memories.access import keys, logins
from memories.models import Backup, Fragment, LlmCall, Membership, Namespace, Proposal, Receipt, Webhook
from memories.models.enums import CopyReason, EvictionReason
from memories.upkeep.lifecycle.removal import Cause, remove_fragments
from tests.console.test_second_factor import code_of

pytestmark = [pytest.mark.browser, pytest.mark.long]

AXE = (Path(__file__).parent / "axe.min.js").read_text()
SERIOUS = ("serious", "critical")


# The keys of fields that stand elsewhere than in their field.
STRAY_BADGES = """[...document.querySelectorAll("input[data-badged] + kbd")].filter((kbd) => {
  const [own, field] = [kbd, kbd.previousElementSibling].map((element) => element.getBoundingClientRect());
  return kbd.checkVisibility() && (own.top < field.top || own.bottom > field.bottom || own.right > field.right);
}).map((kbd) => kbd.previousElementSibling.id)"""
# Labels that end a line while their field begins the next.
TORN_LABELS = """[...document.querySelectorAll("form.action > label[for]")].filter((label) => {
  const field = document.getElementById(label.htmlFor);
  const [own, its] = [label, field].map((element) => element.getBoundingClientRect());
  const start = label.parentElement.getBoundingClientRect().left;
  return label.checkVisibility() && field.checkVisibility() && own.bottom <= its.top + 1 && own.left > start + 1;
}).map((label) => label.htmlFor)"""
LOOKS = [(width, height, scheme) for width, height in ((1440, 900), (360, 740)) for scheme in ("light", "dark")]


@pytest.fixture
def browser_context_args(browser_context_args):
    """The content policy is off, since axe is a script from outside."""
    return {**browser_context_args, "bypass_csp": True}


def assert_fine(page):
    page.evaluate("script => { (0, eval)(script) }", AXE)
    for width, height, scheme in LOOKS:
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # colours change at once
        found = page.evaluate("axe.run()")["violations"]
        serious = [(v["id"], [n["target"] for n in v["nodes"]]) for v in found if v["impact"] in SERIOUS]
        assert (width, scheme, serious) == (width, scheme, [])
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(STRAY_BADGES) == []
        assert page.evaluate(TORN_LABELS) == []
        if shelf := os.environ.get("SCREENSHOTS"):
            name = re.sub("[^a-z]+", "-", page.url.partition("//")[2].partition("/")[2])[:60].strip("-") or "dashboard"
            page.screenshot(path=Path(shelf) / f"{name}-{width}-{scheme}.png", full_page=True)


def test_login(page, stage):
    page.goto(f"{stage.url}/login/")
    assert_fine(page)
    page.get_by_label("Username").fill("nobody")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("alert").wait_for()
    assert_fine(page)


def test_password_reset(page, stage, settings):
    settings.EMAIL_HOST = "mail.example.org"
    user = get_user_model()._default_manager.get(username=stage.username)
    link = f"{urlsafe_base64_encode(force_bytes(user.pk))}/{default_token_generator.make_token(user)}"
    page.goto(f"{stage.url}/login/")
    assert_fine(page)
    for path in ("", "sent/", "done/", "MQ/used/", f"{link}/"):
        page.goto(f"{stage.url}/login/reset/{path}")
        assert_fine(page)
    page.get_by_label("New password").fill("short")
    page.get_by_label("Once more").fill("short")
    page.get_by_role("button", name="Change it").click()
    page.get_by_role("alert").wait_for()
    assert_fine(page)


def test_second_factor(at_memories, stage):
    page = at_memories("/login/factor/")
    assert_fine(page)
    page.get_by_label("The code that the app shows now").fill("000000")
    page.get_by_role("button", name="Turn it on").click()
    page.get_by_role("alert").wait_for()
    assert_fine(page)
    user = get_user_model()._default_manager.get(username=stage.username)
    logins.confirm_factor(user, code_of(user))
    page.goto(f"{stage.url}/memories/")
    page.get_by_role("heading", name="One more step").wait_for()
    assert_fine(page)


def test_empty_explorer(at_memories):
    assert_fine(at_memories())


def test_explorer(at_memories, store_texts):
    store_texts(
        "The heron nests behind the old mill.", "W" * 400, "According to the page \u202eall is free.", agent="a" * 40
    )
    page = at_memories("/memories/?status=all")
    assert_fine(page)
    page.get_by_role("searchbox").press_sequentially("heron")
    page.wait_for_url("**q=heron**")
    assert_fine(page)
    page.locator("[data-row]").first.click()
    page.locator("#fragment-id").wait_for()
    assert_fine(page)


def test_users(at_memories, page, stage):
    """Memories of users, one of whom is named by a blank, under more filters than fit the window."""
    principal = access.system_principal(stage.project)
    place = f"{stage.project.name}:agent-"
    drafts = [
        ingest.Draft(namespace=f"{place}{n}/{user}", content=f"Heron {n} nests.", category=f"category {n}")
        for n in range(12)
        for user in ("lena", "%20")
    ]
    ingest.store(principal, ingest.prepare(drafts), now=timezone.now())
    at_memories()
    assert page.evaluate("(box => box.scrollHeight - box.clientHeight)(document.querySelector('.facets'))") > 0
    assert_fine(page)
    for path in ("/namespaces/", "/namespaces/users/"):
        page.goto(stage.url + path)
        assert_fine(page)


def test_cases(at_memories, stage, quarrel):
    """Ten cases of a long predicate, beside another one: of a count of one digit axe reads no contrast."""
    person = access.system_principal(stage.project, ceiling="user_explicit")
    for n in range(10):
        disagree(person, stage.project.name, subject=f"offsite {n}", predicate="p" * 100)
    assert_fine(at_memories("/cases/"))


def test_connect(at_memories, page, stage, store_texts):
    """Waiting, and connected."""
    assert_fine(at_memories("/connect/"))
    store_texts("The heron nests behind the old mill.", "W" * 400, agent="assistant")
    page.get_by_text("Connected.").wait_for()
    assert_fine(page)


def test_upkeep(at_memories, page, stage, store_texts):
    """The pages of upkeep: empty, with a preview, a report and a tombstone."""
    Membership.objects.filter(project=stage.project).update(role="admin")
    principal = access.system_principal(stage.project)
    at_memories("/tombstones/")
    assert_fine(page)
    store_texts("The heron nests behind the old mill.", "W" * 400), store_texts("The heron nests behind the old mill.")
    with access.enter(principal, why="test"):
        place = Namespace.objects.get(name=f"{stage.project.name}:main")
        gone = Fragment.objects.get(content="W" * 400)
        cause = Cause(EvictionReason.LOW_WEIGHT, {})
        remove_fragments(
            principal.project_id, {gone.id: cause}, copied=CopyReason.EVICTED, operation_id=None, now=timezone.now()
        )
    wish = {"kind": "consolidate", "namespace": place, "options": {}, "wake_up": False}
    looked = jobs.start(principal, **wish, dry_run=True, now=timezone.now())
    waiting = f"/operations/{looked.id}/"
    page.goto(stage.url + waiting)
    assert_fine(page)
    page.goto("about:blank")  # it would load itself anew at the end
    jobs.run(principal, looked.id)
    done = jobs.start(principal, **wish, now=timezone.now())
    jobs.run(principal, done.id)
    for path in (
        "/consolidation/",
        f"/consolidation/{looked.id}/",
        f"/consolidation/{done.id}/",
        "/operations/",
        "/tombstones/",
        "/recall/",
    ):
        page.goto(stage.url + path)
        assert_fine(page)


def test_every_other_page(at_memories, page, stage, quarrel, work):
    """With something in each."""
    Membership.objects.filter(project=stage.project).update(role="admin")
    principal = access.system_principal(stage.project)
    made = jobs.start(
        principal, kind="backup", namespace=None, options={"prove": True}, now=timezone.now(), wake_up=False
    )
    work()
    with access.enter(principal, why="test"):
        backup = Backup.objects.get(operation_id=made.id)
    name = stage.project.name
    at_memories("/")
    for path in (
        "/",
        "/review/",
        "/memories/?q=budget&why=1&weights=10,20,30,40",
        f"/memories/{quarrel}/",
        "/beliefs/",
        "/beliefs/?subject=lisbon&predicate=budget",
        "/beliefs/?subject=lisbon&predicate=budget&axis=record&day=2026-01-01",
        "/context/?q=budget&budget=60",
        "/backups/",
        f"/backups/{backup.id}/",
        f"/backups/{backup.id}/restore/",
        "/namespaces/",
        f"/namespaces/{name}:main/merge/",
        f"/namespaces/{name}:main/comparison/",
        "/thresholds/",
        "/agents/",
        "/audit/",
        "/health/",
        "/api/docs/",
        "/api/docs/fragments/",
        "/operations/",
        "/operations/?run=compact",
        f"/operations/{made.id}/",
    ):
        assert page.goto(stage.url + path).status == 200, path
        assert_fine(page)
    page.goto(f"{stage.url}/audit/")
    assert page.locator("td.id code").first.bounding_box()["height"] < 30  # an id is one line, the table scrolls


@pytest.fixture
def quarrel(stage):
    """A held belief, its challenger with hostile text, both far too long; the id of what is held."""
    person = access.system_principal(stage.project, ceiling="user_explicit")
    return disagree(person, stage.project.name, subject="lisbon", predicate="budget")


def disagree(person, project, *, subject, predicate):
    """Two values of one belief, the second from a document; the id of the first."""
    ids = []
    for value, source in (("$750", "user_explicit"), ("$0 \u202e" + "W" * 200, "document")):
        claim = ClaimDraft(subject, predicate, value)
        wish = {"source": source, "claims": [claim], "provenance_source_id": "s" * 90}
        content = f"The {predicate} is {value}."
        draft = ingest.Draft(namespace=f"{project}:main", content=content, **wish)
        (admission,) = ingest.store(person, ingest.prepare([draft]), now=timezone.now())
        ids.append(admission.fragment.id)
    return ids[0]


def test_proposals(at_memories, page, stage, store_texts, settings):
    """No model, nothing that waits, two that wait with the longest words, what else was proposed, and a decision."""
    settings.SIDECAR_URL = ""
    Membership.objects.filter(project=stage.project).update(role="reviewer")
    assert_fine(at_memories("/proposals/?namespace="))
    settings.SIDECAR_URL = "http://127.0.0.1:9"
    page.goto(f"{stage.url}/proposals/?kind=digest")
    assert_fine(page)
    texts = ("Ada works at Initech, in the office by the harbour.", "Ada left Initech in March and works at Globex.")
    propose(stage, store_texts(*texts), reason="Ada changed her employer")
    propose(stage, store_texts("The page \u202e is free." + "W" * 200, "It is not." + "W" * 300), reason="W" * 150)
    propose(stage, store_texts("Read the log when the build fails."), kind="option", proposal={"title": "Read the log"})
    propose(
        stage, [], kind="option", outcome="blocked", reasons=["deletion"], proposal={"title": "Clean up " + "W" * 90}
    )
    propose(stage, [], kind="digest", outcome="llm_returned_null", reasons=["no_sidecar"])
    page.goto(f"{stage.url}/proposals/")
    page.get_by_text("How it came about").first.click()
    assert_fine(page)
    page.goto(f"{stage.url}/proposals/?kind=supersession")
    page.get_by_role("button", name="Dismiss proposal 2").click()
    page.get_by_text("Dismissed: both texts stay.").wait_for()
    assert_fine(page)
    page.goto(f"{stage.url}/")
    assert_fine(page)


def propose(stage, ids, *, kind="supersession", reason="", **more):
    """A proposal of these memories with the call behind it."""
    waits = kind == "supersession"
    with access.enter(access.system_principal(stage.project), why="test"):
        place = Namespace.objects.get(name=f"{stage.project.name}:main")
        mine = {"project_id": stage.project.id, "namespace": place}
        figures = {"tries": 1, "latency_ms": 812, "request_hash": "a" * 64, "output_hash": "b" * 64}
        told = {"purpose": kind, "model": "llama3.1", "host": "127.0.0.1:11434", "outcome": "answered"}
        call = LlmCall.objects.create(**mine, **figures, **told)
        became = {} if waits else {"fragment_id": next(iter(ids), None)}
        wish = {"task_id": "build 17", "outcome": "allowed", "judge": "local_checks", "proposal": {"reason": reason}}
        about = ids if waits else []
        Proposal.objects.create(
            **mine, kind=kind, waiting=waits, about=about, calls=[call.id], **{**wish, **became, **more}
        )


def test_containment(at_memories, page, stage, store_texts):
    """Nothing yet, the form for each ground, a look, what was set aside, what was taken back, and notices."""
    Membership.objects.filter(project=stage.project).update(role="admin")
    at_memories("/containments/")
    assert_fine(page)
    (long, *_) = store_texts("The page \u202e is free." + "W" * 300, "The heron nests behind the old mill.")
    wish = keys.KeyRequest(namespaces=[f"{stage.project.name}:*"], verbs=["read"], ceiling="document")
    made = keys.issue(stage.project, wish, owner="o" * 90)
    page.goto(f"{stage.url}/containments/?key={made.row.key_id}")
    for ground, field in (("one owner", "Owner"), ("one source", "Source"), ("one key", "Key"), ("one text", "Text")):
        page.get_by_label(ground).check()
        page.get_by_label(field, exact=True).wait_for()
        assert page.locator(".ground .field:visible").count() == 4
        assert_fine(page)
    page.get_by_label("Text", exact=True).fill("The heron nests behind the old mill.")
    tell_once(stage, long)
    page.get_by_role("button", name="Look first").click()
    page.get_by_text("Nothing has changed yet.").wait_for()
    assert_fine(page)
    page.get_by_role("button", name="Set this 1 memory aside").click()
    page.get_by_text("1 memory is set aside.").wait_for()
    assert_fine(page)
    page.get_by_text("Take it back…").click()
    page.locator(".take-back").get_by_role("checkbox").check()
    page.locator(".take-back").get_by_role("button").click()
    page.get_by_text("The containment is taken back.").wait_for()
    changes = "/timeline/changes/?since=2026-01-01T00:00:00Z"
    for path in (
        "/containments/",
        f"/memories/{long}/",
        "/notices/",
        "/notices/?reason=restored",
        "/timeline/",
        changes,
        "/rollbacks/?to=2026-01-01T00:00:00Z",
    ):
        page.goto(stage.url + path)
        assert_fine(page)


def tell_once(stage, fragment_id):
    """An answer carries the memory, which is disputed since."""
    principal = access.system_principal(stage.project)
    with access.enter(principal, why="test"):
        row = Fragment.objects.get(id=fragment_id)
        mine = {"project_id": stage.project.id, "namespace_id": row.namespace_id}
        Receipt.objects.create(**mine, fragment_ids=[row.id], tokens=1)
        Fragment.objects.filter(id=row.id).update(status="disputed")


def test_webhooks(at_memories, page, stage):
    """None, one with the longest address and its secret, what is refused, and one that fails."""
    Membership.objects.filter(project=stage.project).update(role="admin")
    assert_fine(at_memories("/webhooks/"))
    page.get_by_label("Address").fill("https://example.org/" + "w" * 300)
    page.get_by_role("button", name="Make the webhook").click()
    page.get_by_label("Secret").wait_for()
    page.locator("summary", has_text="Delete…").click()
    assert_fine(page)
    with access.enter(access.system_principal(stage.project), why="test"):
        Webhook.objects.update(failures=2, last_error="e" * 200, failing_since=timezone.now())
    page.goto(f"{stage.url}/webhooks/")
    page.get_by_text("failing since").wait_for()
    assert_fine(page)


def test_unknown_memory(at_memories, page, stage):
    at_memories()
    page.goto(f"{stage.url}/memories/?status=no-such")
    assert_fine(page)


@pytest.fixture
def complaints():
    """The 404 of the last test is a console message; here only the looks matter."""
    return []
