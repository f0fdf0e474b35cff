"""/cases/: every value of a key on one card, decided at once by those who may, and taken back at once."""

import re

import pytest

from conflicts.resolution.cases import CaseFilter, CaseKey, case_of, cases_of, listed, questions
from memories import access
from tests.conftest import stored
from tests.console.conftest import budget, post, words


@pytest.fixture
def waits(challenge, agent_of, project):
    """Two documents say $0, one says $5."""
    scan = agent_of(project, owner="scan").principal
    return [challenge("$0"), challenge("$0", by=scan, content="It is $0 now."), challenge("$5")]


def only_case(principal):
    with access.enter(principal, why="test"):
        (row,) = listed(questions(principal, CaseFilter()))
        return cases_of(principal, [CaseKey.parse(row.key)])[0]


def again(principal, found):
    with access.enter(principal, why="test"):
        return case_of(principal, found.id)


def form_of(found, *values, **more):
    chosen = [value.id for value in found.values if value.value in values]
    return {"revision": found.revision, "action": "choose", **({"choose": chosen} if chosen else {}), **more}


def standing(found):
    return {value.value for value in found.standing}


@pytest.mark.usefixtures("waits")
def test_a_card_says_all_that_is_claimed(rita):
    text = words(rita.get("/cases/"))
    assert "1 case" in text
    assert "lisbon · budget" in text
    assert "$750 held 1 independent voice authority 6 of 6" in text
    assert "$0 waits 2 independent voices authority 2 of 6" in text
    assert "$5 waits 1 independent voice" in text
    assert "By owner bob 2 scan 1" in text


@pytest.mark.usefixtures("waits")
def test_a_challenger_is_chosen_and_the_choice_taken_back(rita, principal):
    found = only_case(principal)
    answer = post(rita, f"/cases/{found.id}/resolve/", **form_of(found, "$0", note="it says so"))
    assert (answer.status_code, answer["Location"]) == (303, "/cases/#cases")
    after = rita.get("/cases/")
    assert "The case is settled." in words(after)
    assert "Undo" in words(after)
    assert "Nothing waits for you" in words(after)
    assert standing(again(principal, found)) == {"$0"}
    page = words(rita.get(f"/cases/{found.id}/"))
    assert "Ruled by rita" in page
    assert "“ it says so ”" in page
    assert "Undo the decision" in page
    post(rita, f"/cases/{found.id}/undo/")
    assert standing(again(principal, found)) == {"$750"}
    assert again(principal, found).waiting == 3


@pytest.mark.usefixtures("waits")
@pytest.mark.parametrize(
    ("values", "more", "stand"),
    [
        (("$750",), {}, {"$750"}),
        (("$750", "$5"), {}, {"$750", "$5"}),
        (("$750", "$5"), {"keep": "predicate"}, {"$750", "$5"}),
        ((), {"action": "type", "content": "The budget is $9.", "value": "$9"}, {"$9"}),
    ],
)
def test_every_way_to_decide(rita, principal, values, more, stand):
    found = only_case(principal)
    assert post(rita, f"/cases/{found.id}/resolve/", **form_of(found, *values, **more)).status_code == 303
    assert standing(again(principal, found)) == stand
    assert again(principal, found).waiting == 0


@pytest.mark.usefixtures("waits")
@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"revision": 1}, "It changed while you looked"),
        ({"choose": ["0123456789abcdef"]}, "This can’t be decided so"),
        ({}, "This can’t be decided so"),
        ({"action": "type", "content": "The budget is $9.", "value": "", "note": "kept"}, "This can’t be decided so"),
    ],
)
def test_a_refusal_is_told_beside_the_case_and_keeps_what_was_typed(rita, principal, more, told):
    found = only_case(principal)
    answer = post(rita, f"/cases/{found.id}/resolve/", **form_of(found, **more))
    assert answer.status_code == 409
    assert told in words(answer)
    assert more.get("content", "") in answer.text
    assert again(principal, found) == found


@pytest.mark.usefixtures("waits")
def test_who_may_not_decides_nothing(vera, carl, principal):
    found = only_case(principal)
    assert "Your role reads here" in words(vera.get("/cases/"))
    assert post(vera, f"/cases/{found.id}/resolve/", **form_of(found, "$0")).status_code == 403
    assert post(vera, "/cases/clear/", pattern="budget", counted=2).status_code == 403
    for path in (f"/cases/{found.id}/", "/cases/nonsense/"):
        assert carl.get(path).status_code == 404
    assert again(principal, found).waiting == 3


def test_what_one_owner_filed_is_cleared_away_and_back(rita, principal, waits):
    found = only_case(principal)
    (link,) = re.findall(r'href="(\?owner=[0-9a-f-]+)">bob', rita.get("/cases/").text)
    page = rita.get(f"/cases/{link}")
    assert "2 challengers match. Note Reject 2" in words(page)
    owner = link.removeprefix("?owner=")
    assert post(rita, "/cases/clear/", owner=owner, counted=1).status_code == 409
    assert post(rita, "/cases/clear/", owner=owner, counted=2, note="a broken tool").status_code == 303
    assert again(principal, found).waiting == 1
    strip = rita.get("/cases/").text
    assert "2 challengers rejected" in strip
    (ids,) = re.findall(r'name="ids" value="([^"]+)"', strip)
    assert post(rita, "/cases/clear/undo/", ids=ids).status_code == 303
    assert again(principal, found).waiting == 3


def test_what_is_chosen_stands_beside_the_red_button_and_can_be_taken_away(rita, waits):
    (link,) = re.findall(r'href="(\?owner=[0-9a-f-]+)">bob', rita.get("/cases/").text)
    page = rita.get(f"/cases/{link}&namespace=acme:main&pattern=budget")
    text = words(page)
    assert "namespace: acme:main owner: bob text: budget Clear filters 2 challengers match." in text
    assert "By predicate" not in text  # all of it is one
    for name, rest in (
        ("owner", "?namespace=acme%3Amain&amp;pattern=budget"),
        ("text", f"?namespace=acme%3Amain&amp;{link[1:]}"),
    ):
        assert f'href="/cases/{rest}' in page.text, name
    assert "Chosen filters" not in rita.get("/cases/").text


@pytest.mark.usefixtures("waits")
def test_a_user_is_named_in_the_groups_as_on_the_card(rita, alice):
    hers = alice.principal.of_user("cécile")
    for value, source in (("$1", "user_explicit"), ("$2", "document")):
        stored(hers, "acme:main", f"The budget is {value}.", source=source, claim=budget(value, "porto"))
    page = rita.get("/cases/")
    assert "By namespace acme:main 3 acme:main user cécile 1" in words(page)
    assert "user cécile" in words(rita.get("/cases/?namespace=acme:main/c%25C3%25A9cile")).partition("Clear filters")[0]


def test_clearing_needs_a_condition(rita, waits):
    assert post(rita, "/cases/clear/", counted=3).status_code == 404
    assert post(rita, "/cases/clear/", owner="nobody", counted=3).status_code == 404


@pytest.mark.usefixtures("waits")
@pytest.mark.parametrize("query", ["sort=best", "page=0", "owner=bob", "pattern=%00"])
def test_what_is_no_address_of_the_list_is_not_found(rita, query):
    assert rita.get(f"/cases/?{query}").status_code == 404


@pytest.fixture
def sites(alice, bob, store):
    """Twelve cases: two pages."""
    for n in range(12):
        store("acme:main", f"{n}", by=alice.principal, source="user_explicit", claim=budget("$1", f"site {n}"))
        store("acme:main", f"no {n}", by=bob.principal, source="document", claim=budget("$2", f"site {n}"))


def fields_of(page, action):
    """What the hidden fields of the first form send that goes there."""
    (form,) = re.findall(f'<form [^>]*action="{action}">(.*?)</form>', page.text, re.DOTALL)[:1]
    return dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form))


@pytest.mark.usefixtures("sites")
def test_a_decision_and_its_undo_keep_filter_and_page(rita):
    page = rita.get("/cases/?predicate=budget&page=2")
    found, following = page.context["cases"]
    there = f"/cases/{found.id}/resolve/"
    sent = fields_of(page, there)
    answer = post(rita, there, **form_of(found, "$1"), **{k: v for k, v in sent.items() if k != "revision"})
    assert answer["Location"] == f"/cases/?predicate=budget&page=2#case-{following.id}"
    after = rita.get("/cases/?predicate=budget&page=2")
    assert f'id="case-{following.id}" tabindex="-1"' in after.text
    undo = f"/cases/{found.id}/undo/"
    back = post(rita, undo, **fields_of(after, undo))
    assert back["Location"] == f"/cases/{found.id}/?predicate=budget&page=2"
    single = rita.get(back["Location"])
    assert 'href="/cases/?predicate=budget&amp;page=2">The cases of these filters</a>' in single.text
    assert fields_of(single, there)["page"] == "2"


@pytest.mark.usefixtures("sites")
def test_a_page_of_cases_that_is_gone_is_the_last(rita):
    assert "page 2 of 2" in words(rita.get("/cases/?page=7"))


@pytest.mark.usefixtures("sites")
def test_pages_follow_each_other(rita):
    first, second = words(rita.get("/cases/")), words(rita.get("/cases/?page=2"))
    assert "page 1 of 2" in first
    assert "page 2 of 2" in second
    assert second.count("Choose what is ticked") == 2


@pytest.mark.usefixtures("waits")
def test_who_comes_second_reads_who_was_first_and_keeps_what_was_typed(rita, adam, principal):
    found = only_case(principal)
    post(adam, f"/cases/{found.id}/resolve/", **form_of(found, "$0"))
    typed = {"action": "type", "content": "The budget is $9.", "value": "$9", "note": "ref 4711"}
    answer = post(rita, f"/cases/{found.id}/resolve/", revision=found.revision, **typed)
    assert answer.status_code == 409
    page = words(answer)
    assert re.search("Settled before you. adam settled this [0-9]+ s ago. Nothing was overwritten.", page)
    assert "should you need it: The budget is $9. Value: $9 Note: ref 4711" in page
    assert standing(again(principal, found)) == {"$0"}


@pytest.mark.usefixtures("waits")
def test_a_refused_choice_comes_back_with_its_ticks_and_note(rita, principal, challenge):
    found = only_case(principal)
    challenge("$6")
    answer = post(rita, f"/cases/{found.id}/resolve/", **form_of(found, "$0", "$5", note="both"))
    assert answer.status_code == 409
    ids = {value.id for value in found.values if value.value in ("$0", "$5")}
    assert set(re.findall('value="([^"]+)" checked', answer.text)) == ids
    assert 'value="both"' in answer.text
