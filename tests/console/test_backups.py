"""/backups/: made and proven in one go, restored step by step, and nothing by mistake."""

import datetime
import gzip
import io
import re
import uuid

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from conflicts.public import ClaimDraft
from memories import access, backups, jobs
from memories.access import keys
from memories.backups.restoration import pipeline as restoration
from memories.models import Backup, Fragment, Namespace, Operation, PendingEmbedding
from memories.providers import active_model
from memories.rest.users import address_of
from tests.backups.test_broken import signed
from tests.backups.test_no_room import small_disk
from tests.console.conftest import a_person, logged_in, post, words

HTMX = {"HX-Request": "true", "HX-Target": "live"}


@pytest.fixture
def work(principal):
    """Runs what is queued, and what that queues."""

    def do():
        while queued := _queued(principal):
            for operation_id in queued:
                jobs.run(principal, operation_id)

    return do


def _queued(principal):
    with access.enter(principal, why="test"):
        return list(Operation.objects.filter(state="queued").values_list("id", flat=True))


@pytest.fixture
def backup(adam, store, principal, work):
    """One of a memory that is gone since."""
    row = store("acme:main", "The heron nests behind the mill.")
    assert post(adam, "/backups/", policy="full").status_code == 303
    work()
    with access.enter(principal, why="test"):
        Fragment.objects.filter(id=row.id).delete()
        return Backup.objects.get()


@pytest.fixture
def proven(adam, work):
    """One that was made and proven."""
    assert post(adam, "/backups/", policy="full", prove="yes").status_code == 303
    work()


@pytest.mark.usefixtures("backup")
def test_one_that_is_broken_is_told_on_the_dashboard_and_in_the_table(adam, principal):
    with access.enter(principal, why="test"):
        Backup.objects.update(verdict="broken_bundle")
    assert "1 can’t be restored" in words(adam.get("/"))
    listed = words(adam.get("/backups/"))
    assert "failed broken bundle" in listed
    assert "broken_bundle" not in listed
    assert "can’t be restored" in listed
    assert "Restore…" not in listed


def test_made_and_proven_by_one_form(adam, proven):
    page = words(adam.get("/backups/"))
    assert "verify it and run a test restore" in page
    assert "Last verified restore: just now ✓" in page
    assert page.count("sound") == 2


def test_a_proof_of_long_ago_is_none(adam, proven, principal):
    with access.enter(principal, why="test"):
        Backup.objects.update(drilled_at=timezone.now() - datetime.timedelta(days=8))
    page = adam.get("/backups/")
    assert "Last verified restore: 8 d ago . That is more than a week: run a test restore again." in words(page)
    assert "strip-good" not in page.text
    assert "unproven" in words(adam.get("/"))


def test_the_list_tells_what_each_holds(adam, backup, store, work):
    assert "full asked everything: 1" in words(adam.get("/backups/"))
    post(adam, "/backups/", policy="identity")
    work()
    assert re.search("identity asked [a-z ]+: [0-9]+, [a-z ]+: [0-9]+", words(adam.get("/backups/")))


def test_a_plan_tells_each_namespace(adam, backup, store, work):
    store("acme:other", "The boat lies in the reeds.")
    post(adam, "/backups/", policy="full")
    work()
    (newest,) = re.findall(r'href="(/backups/[0-9a-f-]+/restore/)"', adam.get("/backups/").text)[:1]
    post(adam, newest, step="plan")
    work()
    page = words(adam.get(newest))
    assert "Namespace back replaced standing left conflict forgotten refused" in page
    assert "acme:other 0 0 1 0 0 0 0" in page


def test_users_of_an_agent_are_counted_not_named(adam, backup, store, work):
    for user in ("nora", "omar", "pia"):
        store(f"acme:main/{user}", "The boat lies in the reeds.")
    store("acme:other", "The boat lies in the reeds.")
    post(adam, "/backups/", policy="full")
    work()
    (newest,) = re.findall(r'href="(/backups/[0-9a-f-]+/)restore/"', adam.get("/backups/").text)[:1]
    page = words(adam.get(newest))
    assert "acme:main with 3 users , acme:other" in page
    post(adam, f"{newest}restore/", step="plan")
    work()
    plan = words(adam.get(f"{newest}restore/"))
    assert "acme:main with 3 users 0 0 3 0 0 0 0 acme:other 0 0 1 0 0 0 0" in plan
    assert "nora" not in page + plan


def test_an_unknown_version_is_read_once_it_was_refused(adam, backup, work):
    with backups.storage.open_file(backup.file) as file:
        head, *body, _ = gzip.decompress(file.read()).splitlines()
    newer = signed([re.sub(rb'"schemaVersion":\d+', b'"schemaVersion":999', head), *body])
    there = post(adam, "/backups/upload/", upload=SimpleUploadedFile("b.ndjson.gz", newer))["Location"]
    assert "allow_version" not in adam.get(there).text
    post(adam, there, step="plan")
    work()
    page = adam.get(there)
    assert "The plan failed: unknown version" in words(page)
    assert "Read it although its version is unknown" in words(page)
    post(adam, there, step="plan", allow_version="yes")
    work()
    assert "1 to come back" in words(adam.get(there))


def test_a_restore_is_planned_confirmed_and_done(adam, backup, principal, work, count):
    there = f"/backups/{backup.id}/restore/"
    assert "Confirm" not in words(adam.get(there))
    assert post(adam, there, step="plan")["Location"].startswith(f"{there}?plan=")
    assert 'hx-trigger="every 1s"' in adam.get(there).text
    work()
    page = adam.get(there)
    assert "1 to come back; nothing else changes." in words(page)
    assert count(Fragment) == 0
    (plan,) = re.findall(r'name="plan" value="([^"]+)"', page.text)
    for bad in ({"confirm": "acm", "plan": plan}, {"confirm": "acme"}, {"plan": plan}):
        assert post(adam, there, step="apply", **bad).status_code == 409
    for foreign in (str(uuid.uuid4()), "x"):
        assert post(adam, there, step="apply", confirm="acme", plan=foreign).status_code == 404
    assert count(Fragment) == 0
    done = post(adam, there, step="apply", confirm="acme", plan=plan)
    work()
    assert "Came back 1" in words(adam.get(done["Location"]))
    assert count(Fragment) == 1


def test_a_restore_that_succeeded_was_tried_and_is_no_test_restore(adam, store, principal, work):
    row = store("acme:main", "The heron nests behind the mill.")
    post(adam, "/backups/", policy="full")
    work()
    with access.enter(principal, why="test"):
        Fragment.objects.filter(id=row.id).delete()
        there = f"/backups/{Backup.objects.get().id}/restore/"
    plan = planned(adam, there, work)
    assert "No restore was tried yet." in words(adam.get("/backups/"))
    assert "no restore was tried yet" in words(adam.get("/"))
    post(adam, there, step="apply", confirm="acme", plan=plan)
    work()
    page = words(adam.get("/backups/"))
    assert "Last restore: just now . No test restore was run yet" in page
    assert "last restored today, no test restore yet" in words(adam.get("/"))
    assert "o restore was tried yet" not in page + words(adam.get("/"))


def test_a_restore_that_ended_early_names_what_it_did(adam, store, principal, work, monkeypatch):
    for name in ("acme:main", "acme:side"):
        store(name, f"The heron nests in {name}.")
    post(adam, "/backups/", policy="full")
    work()
    with access.enter(principal, why="test"):
        Fragment.objects.all().delete()
        there = f"/backups/{Backup.objects.get().id}/restore/"
    plan, whole = planned(adam, there, work), restoration._apply

    def first_only(principal, read, name, there, **more):
        assert name == "acme:main"
        return whole(principal, read, name, there, **more)

    monkeypatch.setattr(restoration, "_apply", first_only)
    begun = post(adam, there, step="apply", confirm="acme", plan=plan)
    work()
    page = words(adam.get(begun["Location"]))
    assert "It ended early: internal. acme:main is restored; the other namespaces stand as they did." in page
    assert "Came back 1" in page
    assert post(adam, f"{begun['Location']}undo/").status_code == 302
    work()
    with access.enter(principal, why="test"):
        assert not Fragment.objects.exists()


def test_what_is_polled_sets_no_cookie(adam, backup, work):
    there = post(adam, f"/backups/{backup.id}/restore/", step="plan")["Location"]
    part = adam.get(there, headers=HTMX)
    assert part.text.strip().startswith('<div class="live"')
    assert (not part.cookies, "csrfmiddlewaretoken" in part.text) == (True, False)
    work()
    last = adam.get(there, headers=HTMX)
    assert (last["HX-Refresh"], last.content, not last.cookies) == ("true", b"", True)


def test_a_backup_of_what_is_not_there_is_not_begun(adam, backup, count):
    before = count(Operation)
    for wish, told in (
        ({"namespaces": ["acme:nope"]}, "There is no namespace acme:nope."),
        ({"base": str(uuid.uuid4())}, "There is no such backup to go on from."),
    ):
        page = post(adam, "/backups/", policy="full", **wish)
        assert (page.status_code, told in words(page)) == (409, True)
    assert post(adam, "/backups/", policy="full", namespaces=["elsewhere:main"]).status_code == 404
    assert count(Operation) == before


def test_a_namespace_that_went_meanwhile_is_named_as_the_reason(adam, backup, store, principal, work):
    store("acme:other", "The boat lies in the reeds.")
    made = post(adam, "/backups/", policy="full", namespaces=["acme:other"])
    with access.enter(principal, why="test"):
        Namespace.objects.get(name="acme:other").delete()
    work()
    page = words(adam.get(made["Location"]))
    assert "It failed: the namespace that it names is not there any more. Nothing was half done." in page


def test_nothing_is_applied_without_a_plan(adam, backup, count):
    answer = post(adam, f"/backups/{backup.id}/restore/", step="apply", confirm="acme")
    assert (answer.status_code, "Make a plan first." in words(answer)) == (409, True)
    assert count(Fragment) == 0


def test_protected_ones_are_not_deleted(adam, backup, count):
    day = f"{backup.created_at:%Y-%m-%d}"
    post(adam, f"/backups/{backup.id}/protect/", protected="yes")
    answer = post(adam, f"/backups/{backup.id}/delete/", confirm=day)
    assert (answer.status_code, "The backup is protected." in words(answer)) == (409, True)
    post(adam, f"/backups/{backup.id}/protect/", protected="no")
    assert post(adam, f"/backups/{backup.id}/delete/", confirm="yesterday").status_code == 409
    assert count(Backup) == 1
    assert post(adam, f"/backups/{backup.id}/delete/", confirm=day)["Location"] == "/backups/"
    assert count(Backup) == 0


def test_a_file_goes_out_and_comes_in(adam, backup, principal, count):
    file = b"".join(adam.get(f"/backups/{backup.id}/download/").streaming_content)
    answer = post(adam, "/backups/upload/", upload=SimpleUploadedFile("b.ndjson.gz", file))
    assert re.fullmatch(r"/backups/[0-9a-f-]+/restore/", answer["Location"])
    assert count(Backup) == 2
    bad = post(adam, "/backups/upload/", upload=SimpleUploadedFile("b.gz", b"no backup"))
    assert (bad.status_code, count(Backup)) == (409, 2)
    assert post(adam, "/backups/upload/").status_code == 409


def harmed(adam, backup, how):
    """The file of a backup with a damage, and the line that it is in."""
    file = b"".join(adam.get(f"/backups/{backup.id}/download/").streaming_content)
    lines = gzip.decompress(file).split(b"\n")
    if how == "cut":
        return file[: len(file) // 2], None
    if how == "flipped":
        middle = len(file) // 2
        return file[:middle] + bytes([file[middle] ^ 0xFF]) + file[middle + 1 :], None
    if how == "changed":
        return gzip.compress(b"\n".join(lines).replace(b"heron", b"otter")), len(lines) - 1
    broken = lines[:-3] + [lines[-3][:-5]] + lines[-2:]
    return gzip.compress(b"\n".join(broken)), len(lines) - 2


@pytest.mark.parametrize("how", ["cut", "flipped", "changed", "broken"])
def test_a_damaged_upload_is_refused_at_once_with_its_line(adam, backup, count, how):
    sent, line = harmed(adam, backup, how)
    before = count(Operation)
    page = post(adam, "/backups/upload/", upload=SimpleUploadedFile("b.ndjson.gz", sent))
    text = words(page)
    assert page.status_code == 409
    assert "This is no sound backup" in text
    assert re.search(rf"Line {line}: " if line else r"Line \d+: ", text)
    assert (count(Backup), count(Operation)) == (1, before)


def test_an_upload_is_verified_when_it_was_read_to_its_end(adam, backup, principal):
    file = b"".join(adam.get(f"/backups/{backup.id}/download/").streaming_content)
    there = post(adam, "/backups/upload/", upload=SimpleUploadedFile("b.ndjson.gz", file))["Location"]
    with access.enter(principal, why="test"):
        row = Backup.objects.get(origin="uploaded")
        assert (row.verdict, row.records) == ("sound", backup.records)
    text = words(adam.get(there))
    assert "sound read to its end" in text
    assert "sound signed here" in text
    with access.enter(principal, why="test"):
        Backup.objects.filter(id=row.id).update(verdict="", verified_at=None)
    text = words(adam.get(there))
    assert "signed here" not in text
    assert "names this instance as its signer; planning checks the signature" in text


def test_a_plan_whose_damaged_upload_went_leads_to_what_was_wrong(adam, backup, principal, work):
    sent, line = harmed(adam, backup, "broken")
    with access.enter(principal, why="test"):
        row = Backup.objects.create(
            project_id=principal.project_id, policy="full", policy_version=1, origin="uploaded", size=1,
            file=f"acme-upload-{uuid.uuid4()}.ndjson.gz", signer=backup.signer,
        )  # fmt: skip
    row.sha256, row.size = backups.storage.store(row.file, io.BytesIO(sent))
    with access.enter(principal, why="test"):
        row.save()
    there = f"/backups/{row.id}/restore/"
    plan = post(adam, there, step="plan")["Location"].partition("plan=")[2]
    work()
    answer = adam.get(f"{there}?plan={plan}", headers=HTMX)
    assert answer["HX-Redirect"] == f"/operations/{plan}/"
    assert adam.get(f"{there}?plan={plan}")["Location"] == f"/operations/{plan}/"
    page = adam.get(f"/operations/{plan}/")
    assert f"It failed: broken bundle, line {line}: " in words(page)
    assert f"/backups/{row.id}/" not in page.text
    assert adam.get(there).status_code == 404
    assert adam.get(f"{there}?plan={uuid.uuid4()}").status_code == 404


def test_a_restore_offers_no_way_back_that_is_none(adam, backup, work, principal, store):
    store("acme:main", "The otter swims at night.")
    there = f"/backups/{backup.id}/restore/"
    done = post(adam, there, step="apply", confirm="acme", plan=planned(adam, there, work))
    work()
    page = adam.get(done["Location"])
    with access.enter(principal, why="test"):
        saved = Backup.objects.get(origin="safety").id
    assert f'href="/backups/{saved}/"' in page.text
    assert "restoring that backup takes nothing away again" in words(page)
    assert "way back" not in words(page)


PATHS = ["", "verify/", "drill/", "protect/", "delete/", "restore/"]


@pytest.mark.examples
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("role", ["viewer", "reviewer"])
def test_only_admins(project, backup, count, path, role):
    client = logged_in(a_person("other", project, role=role))
    client.get("/memories/")
    before = count(Operation), count(Backup)
    there = f"/backups/{backup.id}/{path}"
    token = client.get("/connect/").context["csrf_token"]
    client.cookies["csrftoken"] = str(token)
    assert client.get(there).status_code in (302, 403), "302: to the page above, which is refused"
    assert client.post(there, {"csrfmiddlewaretoken": str(token)}).status_code in (403, 405)
    assert (count(Operation), count(Backup)) == before


def test_foreign_ones_are_not_found(carl, backup):
    assert carl.get(f"/backups/{backup.id}/").status_code == 404
    assert carl.get(f"/backups/{uuid.uuid4()}/").status_code == 404


def test_a_plan_shows_samples_with_their_sentence(adam, backup, principal, work):
    there = f"/backups/{backup.id}/restore/"
    post(adam, there, step="plan")
    work()
    assert "Some that come back The heron nests behind the mill." in words(adam.get(there))
    with access.enter(principal, why="test"):
        report = Operation.objects.get(kind="restore").report
    assert "heron" not in str(report)


def test_a_plan_has_read_the_file_and_its_signature(adam, backup, work):
    there = f"/backups/{backup.id}/restore/"
    assert words(adam.get(there)).count("unproven") == 3
    planned(adam, there, work)
    checked = words(adam.get(there))
    assert "sound read to its end with the plan" in checked
    assert "sound signed here" in checked


def test_who_may_not_see_backups_is_led_to_none(adam, project, backup, work):
    there = f"/backups/{backup.id}/restore/"
    done = post(adam, there, step="apply", confirm="acme", plan=planned(adam, there, work))["Location"]
    work()
    assert "/backups/" in adam.get(done).text.partition("<main")[2]
    vera = logged_in(a_person("vera", project, role="viewer"))
    told = vera.get(done).text.partition("<main")[2]
    assert "/backups/" not in told
    assert "/rollbacks/" not in told


def test_what_is_not_taken_at_all_is_told(adam, alice, principal, work):
    said = {"namespace": "acme:main", "user": "ann", "content": "The heron nests behind the mill."}
    alice.client.post("/api/v1/fragments", said, format="json")
    post(adam, "/backups/", policy="full")
    work()
    with access.enter(principal, why="test"):
        made = Backup.objects.get()
    assert alice.client.delete(f"/api/v1/users/{address_of('ann')}?expected_count=1").status_code == 200
    work()
    plan = post(adam, f"/backups/{made.id}/restore/", step="plan")["Location"]
    work()
    assert "Not taken: memories of users who were erased 1" in words(adam.get(plan))


def test_what_opposes_what_is_believed_is_told(adam, alice, store, principal, work):
    row = store("acme:main", "The gate opens at 9.", by=alice.principal, claim=ClaimDraft("gate", "opens", "9"))
    post(adam, "/backups/", policy="full")
    work()
    with access.enter(principal, why="test"):
        made = Backup.objects.get()
        Fragment.objects.filter(id=row.id).delete()
    claim = ClaimDraft("gate", "opens", "8")
    store("acme:main", "The gate opens at 8.", by=alice.principal, source="user_explicit", claim=claim)
    there = f"/backups/{made.id}/restore/"
    done = post(adam, there, step="apply", confirm="acme", plan=planned(adam, there, work))["Location"]
    work()
    assert "Of these oppose what is believed here, and wait in review 1" in words(adam.get(done))


def test_each_plan_says_where_it_goes(adam, backup, store, work):
    store("acme:main", "An otter was seen under the bridge.")
    there = f"/backups/{backup.id}/restore/"
    post(adam, there, step="plan", into="beside", namespace="acme:main")
    work()
    page = adam.get(there)
    assert words(page).count("acme:main into the new namespace acme:beside") == 2
    assert "Restore 1 memory into acme:beside" in words(page)
    refused = post(adam, there, step="plan", into="main", namespace="acme:main")
    assert (refused.status_code, "This name is taken" in words(refused)) == (409, True)
    assert 'name="confirm"' not in refused.text
    assert 'value="main"' in refused.text
    post(adam, there, step="plan")
    work()
    assert words(adam.get(there)).count("into what lives, each memory where it was") == 2


def test_a_plan_for_a_new_namespace_shows_them_too(adam, backup, principal, work):
    there = f"/backups/{backup.id}/restore/"
    post(adam, there, step="plan", into="beside", namespace="acme:main")
    work()
    with access.enter(principal, why="test"):
        plan = Operation.objects.get(kind="restore").id
    for page in (there, f"/operations/{plan}/"):
        assert "Some that come back The heron nests behind the mill." in words(adam.get(page))


@pytest.mark.long
@pytest.mark.parametrize(
    ("seconds", "says"),
    [
        (754.2, "2 memories still wait for a vector, to be found by what is meant, too; all 72 take about 12 min."),
        (3.0, "what is meant, too; all 72 take about a minute."),
        (None, "to be found by what is meant, too."),
    ],
)
def test_how_many_that_were_restored_wait_to_be_found_by_their_meaning(
    adam, backup, store, work, principal, seconds, says
):
    """The page of the restore tells it as it is now; nothing where none waited."""
    there = f"/backups/{backup.id}/restore/"
    done = post(adam, there, step="apply", confirm="acme", plan=planned(adam, there, work))
    work()

    def tell(waiting, seconds):
        with access.enter(principal, why="test"):
            ended = Operation.objects.get(kind="restore", dry_run=False)
            ended.report = {**ended.report, "waiting_for_vectors": waiting, "searchable_in_seconds": seconds}
            ended.save(update_fields=["report"])

    tell(0, 0.0)
    assert "found by its words" not in words(adam.get(done["Location"]))
    with access.enter(principal, why="test"):
        PendingEmbedding.objects.all().delete()
    tell(72, seconds)
    page = words(adam.get(done["Location"]))
    assert "What came back is found by its words. By what is meant, too: no memory waits for a vector." in page
    for text in ("Otters swim at night.", "The mill is old."):
        row = store("acme:main", text)
        with access.enter(principal, why="test"):
            waits = {"project_id": row.project_id, "fragment": row, "model": active_model()}
            PendingEmbedding.objects.get_or_create(**waits)
    assert says in words(adam.get(done["Location"]))


def test_a_backup_of_some_namespaces_and_of_what_changed_since(adam, backup, store, principal, work):
    store("acme:main", "An otter was seen under the bridge.")
    store("acme:other", "The boat lies in the reeds.")
    post(adam, "/backups/", policy="full", namespaces=["acme:other"])
    post(adam, "/backups/", policy="full", base=str(backup.id))
    work()
    with access.enter(principal, why="test"):
        made = Backup.objects.exclude(id=backup.id)
        some, since = made.get(base=None), made.get(base=backup.id)
    assert some.namespaces == ["acme:other"]
    assert "acme:main" in since.namespaces
    assert post(adam, "/backups/", policy="full", base="x").status_code == 409


def planned(client, there, work):
    """The id of a plan that was made and is shown."""
    made = post(client, there, step="plan")["Location"]
    work()
    (plan,) = re.findall(r'name="plan" value="([^"]+)"', client.get(made).text) or [None]
    return plan


def test_what_changed_since_the_plan_is_not_restored(adam, backup, principal, work, store, count):
    there = f"/backups/{backup.id}/restore/"
    plan = planned(adam, there, work)
    post(adam, there, step="apply", confirm="acme", plan=plan)
    work()
    again = planned(adam, there, work)
    assert again is None
    page = adam.get(there)
    assert "Nothing would change" in words(page)
    assert 'name="confirm"' not in page.text
    with access.enter(principal, why="test"):
        nothing = Operation.objects.filter(kind="restore", dry_run=True).latest("created_at")
        Fragment.objects.all().delete()
    assert post(adam, there, step="apply", confirm="acme", plan=str(nothing.id)).status_code == 409
    plan = planned(adam, there, work)
    store("acme:main", "An otter was seen under the bridge.")
    with access.enter(principal, why="test"):
        Operation.objects.filter(id=plan).update(report={**Operation.objects.get(id=plan).report, "namespaces": {}})
    begun = post(adam, there, step="apply", confirm="acme", plan=plan)
    work()
    assert "It changed since it was looked at" in words(adam.get(begun["Location"]))
    assert count(Fragment) == 1


def test_a_plan_is_run_once_and_its_report_is_in_words(adam, backup, work, count):
    there = f"/backups/{backup.id}/restore/"
    plan = planned(adam, there, work)
    assert "Planned just now" in words(adam.get(there))
    done = post(adam, there, step="apply", confirm="acme", plan=plan)
    work()
    page = adam.get(done["Location"])
    assert "Came back 1" in words(page)
    assert "Some that came back The heron nests behind the mill." in words(page)
    assert "a key that is trusted" in words(page)
    assert "This plan was run just now . See the run" in words(adam.get(f"{there}?plan={plan}"))
    assert f'href="{done["Location"]}"' in adam.get(f"{there}?plan={plan}").text
    assert 'name="plan"' not in adam.get(f"{there}?plan={plan}").text
    before = count(Operation)
    again = post(adam, there, step="apply", confirm="acme", plan=plan)
    assert (again.status_code, "This plan was applied already" in words(again)) == (409, True)
    assert count(Operation) == before
    assert adam.get(f"{there}?plan={uuid.uuid4()}").status_code == 404


@pytest.mark.parametrize("more", [100_000, 3 << 20], ids=["to be kept", "on its way"])
def test_an_upload_that_does_not_fit_is_told(project, store, backup, count, more):
    both = a_person("beth", project, keys.ensure_project("elsewhere"), role="admin")
    with backups.storage.open_file(backup.file) as file:
        head, body = file.read(10), file.read()
    head = head[:3] + bytes([head[3] | 0x10]) + head[4:]  # a comment, which makes the file large and leaves it sound
    sent = SimpleUploadedFile("b.ndjson.gz", head + b"x" * more + b"\0" + body)
    client = logged_in(both)
    (there,) = re.findall(r'action="(/backups/upload/[^"]*)"', client.get("/backups/?project=acme").text)
    client.get("/memories/?project=elsewhere")
    with small_disk(16 * 1024):
        page = post(client, there, upload=sent, in_project="acme")
    text = words(page)
    assert page.status_code == 409
    assert "There is no space left. There is not enough room for the file" in text
    assert f"Request {page['X-Request-Id']}" in text
    assert f"{backup.created_at:%Y}" in page.text
    assert count(Backup) == 1


@pytest.mark.parametrize("sent", [b"", b"no backup", bytes(3 << 20)], ids=["empty", "a word", "zeros"])
def test_an_upload_that_can_not_be_read_is_told(adam, count, sent):
    page = post(adam, "/backups/upload/", upload=SimpleUploadedFile("b.ndjson.gz", sent))
    assert page.status_code == 409
    assert f"Request {page['X-Request-Id']}" in words(page)
    assert count(Backup) == 0


def test_an_upload_needs_its_token(project, count):
    client = logged_in(a_person("adam", project, role="admin"))
    answer = client.post("/backups/upload/", {"upload": SimpleUploadedFile("b.gz", b"x"), "in_project": "acme"})
    assert (answer.status_code, count(Backup)) == (403, 0)


@pytest.mark.parametrize("role", ["viewer", "reviewer"])
def test_who_may_not_upload_is_not_told_of_the_disk(project, role):
    client = logged_in(a_person("rob", project, role=role))
    with small_disk(16 * 1024):
        sent = SimpleUploadedFile("b.gz", bytes(3 << 20))
        assert post(client, "/backups/upload/", upload=sent).status_code == 403


def test_protecting_is_taken_back_by_the_strip(adam, backup, principal):
    post(adam, f"/backups/{backup.id}/protect/", protected="yes")
    page = adam.get("/backups/")
    assert "The backup is protected." in words(page)
    (there,) = re.findall(r'id="undo".*?action="([^"]+)"', page.text, re.DOTALL)
    assert post(adam, there, taken_back="1", protected="no").status_code == 303
    with access.enter(principal, why="test"):
        assert not Backup.objects.get().protected
