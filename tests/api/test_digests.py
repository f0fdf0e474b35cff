"""POST /api/v1/digests: one memory in place of several."""

import dataclasses
import uuid

import pytest
from django.utils import timezone

from conflicts.public import Admission, ClaimDraft
from memories import access, ingest, jobs
from memories.models import Fragment, Link
from memories.providers import fake_sidecar
from memories.upkeep.consolidation import digest_requests, digests
from tests.governed import Judge

URL = "/api/v1/digests"
TEXTS = ("The heron nests behind the mill.", "The heron fishes below the mill.", "The heron left the mill in May.")


@pytest.fixture
def herons(store, alice):
    """Three inferences that belong together."""
    return [
        store("acme:main", text, by=alice.principal, source="inference", tags=["bird"], source_id=f"m-{n}")
        for n, text in enumerate(TEXTS)
    ]


@pytest.fixture
def picture(principal):
    """What a refusal leaves as it is."""

    def take():
        with access.enter(principal, why="test"):
            return list(Fragment.objects.order_by("id").values_list("id", "status", "updated_at")), Link.objects.count()

    return take


def ask(agent, rows, status=201, headers=None, **more):
    body = {"ids": [str(getattr(row, "id", row)) for row in rows], **more}
    answer = agent.client.post(URL, body, format="json", headers=headers or {})
    assert answer.status_code == status, answer.content
    return answer.json()


def change(principal, row, **values):
    with access.enter(principal, why="test"):
        Fragment.objects.filter(id=row.id).update(**values)


def test_works(alice, herons):
    made = ask(alice, herons, method="extractive")
    assert (made["category"], made["source_type"], made["status"]) == ("digest", "digest", "active")
    assert made["content"] == " ".join(TEXTS)
    assert set(made["provenance"]["parents"]) == {str(row.id) for row in herons}
    assert (made["provenance"]["source"], made["provenance"]["authority"]) == ("inference", 1)
    assert made["provenance"]["owner"] == str(alice.principal.owner_id)
    assert made["source_ids"] == ["m-0", "m-1", "m-2"]
    assert {link["kind"] for link in made["links"]} == {"digest_of"}
    assert made["embedding"]["state"] == "ready"
    for row in herons:
        told = alice.client.get(f"/api/v1/fragments/{row.id}").json()
        assert told["status"] == "archived"
        assert {link["kind"] for link in told["links"]} == {"digested_into"}


def test_authority_is_the_lowest_of_the_originals(alice, store):
    rows = [store("acme:main", text, source="tool_output") for text in TEXTS]
    made = ask(alice, rows)
    assert (made["provenance"]["source"], made["provenance"]["authority"]) == ("tool_output", 4)


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("tool_output", "It has more authority than the weakest of them, and so than their digest."),
        ("user_explicit", "It is what the user said: only a person may digest it."),
    ],
)
def test_a_stronger_one_among_them_is_refused(alice, herons, store, picture, source, why):
    before, strong = picture(), store("acme:main", "Herons never fly.", by=alice.principal, source=source)
    problem = ask(alice, [*herons, strong], status=409)
    assert (problem["code"], problem["errors"]) == (
        "cannot_digest",
        [{"field": "ids[3]", "message": why, "code": "cannot_digest"}],
    )
    assert len(picture()[0]) == len(before[0]) + 1


def test_what_the_user_said_is_digested_by_a_person_only(alice, store, picture):
    rows = [store("acme:main", text, by=alice.principal, source="user_explicit") for text in TEXTS]
    before = picture()
    problem = ask(alice, rows, status=409)
    assert {error["message"] for error in problem["errors"]} == {
        "It is what the user said: only a person may digest it."
    }
    assert picture() == before
    person, now = dataclasses.replace(alice.principal, kind="person"), timezone.now()
    request = digest_requests.prepare_digest(person, [row.id for row in rows], now=now)
    assert digest_requests.store_digest(person, request, now=now).fragment.authority == 6


def test_the_language_model_digests_inferences_only(alice, store, model_server, picture):
    rows, model_server.asked = [store("acme:main", text, source="tool_output") for text in TEXTS], []
    before = picture()
    problem = ask(alice, rows, 409, method="llm")
    assert [error["field"] for error in problem["errors"]] == ["ids[0]", "ids[1]", "ids[2]"]
    assert "weaker than this memory" in problem["errors"][0]["message"]
    assert picture() == before


def test_an_original_returns_by_itself(alice, herons):
    ask(alice, herons)
    answer = alice.client.post(f"/api/v1/fragments/{herons[0].id}/unarchive")
    assert (answer.status_code, answer.json()["status"]) == (200, "active")


def test_the_same_request_twice_is_one_digest(alice, herons, count):
    first, second = (ask(alice, herons, headers={"Idempotency-Key": "once"}) for _ in range(2))
    assert first == second
    assert count(Fragment) == 4


def test_what_changed_meanwhile_is_digested_as_it_is(alice, principal, herons):
    request = digest_requests.prepare_digest(alice.principal, [row.id for row in herons], now=timezone.now())
    change(principal, herons[2], content="The heron came back to the mill in June.")
    digest = digest_requests.store_digest(alice.principal, request, now=timezone.now()).fragment
    assert digest.content.endswith("in June.")


def test_a_consolidation_planned_before_leaves_it(alice, principal, herons):
    with access.enter(principal, why="test"):
        place = Fragment.objects.select_related("namespace").get(id=herons[0].id).namespace
    wish = {"kind": "consolidate", "namespace": place, "now": timezone.now(), "wake_up": False}
    plan = jobs.run(principal, jobs.start(principal, options={"prune_age_days": 0}, dry_run=True, **wish).id)
    ask(alice, herons)
    run = jobs.run(principal, jobs.start(principal, options={"plan_id": plan.report["plan_id"]}, **wish).id)
    assert run.state == "succeeded"


@pytest.mark.parametrize(
    ("pick", "field"),
    [
        (lambda rows: rows[:2], "ids"),
        (lambda rows: [rows[0], *rows], "ids"),
        (lambda rows: [uuid.uuid4() for _ in range(51)], "ids"),
        (lambda rows: [*rows, "no id"], "ids[3]"),
    ],
    ids=["too few", "one twice", "too many", "malformed"],
)
def test_which_memories_is_checked(alice, herons, picture, pick, field):
    before = picture()
    problem = ask(alice, pick(herons), status=400)
    assert (problem["code"], [error["field"] for error in problem["errors"]]) == ("validation", [field])
    assert picture() == before


def test_several_namespaces_are_refused(alice, herons, store, picture):
    other = store("acme:side", "A heron elsewhere.")
    before = picture()
    problem = ask(alice, [*herons, other], status=400)
    assert (problem["code"], problem["errors"][0]["field"]) == ("validation", "ids")
    assert "several namespaces" in problem["errors"][0]["message"]
    assert picture() == before


@pytest.mark.parametrize(("field", "value"), [("method", "llm"), ("method", "magic"), ("unknown", 1)])
def test_bad_input_is_refused(alice, herons, picture, field, value):
    before = picture()
    problem = ask(alice, herons, status=400, **{field: value})
    assert (problem["code"], [error["field"] for error in problem["errors"]]) == ("validation", [field])
    assert picture() == before


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"status": "archived", "archived_reason": "by_hand"}, "It is archived, not active."),
        ({"status": "quarantined"}, "It is quarantined, not active."),
        ({"category": "digest"}, "It is a digest already."),
        ({"is_pinned": True}, "It is pinned."),
        ({"is_anchor": True}, "It is an anchor."),
        ({"compression": "keywords"}, "Its text was shortened (keywords)."),
    ],
)
def test_what_has_to_stay_stays(alice, principal, herons, picture, values, why):
    change(principal, herons[1], **values)
    before = picture()
    problem = ask(alice, herons, status=409)
    assert problem["code"] == "cannot_digest"
    assert problem["errors"] == [{"field": "ids[1]", "message": why, "code": "cannot_digest"}]
    assert picture() == before


def test_what_is_believed_stays(alice, herons, store, picture):
    believed = store("acme:main", "Ada is seven.", claim=ClaimDraft("Ada", "age", "7"))
    before = picture()
    problem = ask(alice, [*herons, believed], status=409)
    assert problem["errors"][0]["field"] == "ids[3]"
    assert picture() == before


def test_above_the_ceiling_is_refused(alice, bob, herons, store, picture):
    above = store("acme:main", "Herons never fly.", by=alice.principal, source="user_explicit")
    before = picture()
    assert ask(bob, [*herons, above], status=403)["code"] == "not_permitted"
    assert picture() == before


def test_foreign_and_missing_look_the_same(charlie, alice, herons, picture):
    before = picture()
    foreign = ask(charlie, herons, status=404)
    missing = ask(alice, [*herons, uuid.uuid4()], status=404)
    assert {**foreign, "request_id": ""} == {**missing, "request_id": ""}
    assert picture() == before


def test_a_reader_may_not(reader, herons, picture):
    before = picture()
    assert ask(reader, herons, status=403)["code"] == "not_permitted"
    assert picture() == before


def test_what_was_forgotten_does_not_come_back_in_a_digest(alice, principal, herons, picture):
    whole = ask(alice, herons)
    for row in herons:
        alice.client.post(f"/api/v1/fragments/{row.id}/unarchive")
    assert alice.client.delete(f"/api/v1/fragments/{whole['id']}").status_code == 204
    before = picture()
    assert ask(alice, herons, status=409)["code"] == "blocked_by_erasure"
    assert picture() == before


def test_without_an_embedder_the_vector_follows(alice, herons, monkeypatch):
    monkeypatch.setattr(digest_requests, "embed", lambda texts, *, model: [None] * len(texts))
    assert ask(alice, herons)["embedding"]["state"] == "pending"
    ingest_done = ingest.embedding_queue.embed_pending(alice.principal, now=timezone.now())
    assert ingest_done[0] == 1


def test_by_the_language_model(alice, herons, model_server):
    made = ask(alice, herons, method="llm")
    assert made["content"] == " ".join(TEXTS)
    assert (made["provenance"]["source"], len(made["extra"]["calls"])) == ("inference", 1)


@pytest.mark.parametrize("mode", ["broken", "delete_all", "empty"])
def test_without_a_digest_of_the_model_nothing_changes(alice, herons, model_server, picture, mode):
    before = picture()
    model_server.mode = mode
    assert ask(alice, herons, 503, method="llm")["code"] == "no_digest"
    assert picture() == before


def test_without_a_model_it_says_so(alice, herons, settings, picture):
    before = picture()
    settings.SIDECAR_URL = ""
    assert ask(alice, herons, 400, method="llm")["errors"][0]["field"] == "method"
    assert picture() == before


def test_nobody_puts_words_into_a_digest_of_what_others_wrote(alice, bob, herons):
    rows = [row.id for row in herons]
    made = ask(bob, rows)
    path, body = f"/api/v1/fragments/{made['id']}", {"content": "The heron never nested here."}
    assert bob.client.patch(path, body, format="json").status_code == 403
    assert bob.client.patch(path, {"tags": ["bird"]}, format="json").status_code == 200


class TestDigestsThatDoNotStand:
    """Originals go for nothing but a digest that stands in their place."""

    TEXTS = (
        "The deploy key for the heron project is stored in the blue vault near the office.",
        "The heron project deploy key is stored in the blue vault near the office.",
        "The heron project keeps its deploy key stored in the blue vault near the office.",
        "The budget meeting took $0 of coffee and $1 of cake for the user.",
    )
    SUMMARY = "The heron project deploy key is stored in the blue vault near the office. The user budget is $0."

    @pytest.fixture
    def contradicting(self, store, alice, model_server, bind_judge, monkeypatch):
        """Originals whose digest by the model says otherwise than the user did; the judge takes no offence."""
        bind_judge(Judge())
        monkeypatch.setattr(fake_sidecar, "answer", lambda work: {"summary": self.SUMMARY})
        claim = ClaimDraft("user", "budget", "$750")
        store("acme:main", "Budget: $750.", by=alice.principal, source="user_explicit", claim=claim)
        return [store("acme:main", text, by=alice.principal, source="inference") for text in self.TEXTS]

    def test_a_models_is_refused(self, alice, contradicting, picture, count):
        before, rows = picture(), count(Fragment)
        problem = ask(alice, contradicting, 503, method="llm")
        assert (problem["code"], problem["detail"]) == ("no_digest", "their digest would be quarantined")
        assert (picture(), count(Fragment)) == (before, rows)

    def test_one_of_their_sentences_is_refused(self, alice, herons, monkeypatch, store, picture):
        monkeypatch.setattr(digest_requests, "extracted", lambda texts, *, model: self.SUMMARY)
        claim = ClaimDraft("user", "budget", "$750")
        store("acme:main", "Budget: $750.", by=alice.principal, source="user_explicit", claim=claim)
        before = picture()
        problem = ask(alice, herons, 409)
        assert (problem["code"], len(problem["errors"])) == ("cannot_digest", len(herons))
        assert {error["message"] for error in problem["errors"]} == {"Their digest would be quarantined."}
        assert picture() == before

    def test_one_that_repeats_what_stands_is_refused(self, alice, herons, monkeypatch, picture):
        def repeated(newcomers, **more):
            return [Admission(herons[0], deduplicated=True)]

        monkeypatch.setattr(digests, "admit", repeated)
        before = picture()
        problem = ask(alice, herons, 409)
        assert {error["message"] for error in problem["errors"]} == {"Their digest would repeat what stands."}
        assert picture() == before
