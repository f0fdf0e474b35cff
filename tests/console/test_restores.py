"""/backups/…/restore/: planned, looked at and confirmed, step by step."""

import io
import re
import uuid

import pytest

from conflicts.public import ClaimDraft
from memories import access, backups
from memories.backups.restoration import pipeline as restoration
from memories.models import Backup, Fragment, Operation, PendingEmbedding
from memories.providers import active_model
from memories.rest.users import address_of
from tests.console.conftest import a_person, logged_in, post, words
from tests.console.test_backups import harmed

HTMX = {"HX-Request": "true", "HX-Target": "live"}


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


def test_nothing_is_applied_without_a_plan(adam, backup, count):
    answer = post(adam, f"/backups/{backup.id}/restore/", step="apply", confirm="acme")
    assert (answer.status_code, "Make a plan first." in words(answer)) == (409, True)
    assert count(Fragment) == 0


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
