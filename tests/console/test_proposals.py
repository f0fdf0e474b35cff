"""/proposals/: both texts of what waits, decided by those who may, once, and taken back; and what else was proposed."""

import re
import uuid

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memories import access, erasure, ingest
from memories.models import Fragment, LlmCall, Proposal
from tests.conftest import stored
from tests.console.conftest import post, words

HTMX = {"HX-Request": "true", "HX-Target": "proposals"}


@pytest.fixture
def gates(alice, contradict):
    """So many proposals that a gate is no longer open."""

    def make(number=1, *, namespace="acme:main", source="tool_output"):
        made = []
        for n in range(number):
            texts = (f"The gate {n} is open.", f"The gate {n} is not open.")
            made.append(contradict(*(stored(alice.principal, namespace, text, source=source) for text in texts)))
        return made

    return make


@pytest.fixture
def called(principal):
    """Gives a proposal a call that it was made by."""

    def add(row):
        with access.enter(principal, why="test"):
            call = LlmCall.objects.create(
                project_id=principal.project_id,
                purpose="supersession",
                model="llama3.1",
                host="model.example",
                request_hash="a" * 64,
                output_hash="b" * 64,
                outcome="answered",
                tries=1,
                latency_ms=12,
            )
            Proposal.objects.within(principal.project_id).filter(id=row.id).update(calls=[call.id])

    return add


@pytest.fixture
def lately(principal, gates):
    """An entry of the history that waits for nobody."""

    def add(**more):
        (row,) = gates()
        wish = {"kind": "option", "task_id": "t1", "waiting": False, "about": [], **more}
        with access.enter(principal, why="test"):
            Proposal.objects.within(principal.project_id).filter(id=row.id).update(**wish)
        return row

    return add


def state(principal, row):
    """The decision, whether it waits, and the status of both memories."""
    with access.enter(principal, why="test"):
        now = Proposal.objects.within(principal.project_id).get(id=row.id)
        sides = Fragment.objects.within(principal.project_id).in_bulk(row.about)
    return now.decision, now.waiting, [sides[i].status for i in row.about]


WAITS = ("", True, ["active", "active"])


def decide(client, row, action, seen="1:1", **more):
    return post(client, "/proposals/decide/", item=f"{row.id}:{seen}", action=action, **more)


def test_both_texts_are_shown_with_what_helps_to_judge(rita, gates, called):
    (row,) = gates()
    called(row)
    page = rita.get("/proposals/")
    text = words(page)
    assert "1 left" in text
    assert (
        "“ one denies the other ” says llama3.1 at model.example, just now , in acme:main; let pass by local checks"
        in text
    )
    assert text.count("tool output, authority 4 of 6") == 2
    assert "The gate 0 is <mark>not</mark> open." in page.text
    assert f'value="{row.id}:1:1"' in page.text
    assert "alice" in text
    assert "aaaaaaaaaaaa" in text


@pytest.mark.parametrize(
    ("action", "said", "after"),
    [
        ("accept", "Accepted: the newer text replaces the older one.", ("accepted", False, ["superseded", "active"])),
        ("dismiss", "Dismissed: both texts stay.", ("dismissed", False, ["active", "active"])),
    ],
)
def test_a_decision_and_its_undo(rita, principal, gates, action, said, after):
    (row,) = gates()
    answer = decide(rita, row, action)
    assert (answer.status_code, answer["Location"]) == (303, "/proposals/")
    assert state(principal, row) == after
    page = words(rita.get("/proposals/"))
    assert said in page
    assert "0 left" in page
    assert f"{after[0]} supersession acme:main" in page
    assert "by rita" in page
    answer = post(rita, "/proposals/undo/")
    assert (answer.status_code, answer["Location"]) == (303, f"/proposals/#proposal-{row.id}")
    assert state(principal, row) == WAITS
    assert said not in words(rita.get("/proposals/"))


def test_the_strip_stays_until_it_is_hidden_and_the_list_undoes_too(rita, principal, gates):
    (row,) = gates()
    decide(rita, row, "accept")
    for _ in range(2):
        assert "Undo" in words(rita.get("/proposals/"))
    post(rita, "/proposals/hide/")
    assert "Accepted: the newer" not in words(rita.get("/proposals/"))
    assert post(rita, "/proposals/undo/").status_code == 303  # there is nothing left to take back
    assert state(principal, row)[0] == "accepted"
    assert post(rita, f"/proposals/{row.id}/undo/").status_code == 303
    assert state(principal, row) == WAITS


def test_who_comes_second_is_told_who_was_first(rita, rob, principal, gates):
    (row,) = gates()
    decide(rob, row, "dismiss")
    answer = decide(rita, row, "accept")
    assert answer.status_code == 409
    assert re.search(r"Settled before you\. rob dismissed this \d+ s ago\. Nothing was overwritten\.", words(answer))
    assert state(principal, row)[0] == "dismissed"


def test_what_changed_while_somebody_looked_is_not_decided(rita, alice, principal, gates):
    (row,) = gates()
    ingest.updates.revise(
        alice.principal, row.about[1], changes={"content": "The gate squeaks."}, revision=None, now=timezone.now()
    )
    for action in ("accept", "dismiss"):
        answer = decide(rita, row, action)
        assert answer.status_code == 409
        assert "It changed while you looked." in words(answer)
    assert state(principal, row) == WAITS
    rewritten = "one of the memories was rewritten since this was proposed, and nobody judged its new words."
    page = rita.get("/proposals/")
    assert f"It can’t be accepted: {rewritten}" in words(page)
    assert 'value="accept"' not in page.text
    answer = decide(rita, row, "accept", seen="1:2")
    assert (answer.status_code, f"One{rewritten[3:]}" in words(answer)) == (409, True)
    assert decide(rita, row, "dismiss", seen="1:2").status_code == 303


def test_what_can_not_be_accepted_says_why_and_can_be_dismissed(rita, alice, principal, gates):
    (row,) = gates()
    ingest.updates.archive(alice.principal, row.about[0], now=timezone.now())
    page = rita.get("/proposals/")
    assert "It can’t be accepted: one of the memories does not stand any more." in words(page)
    assert 'value="accept"' not in page.text
    answer = decide(rita, row, "accept")
    assert (answer.status_code, "This can’t be decided so." in words(answer)) == (409, True)
    assert decide(rita, row, "dismiss").status_code == 303
    post(rita, "/proposals/undo/")
    assert state(principal, row) == ("", True, ["archived", "active"])


def test_what_stands_in_the_way_of_an_undo_is_told(rita, alice, principal, gates):
    (row,) = gates()
    decide(rita, row, "accept")
    ingest.updates.archive(alice.principal, row.about[1], now=timezone.now())
    answer = post(rita, "/proposals/undo/")
    assert answer.status_code == 409
    assert "This can’t be undone. The newer memory does not stand any more." in words(answer)
    assert state(principal, row)[0] == "accepted"


def test_what_went_with_its_memory_is_gone(rita, alice, gates):
    (row,) = gates()
    erasure.forget(alice.principal, row.about[1], now=timezone.now())
    answer = decide(rita, row, "accept")
    assert (answer.status_code, "It is gone." in words(answer)) == (409, True)
    assert decide(rita, Proposal(id=uuid.uuid4()), "accept").status_code == 409


def test_viewers_see_and_do_not_decide(vera, principal, gates):
    (row,) = gates()
    page = vera.get("/proposals/")
    assert "Your role reads here. A reviewer decides." in words(page)
    assert "csrfmiddlewaretoken" not in page.text.partition('<main id="main"')[2]
    for answer in (
        decide(vera, row, "accept"),
        post(vera, "/proposals/undo/"),
        post(vera, f"/proposals/{row.id}/undo/"),
    ):
        assert answer.status_code == 403
    assert state(principal, row) == WAITS


def test_other_projects_see_nothing(carl, principal, gates):
    (row,) = gates()
    assert "The gate" not in carl.get("/proposals/").text
    assert carl.get("/proposals/?namespace=acme:main").status_code == 404
    assert decide(carl, row, "accept").status_code == 409  # as one that never was
    assert state(principal, row) == WAITS


@pytest.mark.parametrize(
    "form",
    [{"item": "x"}, {"item": f"{uuid.uuid4()}"}, {"item": f"{uuid.uuid4()}:1:x"}, {"action": "keep"}, {"kind": "x"}],
)
def test_forms_of_another_shape_are_no_page(rita, principal, gates, form):
    (row,) = gates()
    wish = {"item": f"{row.id}:1:1", "action": "accept", **form}
    if "kind" not in form:
        assert post(rita, "/proposals/decide/", **wish).status_code == 404
        assert state(principal, row) == WAITS
    assert rita.get("/proposals/?kind=x").status_code == 404
    assert rita.get("/proposals/?namespace=%00").status_code == 404


def test_filters_narrow_down_and_last_through_a_decision(rita, principal, gates):
    (main,), (side,) = gates(), gates(namespace="acme:side")
    page = rita.get("/proposals/?namespace=acme:side&kind=supersession")
    assert str(side.id) in page.text
    assert str(main.id) not in page.text
    answer = decide(rita, side, "dismiss", namespace="acme:side", kind="supersession")
    assert answer["Location"] == "/proposals/?namespace=acme%3Aside&kind=supersession"
    assert "Nothing waits with these filters" in words(rita.get(answer["Location"]))
    assert state(principal, main) == WAITS
    assert str(main.id) not in rita.get("/proposals/?kind=option").text


def test_the_oldest_ten_are_shown_and_the_rest_is_counted(rita, gates):
    rows = gates(12)
    page = rita.get("/proposals/")
    assert "12 left" in words(page)
    assert "and 2 more, as these are settled" in words(page)
    shown = re.findall(r'id="proposal-([0-9a-f-]+)"', page.text)
    assert shown == [str(row.id) for row in rows[:10]]


def test_what_else_was_proposed_is_listed(rita, store, lately):
    made = store("acme:main", "When the build fails: read the log.")
    lately(proposal={"title": "Read the log"}, fragment=made)
    lately(outcome="blocked", reasons=["deletion"], proposal={"title": "Clean up"})
    lately(outcome="llm_returned_null", reasons=["no_sidecar"], proposal=None)
    page = rita.get("/proposals/")
    text = words(page)
    assert "allowed option task t1 , acme:main, judged by local checks just now “ Read the log ” became:" in text
    assert f'/memories/{made.id}/"><bdi>When the build fails: read the log.' in page.text
    assert "“ Clean up ” why: deletion" in text
    assert "llm returned null option" in text
    assert "why: no sidecar" in text


def test_the_empty_page_says_what_it_is_and_how_to_get_there(rita, settings, model_server):
    assert "Nothing waits for you" in words(rita.get("/proposals/"))
    settings.SIDECAR_URL = ""
    text = words(rita.get("/proposals/"))
    assert "No language model is set up" in text
    assert "docs/models.md" in text


def test_htmx_gets_the_part(rita, gates):
    (row,) = gates()
    part = rita.get("/proposals/", headers=HTMX)
    assert part.text.lstrip().startswith('<div class="page wide proposals" id="proposals">')
    assert "HX-Request" in part["Vary"]
    refused = decide(rita, row, "accept", seen="1:7", headers=HTMX)
    assert (refused.status_code, "<html" in refused.text) == (409, False)


def test_many_cost_no_more_queries_than_one(rita, gates, lately, called):
    def query_count():
        with CaptureQueriesContext(connection) as seen:
            assert rita.get("/proposals/").status_code == 200
        return len(seen)

    called(gates()[0]), lately()
    rita.get("/proposals/")
    few = query_count()
    for row in gates(4):
        called(row)
    lately(), decide(rita, gates()[0], "accept")
    post(rita, "/proposals/hide/")
    assert query_count() == few


def test_hostile_words_of_a_model_stay_text(rita, alice, contradict, lately):
    trick = "</p><script>alert(1)</script>\u202e"
    texts = (stored(alice.principal, "acme:main", f"{n} {trick}", source="tool_output") for n in "ab")
    contradict(*texts, reason=trick)
    lately(proposal={"title": trick}, task_id=trick, reasons=[trick], judge=trick)
    lately(proposal={"title": ["a"], "summary": {}})
    page = rita.get("/proposals/")
    assert page.status_code == 200
    for hostile in ("<script>", "\u202e"):
        assert hostile not in page.text.partition("<main")[2]
    assert page.text.count("⟨U+202E⟩") >= 6


def test_the_dashboard_counts_what_waits(rita, gates, settings):
    settings.SIDECAR_URL = ""
    assert "Proposals waiting" not in words(rita.get("/"))
    gates(2)
    page = rita.get("/")
    assert "2 Proposals waiting" in words(page)
    assert 'href="/proposals/"' in page.text.partition("<main")[2]
