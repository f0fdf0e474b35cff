"""/review/: both sides of what waits, decided once, by those who may, and taken back."""

import html
import re
import uuid

import pytest
from django.utils import timezone

from conflicts.models import PendingConflict, Reservation
from memories import access
from memories.models import Fragment, Link, Owner
from tests.conftest import stored
from tests.console.conftest import decide, now_is, post, words

HTMX = {"HX-Request": "true", "HX-Target": "queue"}


def test_both_sides_are_shown(rita, challenge, held):
    conflict = challenge(source_id="scraped-docs")
    text = words(rita.get(f"/review/{conflict.id}/"))
    assert "where neither has a period, what stands ends when the challenger came" in text
    assert "A document may not replace what the user said." in text
    assert "source 1.00 + 0.00 corroboration + 0.00 feedback − 0.00 age = 1.00" in text
    assert "“ The budget is $750. ” becomes superseded. Agents read from then on: “ The budget is $0. ”" in text
    assert "1 left · 0 done" in text
    page = rita.get(f"/review/{conflict.id}/").text
    assert "The budget is <mark>$750</mark>." in page
    assert "The budget is <mark>$0</mark>." in page


@pytest.mark.parametrize(
    ("action", "after"),
    [
        ("accept", ("supersede", "active", "superseded")),
        ("reject", ("reject", "archived", "active")),
        ("pair", ("keep_both", "active", "active")),
        ("predicate", ("keep_both", "active", "active")),
    ],
)
def test_a_decision_and_its_undo(rita, challenge, principal, action, after):
    conflict = challenge()
    answer = decide(rita, conflict, action, note="Checked.")
    assert (answer.status_code, answer["Location"]) == (303, "/review/")
    assert now_is(principal, conflict) == after
    page = words(rita.get("/review/"))
    assert "Undo" in page
    assert "0 left · 1 done" in page
    undone = post(rita, "/review/undo/")
    assert undone["Location"] == f"/review/{conflict.id}/"
    assert now_is(principal, conflict) == ("", "quarantined", "active")
    assert "Undo" not in words(rita.get("/review/"))


def test_the_strip_stays_until_it_is_dismissed(rita, challenge, principal):
    conflict = challenge()
    decide(rita, conflict, "reject")
    for _ in range(2):
        assert "Undo" in words(rita.get("/review/"))
    post(rita, "/review/dismiss/")
    assert "Undo" not in words(rita.get("/review/"))
    assert post(rita, f"/review/{conflict.id}/undo/").status_code == 303
    assert now_is(principal, conflict) == ("", "quarantined", "active")


@pytest.mark.parametrize("action", ["accept", "reject", "pair"])
def test_a_note_that_cannot_be_kept_is_refused(rita, challenge, principal, action):
    conflict = challenge()
    answer = decide(rita, conflict, action, note="a\0b")
    assert (answer.status_code, "A note can’t hold the character U+0000." in words(answer)) == (409, True)
    assert now_is(principal, conflict) == ("", "quarantined", "active")


def test_a_source_in_the_form_names_nothing(rita, challenge, principal):
    conflict = challenge()
    assert post(rita, "/review/decide/", source="a\0b", namespace="acme:main", action="reject").status_code == 404
    assert now_is(principal, conflict) == ("", "quarantined", "active")


def test_a_refusal_stands_with_the_conflict_that_it_is_about(rita, rob, challenge):
    challenge("$0")
    settled, changed = challenge("$5"), challenge("$9")
    decide(rob, settled, "accept")
    answer = decide(rita, settled, "reject")
    assert answer.context["opened"].row.id == settled.id
    assert "Settled: accepted by rob" in words(answer)
    assert 'data-key="a"' not in answer.text
    answer = post(rita, "/review/decide/", item=f"{changed.id}:{changed.revision + 9}", action="accept")
    assert answer.context["opened"].row.id == changed.id
    both = post(rita, "/review/decide/", item=[f"{c.id}:77" for c in (changed, settled)], action="reject")
    assert "About lisbon · budget = $9" in words(both)
    assert "About lisbon · budget = $5" in words(both)


def test_the_namespace_stands_in_the_queue_and_on_the_card(rita, challenge):
    text = words(rita.get(f"/review/{challenge().id}/"))
    assert text.count("acme:main") == 3  # the row, and a card each
    assert "Namespace acme:main Said by" in text


def test_what_was_settled_lately_can_each_be_undone(rita, rob, vera, challenge, principal):
    one, three = challenge("$0"), challenge("$9")
    decide(rita, one, "reject", note="Too low.")
    decide(rob, three, "reject")
    page = rita.get("/review/")
    assert 'href="/review/?settled=1"' in page.text
    text = words(rita.get("/review/?settled=1"))
    assert re.search(
        r"lisbon · budget = \$9 Rejected by rob, .* lisbon · budget = \$0 Rejected by rita, .*“Too low.”", text
    )
    assert 'value="1"' not in vera.get("/review/?settled=1").text.partition("Settled lately")[2].split("</section>")[0]
    undone = post(rita, f"/review/{one.id}/undo/", settled="1")
    assert undone["Location"] == "/review/?settled=1"
    assert now_is(principal, one) == ("", "quarantined", "active")
    assert now_is(principal, three)[0] == "reject"
    part = rita.get("/review/?settled=1", headers=HTMX)
    assert part["HX-Push-Url"] == "/review/?settled=1"
    assert "budget = $0" not in words(part).partition("Settled lately")[2]


def test_what_was_settled_is_listed_of_the_namespace_that_is_asked_for(rita, challenge, alice, principal):
    decide(rita, challenge("$0"), "reject")
    queue = rita.get("/review/?namespace=acme:main")
    there = "/review/?settled=1&namespace=acme%3Amain"
    assert html.escape(there) in queue.text
    assert "budget = $0" in words(rita.get(there)).partition("Settled lately")[2]
    alice.client.post("/api/v1/fragments", {"namespace": "acme:side", "content": "Tea."}, format="json")
    elsewhere = rita.get("/review/?settled=1&namespace=acme:side")
    assert "Nothing yet." in words(elsewhere).partition("Settled lately")[2]


def test_keeping_what_stands_is_told_from_a_plain_rejection(rita, challenge):
    kept, rejected = challenge("$0"), challenge("$9")
    decide(rita, kept, "keep")
    decide(rita, rejected, "reject")
    text = words(rita.get("/review/?settled=1"))
    assert re.search(
        r"budget = \$9 Rejected by rita, .* budget = \$0 Rejected, and protected what holds by rita,", text
    )
    assert "Settled: rejected, and protected what holds by rita" in words(rita.get(f"/review/{kept.id}/"))


def test_stale_is_told_and_nothing_overwritten(rita, rob, challenge, principal):
    conflict = challenge()
    decide(rob, conflict, "reject")
    answer = decide(rita, conflict, "accept")
    assert answer.status_code == 409
    assert "rob rejected this" in words(answer)
    assert now_is(principal, conflict) == ("reject", "archived", "active")
    other = challenge("$3")
    old = post(rita, "/review/decide/", item=f"{other.id}:{other.revision + 7}", action="accept")
    assert (old.status_code, "It changed while you looked" in words(old)) == (409, True)
    assert now_is(principal, other) == ("", "quarantined", "active")


def test_edit_then_accept(rita, challenge, held, principal):
    conflict = challenge()
    decide(rita, conflict, "edit", content="The budget is $800.", value="$800")
    with access.enter(principal, why="test"):
        challenger = Fragment.objects.select_related("claim").get(id=conflict.newcomer_id)
        assert (challenger.content, challenger.status) == ("The budget is $0.", "archived")
        row = Fragment.objects.select_related("claim").get(status="active", claim__isnull=False)
        assert (row.content, row.claim.value, row.source, row.authority) == (
            *("The budget is $800.", "$800"),
            *("user_explicit", 6),
        )
        assert Owner.objects.get(id=row.owner_id).name == "user:rita"
        assert Fragment.objects.get(id=held.id).superseded_by_id == row.id
        assert Link.objects.get(fragment=row, kind="related").other_id == challenger.id
    assert "Edited by rita" in words(rita.get("/review/?settled=1"))
    assert "Settled: edited by rita" in words(rita.get(f"/review/{conflict.id}/"))
    again = post(rita, "/review/undo/")
    with access.enter(principal, why="test"):
        row = Fragment.objects.select_related("claim").get(id=conflict.newcomer_id)
        assert (row.content, row.status, row.claim.value) == ("The budget is $0.", "quarantined", "$0")
        assert Fragment.objects.get(id=held.id).status == "active"
        assert str(PendingConflict.objects.get(resolved_at=None).id) in again["Location"]
    assert "$0" in words(rita.get(again["Location"]))


@pytest.mark.parametrize(("content", "value"), [("", "$1"), ("x", " "), ("y" * 2001, "$1")])
def test_a_bad_edit_changes_nothing(rita, challenge, principal, content, value):
    conflict = challenge()
    assert decide(rita, conflict, "edit", content=content, value=value).status_code == 409
    assert now_is(principal, conflict) == ("", "quarantined", "active")
    with access.enter(principal, why="test"):
        assert Fragment.objects.get(id=conflict.newcomer_id).content == "The budget is $0."


def test_opening_reserves_and_names_the_reviewer(rita, rob, challenge, count):
    conflict = challenge()
    rita.get(f"/review/{conflict.id}/")
    assert count(Reservation) == 1
    text = words(rob.get(f"/review/{conflict.id}/"))
    assert "rita looks at this right now." in text
    assert "rita looks at it" in text
    assert "Others look at what is left" in words(rob.get("/review/"))
    assert "looks at" not in words(rita.get("/review/"))


def test_a_reservation_ends_after_ten_minutes(rita, rob, challenge, principal):
    conflict = challenge()
    rita.get(f"/review/{conflict.id}/")
    with access.enter(principal, why="test"):
        Reservation.objects.update(until=timezone.now())
    assert "looks at" not in words(rob.get(f"/review/{conflict.id}/"))


def test_who_goes_on_looks_at_what_was_left_no_longer(rita, rob, challenge, count):
    one, two = challenge("$0"), challenge("$5")
    for conflict in (one, two):
        rita.get(f"/review/{conflict.id}/")
    assert count(Reservation) == 1
    assert "looks at this right now" not in words(rob.get(f"/review/{one.id}/"))
    assert "rita looks at this right now" in words(rob.get(f"/review/{two.id}/"))


def test_viewers_reserve_nothing(vera, challenge, count):
    vera.get(f"/review/{challenge().id}/")
    assert count(Reservation) == 0


def test_skipping_puts_it_last_for_me(rita, rob, challenge):
    one, two = challenge("$0"), challenge("$5")
    decide(rita, one, "skip")
    order = re.findall(r'data-row hx-get="/review/([0-9a-f-]+)/"', rita.get("/review/").text)
    assert order == [str(two.id), str(one.id)]
    assert re.findall(r'data-row hx-get="/review/([0-9a-f-]+)/"', rob.get("/review/").text) == [
        str(one.id),
        str(two.id),
    ]


def test_a_skip_is_what_undo_takes_back(rita, challenge, principal):
    one, two, three = challenge("$0"), challenge("$5"), challenge("$7")
    decide(rita, one, "reject")
    decide(rita, two, "skip")
    assert "Skipped." in words(rita.get("/review/"))
    assert post(rita, "/review/undo/")["Location"] == f"/review/{two.id}/"
    order = re.findall(r'data-row hx-get="/review/([0-9a-f-]+)/"', rita.get("/review/").text)
    assert order == [str(two.id), str(three.id)]
    assert now_is(principal, one)[0] == "reject"


@pytest.mark.parametrize("action", ["reject", "skip"])
def test_the_one_below_is_next(rita, challenge, action):
    _, two, three = challenge("$0"), challenge("$5"), challenge("$7")
    shown = rita.get(f"/review/{two.id}/").text
    (following,) = set(re.findall(r'name="following" value="([^"]*)"', shown))
    assert following == str(three.id)
    answer = decide(rita, two, action, following=following)
    assert answer["Location"] == f"/review/{three.id}/"
    assert ('name="following" value=""' in rita.get(f"/review/{three.id}/").text) == (action == "reject")


def test_who_went_meanwhile_is_not_next(rita, rob, challenge):
    one, two = challenge("$0"), challenge("$5")
    decide(rob, two, "reject")
    for following in (str(two.id), "x", ""):
        other = challenge(f"${len(following)}9")
        assert decide(rita, other, "reject", following=following)["Location"] == "/review/"
    assert decide(rita, one, "reject")["Location"] == "/review/"


def test_a_dispute_has_one_side(rita, held, reader, principal, agent_of, project):
    weak = agent_of(project, owner="weak", ceiling="inference")
    weak.client.post(f"/api/v1/fragments/{held.id}/dispute", {"reason": "No."}, format="json")
    with access.enter(principal, why="test"):
        conflict = PendingConflict.objects.get()
    text = words(rita.get(f"/review/{conflict.id}/"))
    assert "A disputed memory" in text
    assert "Keep both" not in text
    decide(rita, conflict, "accept")
    with access.enter(principal, why="test"):
        assert Fragment.objects.get(id=held.id).status == "disputed"


def test_the_same_view_answers_a_part(rita, challenge):
    conflict = challenge()
    part = rita.get(f"/review/{conflict.id}/", headers=HTMX)
    assert part.text.strip().startswith('<div class="queue')
    assert "<html" not in part.text
    assert part["HX-Push-Url"] == f"/review/{conflict.id}/"


@pytest.mark.parametrize("path", ["decide/", "undo/", "dismiss/", "{id}/undo/"])
def test_who_may_not(vera, carl, rita, challenge, principal, path):
    conflict = challenge()
    there = "/review/" + path.format(id=conflict.id)
    form = {"item": f"{conflict.id}:{conflict.revision}", "action": "accept"}
    rita.get("/review/")
    assert rita.post(there, form).status_code == 403
    vera.get("/memories/")
    refused = vera.post(there, form | {"csrfmiddlewaretoken": "x"})
    assert refused.status_code == 403
    if path.startswith("decide"):
        answer = post(carl, there, **form)
        assert "It is gone" in words(answer)
    assert now_is(principal, conflict) == ("", "quarantined", "active")


def test_foreign_and_missing_conflicts_look_the_same(carl, rita, challenge):
    conflict = challenge()
    answers = [carl.get(f"/review/{conflict.id}/"), rita.get(f"/review/{uuid.uuid4()}/")]
    assert [answer.status_code for answer in answers] == [404, 404]


@pytest.mark.parametrize("item", ["x", "", f"{uuid.UUID(int=1)}:x", f"{uuid.UUID(int=1)}"])
def test_nonsense_is_not_found(rita, challenge, item):
    assert post(rita, "/review/decide/", item=item, action="accept").status_code == 404


def test_as_many_queries_for_many(rita, challenge):
    """Sessions, membership and transaction apart, the same number whatever waits."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    def query_count():
        with CaptureQueriesContext(connection) as seen:
            assert rita.get(f"/review/{first.id}/").status_code == 200
        return len(seen)

    first = challenge("$0")
    rita.get("/review/")
    few = query_count()
    for n in range(5):
        challenge(f"${n + 2}", source_id=f"s{n}")
    assert query_count() == few


def test_the_conversation_stands_beside_the_challenger(rita, challenge, bob):
    said = {"conversation_id": "walk", "source": "document"}
    stored(bob.principal, "acme:main", "So what may the trip cost?", sequence=1, **said)
    conflict = challenge(conversation_id="walk", sequence=2)
    stored(bob.principal, "acme:main", "Thank you, noted.", sequence=3, **said)
    stored(bob.principal, "acme:main", "Much later.", sequence=9, **said)
    text = words(rita.get(f"/review/{conflict.id}/"))
    turns = "turn 1: So what may the trip cost? turn 2: The budget is $0. turn 3: Thank you, noted."
    assert turns in text
    assert "Much later." not in text


def test_decisions_are_copied_as_curl(rita, vera, challenge):
    conflict = challenge()
    page = rita.get(f"/review/{conflict.id}/")
    commands = [html.unescape(c) for c in re.findall(r'id="curl-\d"\s+readonly\s+value="([^"]+)"', page.text)]
    assert [re.search('"action": "(\\w+)"', c).group(1) for c in commands] == ["supersede", "reject", "keep_both"]
    assert all(f"/api/v1/conflicts/{conflict.id}/resolve" in c and '"revision": ' in c for c in commands)
    assert 'id="curl-1"' not in vera.get(f"/review/{conflict.id}/").text


def test_a_conflict_that_opens_a_ruling_again_says_so(rita, challenge):
    first = challenge()
    decide(rita, first, "accept", note="by letter")
    other = challenge("$3")
    for page in (f"/review/{other.id}/", f"/memories/{first.newcomer_id}/"):
        shown = words(rita.get(page))
        assert "Ruled by rita" in shown
        assert "by letter" in shown
        assert "Chosen: $0" in shown
