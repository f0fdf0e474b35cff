"""Many conflicts at once: what one source repeats, what is ticked, what one source said."""

import re
import uuid

from memories import access
from memories.models import Fragment
from tests.console.conftest import decide, now_is, post, words


def test_what_one_source_repeats_is_one_item(rita, challenge, agent_of, project, principal):
    owners = [agent_of(project, owner=f"crawler{n}").principal for n in range(3)]
    conflicts = [challenge(by=owner, source_id="scraped-docs") for owner in owners]
    challenge("$10", source_id="a-wiki")
    page = rita.get(f"/review/{conflicts[0].id}/")
    text = words(page)
    assert "3 claims from scraped-docs say lisbon · budget = $0" in text
    assert "2 left" in text
    seen = [f"{c.id}:{c.revision}" for c in conflicts]
    assert all(f'value="{item}"' in page.text for item in seen)
    assert post(rita, "/review/decide/", item=seen, action="reject").status_code == 303
    assert {now_is(principal, c)[:2] for c in conflicts} == {("reject", "archived")}
    assert "3 conflicts." in words(rita.get("/review/"))
    post(rita, "/review/undo/")
    assert {now_is(principal, c)[:2] for c in conflicts} == {("", "quarantined")}


def test_accepting_a_fold_keeps_one_and_undo_brings_all_back(rita, challenge, agent_of, project, principal):
    owners = [agent_of(project, owner=f"crawler{n}").principal for n in range(3)]
    conflicts = [challenge(by=owner, source_id="scraped-docs") for owner in owners]
    seen = [f"{c.id}:{c.revision}" for c in conflicts]
    assert post(rita, "/review/decide/", item=seen, action="accept").status_code == 303
    with access.enter(principal, why="test"):
        assert Fragment.objects.filter(status="active").count() == 1
    undone = post(rita, "/review/undo/")
    assert undone.status_code == 303, words(undone)
    assert {now_is(principal, c) for c in conflicts} == {("", "quarantined", "active")}


def test_all_of_one_source_in_one_go(rita, challenge, principal):
    ours = [challenge("$0", source_id="scraped"), challenge("$5", source_id="scraped")]
    other = challenge("$9", source_id="a-wiki")
    page = rita.get(f"/review/{ours[0].id}/")
    assert "Reject all 2 from scraped" in words(page)
    counted = page.context["opened"].same_source
    assert f'value="{" ".join(counted)}"' in page.text
    later = challenge("$7", source_id="scraped")
    post(rita, "/review/decide/", item=" ".join(counted), action="reject")
    assert {now_is(principal, c)[0] for c in ours} == {"reject"}
    assert {now_is(principal, c)[0] for c in (other, later)} == {""}


def test_where_no_source_is_named_the_owner_is(rita, challenge, agent_of, project):
    mine = {"by": agent_of(project, owner="scraper").principal, "agent_id": "scraped"}
    unnamed = challenge("$0", **mine)
    other = challenge("$7", by=agent_of(project, owner="else").principal, agent_id="scraped")
    challenge("$5", **{**mine, "source_id": "scraped"})
    assert 'data-key="o"' not in rita.get(f"/review/{unnamed.id}/").text
    another = challenge("$9", **mine)
    page = rita.get(f"/review/{unnamed.id}/")
    assert "Reject all 2 from scraper" in words(page)
    named = {one.partition(":")[0] for one in page.context["opened"].same_source}
    assert named == {str(unnamed.id), str(another.id)}
    assert str(other.id) not in named


def test_a_tick_stands_for_the_whole_fold(rita, challenge, agent_of, project, principal):
    owners = [agent_of(project, owner=f"crawler{n}").principal for n in range(3)]
    conflicts = [challenge(by=owner, source_id="scraped-docs") for owner in owners]
    (tick,) = re.findall(r'<input type="checkbox"[^>]* name="item" value="([^"]+)"', rita.get("/review/").text)
    assert set(tick.split()) == {f"{c.id}:{c.revision}" for c in conflicts}
    post(rita, "/review/decide/", item=tick, action="reject")
    assert {now_is(principal, c)[:2] for c in conflicts} == {("reject", "archived")}


def test_more_than_the_room_takes_is_told_and_decides_nothing(rita, challenge, principal):
    conflict = challenge()
    many = [f"{conflict.id}:{conflict.revision}", *(f"{uuid.uuid4()}:1" for _ in range(200))]
    answer = post(rita, "/review/decide/", item=" ".join(many), action="accept")
    assert (answer.status_code, "201 conflicts; 200 are the most." in words(answer)) == (409, True)
    assert now_is(principal, conflict) == ("", "quarantined", "active")


def test_one_failure_stops_no_other(rita, rob, challenge, principal):
    one, two = challenge("$0"), challenge("$5", content="It is five.")
    decide(rob, one, "accept")
    answer = post(rita, "/review/decide/", item=[f"{one.id}:1", f"{two.id}:2"], action="reject")
    assert answer.status_code == 409
    text = words(answer)
    assert re.search(r"Settled before you\. rob accepted this \d+ s ago\. Nothing was overwritten\.", text)
    assert "1 of 2 were refused; the others are done." in text
    assert now_is(principal, one)[:2] == ("supersede", "active")
    assert now_is(principal, two)[:2] == ("reject", "archived")
