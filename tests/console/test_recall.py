"""/recall/: keeping checks, running them, their file; and agreeing to a loss where an operation shows one."""

import uuid

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from conflicts.public import ClaimDraft
from memories import access, jobs, recall_checks
from memories.models import Fragment, Operation, RecallCheck
from tests.console.conftest import misnamed, post, words

HERON = {
    "namespace": "acme:main",
    "question": "Where does the heron nest?",
    "expects": "text",
    "expected": "old mill",
    "top_k": "5",
    "name": "heron",
    "note": "",
}
FILE = "version: 1\nchecks:\n- namespace: acme:main\n  question: Where does the heron nest?\n  text: old mill\n"


@pytest.fixture
def heron(store):
    """A memory that answers."""
    return store("acme:main", "The heron nests behind the old mill.")


def ended(principal):
    """Runs what is queued."""
    with access.enter(principal, why="test"):
        waiting = list(Operation.objects.filter(state="queued").values_list("id", flat=True))
    return [jobs.run(principal, which) for which in waiting]


def test_keep_run_and_delete(adam, heron, principal, count):
    assert "No check yet." in words(adam.get("/recall/"))
    assert post(adam, "/recall/keep/", **HERON)["Location"] == "/recall/"
    assert misnamed(adam.get("/recall/")) == []
    told = words(adam.get("/recall/")).replace("Delete for good ", "")
    assert "never run Where does the heron nest? expects the words old mill" in told
    post(adam, "/recall/run/")
    post(adam, "/recall/run/")
    assert "queued waiting for a worker" in words(adam.get("/recall/"))
    polled = adam.get("/recall/", headers={"HX-Request": "true"})
    assert "waiting for a worker" in words(polled)
    assert "<h1>" not in polled.text
    (done,) = ended(principal)
    page = adam.get("/recall/")
    assert "1 of 1 pass" in words(page)
    assert "found at place 1 of 5" in words(page)
    assert f"/operations/{done.id}/" in page.text
    assert 'class="passed"' in page.text
    assert adam.get("/recall/", headers={"HX-Request": "true"})["HX-Refresh"] == "true"
    with access.enter(principal, why="test"):
        which = RecallCheck.objects.get().id
    deleted = post(adam, f"/recall/{which}/delete/")
    assert "is deleted. That can’t be undone." in words(adam.get(deleted["Location"]))
    assert count(RecallCheck) == 0


def test_what_fails_stands_first(adam, heron, principal):
    post(adam, "/recall/keep/", **HERON)
    post(adam, "/recall/keep/", **{**HERON, "question": "Who swims at dawn?", "expected": "otter", "name": "z"})
    post(adam, "/recall/run/")
    ended(principal)
    text = words(adam.get("/recall/"))
    assert "1 of 2 pass, 1 fails" in text
    assert text.index("Who swims at dawn?") < text.index("Where does the heron nest?")
    assert "not among the first 5" in text


def test_who_reviews_runs_and_changes_nothing(rita, vera, adam, heron, count, principal):
    for person, status in ((rita, 403), (vera, 403)):
        for path in ("/recall/keep/", "/recall/file/", f"/recall/{uuid.uuid4()}/delete/"):
            assert post(person, path, **HERON).status_code == status
    assert count(RecallCheck) == 0
    post(adam, "/recall/keep/", **HERON)
    assert "Add a check" not in words(rita.get("/recall/"))
    assert post(vera, "/recall/run/").status_code == 403
    assert post(rita, "/recall/run/").status_code == 303
    (done,) = ended(principal)
    assert done.report["passed"] == 1


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"question": " "}, "Give a question"),
        ({"expected": ""}, "Give a question"),
        ({"expects": "luck"}, "Say what is expected"),
        ({"expects": "memory"}, "by its id"),
        ({"top_k": "0"}, "first 1 to 100"),
        ({"top_k": "x"}, "first 1 to 100"),
        ({"name": "x" * 201}, "longer than 200"),
    ],
)
def test_a_bad_check_comes_back_with_what_was_typed(adam, heron, change, says, count):
    answer = post(adam, "/recall/keep/", **{**HERON, "note": "as typed", **change})
    assert answer.status_code == 409
    assert says in words(answer)
    assert "as typed" in answer.text
    assert count(RecallCheck) == 0


def test_a_file_goes_in_and_comes_out(adam, rita, heron, count):
    def send(text):
        file = SimpleUploadedFile("recall.yaml", text if isinstance(text, bytes) else text.encode())
        return post(adam, "/recall/file/", file=file)

    assert "Line 5" in words(send(FILE.replace("text:", "words:")))
    assert "no UTF-8" in words(send(b"\xff\xfe"))
    assert "Choose a YAML file" in words(post(adam, "/recall/file/"))
    assert count(RecallCheck) == 0
    assert send(FILE).status_code == 303
    out = rita.get("/recall/export/")
    assert out["Content-Disposition"] == 'attachment; filename="recall-acme.yaml"'
    assert [draft.expected for draft in recall_checks.read_file(out.text)] == ["old mill"]


@pytest.fixture
def losing(adam, store, principal):
    """Of two that say the same a check expects the one that yields."""
    weaker = store("acme:main", "The heron nests behind the old mill.")
    store("acme:main", "The heron nests behind the old mill.", source="tool_output")
    post(adam, "/recall/keep/", **{**HERON, "expects": "memory", "expected": str(weaker.id)})
    post(adam, "/recall/run/")
    ended(principal)
    return weaker


def status_of(principal, row):
    with access.enter(principal, why="test"):
        return Fragment.objects.get(id=row.id).status


def test_a_consolidation_shows_the_loss_and_asks(adam, losing, principal):
    preview = post(adam, "/consolidation/", namespace="acme:main")["Location"]
    ended(principal)
    text = words(adam.get(preview))
    assert "1 recall check would be lost." in text
    assert "Although recall checks would fail afterwards" in text
    run = post(adam, f"{preview}apply/")["Location"]
    ended(principal)
    text = words(adam.get(run))
    assert "Nothing was changed. Recall checks that pass would fail afterwards" in text
    assert "Confirm and run this plan" in text
    assert status_of(principal, losing) == "active"
    done = post(adam, f"{run}apply/", accept_recall_loss="yes")["Location"]
    ended(principal)
    assert "1 recall check was lost." in words(adam.get(done))
    assert status_of(principal, losing) == "superseded"


def test_a_merge_shows_the_loss_and_asks(adam, store, alice, principal):
    said = {"by": alice.principal, "source": "tool_output"}
    aged = store("acme:main", "Ada is six.", claim=ClaimDraft("Ada", "age", "6"), **said)
    post(adam, "/namespaces/fork/", source="acme:main", target="twig")
    ended(principal)
    store("acme:twig", "Ada is seven.", claim=ClaimDraft("Ada", "age", "7"), **said)
    post(adam, "/recall/keep/", **{**HERON, "question": "How old is Ada?", "expects": "value", "expected": "6"})
    there = post(adam, "/namespaces/acme:twig/merge/", step="look", target="acme:main")["Location"]
    (looked,) = ended(principal)
    assert "1 recall check would be lost." in words(adam.get(there))
    form = {"step": "merge", "target": "acme:main", "preview": str(looked.id)}
    failed = post(adam, "/namespaces/acme:twig/merge/", **form)["Location"]
    ended(principal)
    assert "Nothing was changed. Recall checks" in words(adam.get(failed))
    assert status_of(principal, aged) == "active"
    post(adam, "/namespaces/acme:twig/merge/", **form, accept_recall_loss="yes")
    (done,) = ended(principal)
    assert (done.state, status_of(principal, aged)) == ("succeeded", "superseded")


def test_a_restore_asks_where_checks_are_kept(adam, heron, principal, storage):
    made = jobs.start(principal, kind="backup", namespace=None, options={}, now=timezone.now(), wake_up=False)
    backup = jobs.run(principal, made.id).report["backup_id"]
    with access.enter(principal, why="test"):
        earlier = heron.updated_at - timezone.timedelta(days=1)
        Fragment.objects.filter(id=heron.id).update(content="The heron nests on the island.", updated_at=earlier)
    post(adam, f"/backups/{backup}/restore/", step="plan")
    (plan,) = ended(principal)
    question = "Although recall checks would fail afterwards"
    assert question not in words(adam.get(f"/backups/{backup}/restore/"))
    post(adam, "/recall/keep/", **{**HERON, "expected": "on the island"})
    assert question in words(adam.get(f"/backups/{backup}/restore/"))
    form = {"step": "apply", "plan": str(plan.id), "confirm": "acme"}
    failed = post(adam, f"/backups/{backup}/restore/", **form)["Location"]
    ended(principal)
    assert "It ended early. Recall checks" in words(adam.get(failed))
    post(adam, f"/backups/{backup}/restore/", **form, accept_recall_loss="yes")
    (done,) = ended(principal)
    assert done.state == "succeeded"
