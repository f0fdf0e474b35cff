"""/memories/<id>/: one memory, opened."""

import re
import uuid

import pytest
from django.utils import timezone

from memories import access, ingest
from memories.console.presenters import trust_in_parts
from memories.models import Fragment, Link
from memories.retrieval import Question
from memories.retrieval.context import Request, build_context
from tests.console.conftest import decide, words

HTMX = {"HX-Request": "true", "HX-Target": "detail"}
DETAIL_QUERIES = 18


@pytest.fixture
def heron(store):
    """A memory."""
    return store(
        "acme:main",
        "The heron nests behind the old mill.",
        tags=["bird"],
        topics=["nesting"],
        entities=[{"text": "Old Mill", "label": "location", "confidence": 1.0}],
        source_id="msg-7",
        conversation_id="walk",
        sequence=3,
        source="tool_output",
    )


def where(fragment):
    return f"/memories/{fragment.id}/"


def test_works(vera, heron):
    tabs = ("", "trust", "links", "retrievals", "history")
    text = " ".join(words(vera.get(where(heron), {"tab": tab})) for tab in tabs)
    for told in (
        "The heron nests behind the old mill.",
        "said by tool output, authority 4 of 6".capitalize(),
        "Came in as manual msg-7",
        "Conversation walk , turn 3",
        "Tags bird main",
        "Topics nesting",
        "Entities Old Mill location",
        "trust = 0.85",
        "Stored by system (store)",
        "It stands alone",
        "No receipt names it",
    ):
        assert told in text


def test_htmx_gets_the_memory_alone(vera, heron):
    part = vera.get(where(heron), {"q": "mill"}, headers=HTMX)
    assert part.status_code == 200
    assert part.text.strip().partition("</title>")[2].strip().startswith('<section class="detail"')
    assert "data-row" not in part.text
    assert part["HX-Push-Url"] == f"/memories/{heron.id}/?q=mill"


def test_the_list_stays_beside_it(vera, store, heron):
    other = store("acme:main", "An otter was seen under the bridge.")
    page = vera.get(where(heron), {"q": "mill"})
    assert f'href="/memories/{other.id}/?q=mill"' in page.text
    assert len(re.findall(r'id="row-[^>]+aria-current="true"', page.text)) == 1


def test_history_shows_rulings_and_who_changed_it(vera, rita, challenge):
    conflict = challenge("$0")
    assert decide(rita, conflict, "accept", note="signed on Monday").status_code == 303
    text = words(vera.get(f"/memories/{conflict.newcomer_id}/", {"tab": "history"}))
    assert "Chosen by rita" in text
    assert "signed on Monday" in text
    assert "Changed by rita (resolve)" in text
    beliefs = vera.get("/beliefs/?subject=lisbon&predicate=budget")
    assert "Chosen by rita" in words(beliefs)
    assert {"chosen", "ruled-out"} <= set(re.findall(r'class="mark ([\w-]+)"', beliefs.text))


def test_history_shows_changes_and_former_texts(vera, principal, heron):
    changes = {"content": "The heron left.", "importance": 0.9}
    ingest.updates.revise(principal, heron.id, changes=changes, revision=1, now=timezone.now())
    text = words(vera.get(where(heron), {"tab": "history"}))
    assert "revision: 1 → 2" in text
    assert "importance: " in text
    assert "Former texts Revision 1, replaced just now The heron nests behind the old mill." in text


def test_number_of_queries(vera, heron, django_assert_num_queries):
    vera.get(where(heron))
    with django_assert_num_queries(DETAIL_QUERIES):
        vera.get(where(heron), headers=HTMX)


@pytest.mark.parametrize("source", ["user_explicit", "document", "inference"])
@pytest.mark.parametrize(("corroboration", "reinforcements", "disputes"), [(1, 0, 0), (3, 2, 1), (9, 0, 4), (2, 5, 0)])
def test_parts_of_trust_add_up(now, source, corroboration, reinforcements, disputes):
    row = Fragment(
        source=source,
        corroboration=corroboration,
        reinforcements=reinforcements,
        disputes=disputes,
        created_at=now - timezone.timedelta(days=200),
    )
    parts = trust_in_parts(row, now=now)
    total = parts.source + parts.corroboration + parts.feedback - parts.age
    assert parts.value == pytest.approx(row.trust_at(now), abs=1e-4)
    assert max(0, min(1, total)) == pytest.approx(parts.value, abs=2e-4)
    assert parts.is_clamped == (not 0 <= round(total, 4) <= 1)


def test_foreign_and_missing_ids_look_the_same(carl, heron):
    foreign, missing = carl.get(where(heron)), carl.get(f"/memories/{uuid.uuid4()}/")
    assert (foreign.status_code, missing.status_code) == (404, 404)
    texts = [page.text.replace(page["X-Request-Id"], "") for page in (foreign, missing)]
    assert texts[0] == texts[1]
    assert "heron" not in foreign.text


def test_malformed_id(vera, heron):
    assert vera.get("/memories/1/").status_code == 404


def test_a_reader_outside_the_project_names_it_in_vain(carl, heron):
    assert carl.get(where(heron), {"project": "acme"}).status_code == 404


def test_viewers_read_every_status(vera, principal, heron):
    with access.enter(principal, why="test"):
        Fragment.objects.within(principal.project_id).filter(id=heron.id).update(status="quarantined")
    assert "quarantined" in words(vera.get(where(heron)))


def test_each_tab_has_its_address_and_stays_on_the_way(vera, store, heron):
    other = store("acme:main", "An otter was seen under the bridge.")
    page = vera.get(where(heron), {"tab": "history"})
    assert re.search(r'href="/memories/[^"]+\?tab=history"[^>]+aria-current="page"', page.text)
    assert f'href="/memories/{other.id}/?tab=history"' in page.text
    assert f'href="/memories/{heron.id}/?tab=links"' in page.text
    assert vera.get(where(heron), {"tab": "no-such"}).status_code == 404


def test_links_are_shown_by_their_sentence(vera, store, principal, heron):
    other = store("acme:main", "An otter was seen under the bridge.")
    with access.enter(principal, why="test"):
        wish = {"project_id": principal.project_id, "kind": "similar", "similarity": 0.81}
        Link.objects.create(fragment=heron, other=other, **wish)
    text = words(vera.get(where(heron), {"tab": "links"}))
    assert "similar 0.81 An otter was seen under the bridge. active" in text


def test_retrievals_are_the_receipts_that_name_it(vera, principal, alice, heron):
    asked = Request(Question("heron", ["acme:main"]), max_tokens=500)
    found = build_context(alice.principal, asked, now=timezone.now())
    assert heron.id in {row.id for row in found.included}
    text = words(vera.get(where(heron), {"tab": "retrievals"}))
    assert f"just now in acme:main, with 0 others, {found.tokens_used} tokens" in text
    assert "No receipt names it" not in text
