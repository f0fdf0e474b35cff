"""Every form of the pages beside the review queue, by a browser that runs no script."""

import dataclasses
import re

import pytest
from playwright.sync_api import expect

from conflicts.public import ClaimDraft
from memories import access
from memories.models import ApiKey, Fragment, Membership, Namespace, Owner
from tests.conftest import stored

pytestmark = [
    pytest.mark.browser,
    pytest.mark.parametrize("browser_context_args", [{"java_script_enabled": False}], indirect=True),
]
HERON = "The heron nests behind the old mill."


@pytest.fixture(autouse=True)
def admin(stage):
    """The person on the stage is an admin."""
    Membership.objects.filter(project=stage.project).update(role="admin")


def rows(stage, model, **filters):
    with access.enter(access.system_principal(stage.project), why="test"):
        return list(model.objects.filter(**filters))


def test_a_key_and_a_member(at_memories, page, stage):
    at_memories("/agents/")
    page.get_by_label("Owner").fill("robot")
    page.get_by_role("button", name="Make the key").click()
    expect(page.get_by_label("Key", exact=True)).to_have_value(re.compile(r"nova_\S+"))
    assert len(rows(stage, ApiKey)) == 1
    page.get_by_label("Username").fill(f"nora-{stage.project.name}")
    page.get_by_role("button", name="Add the member").click()
    expect(page.get_by_label("Password")).not_to_be_empty()
    assert Membership.objects.get(user__username=f"nora-{stage.project.name}").role == "viewer"


@pytest.mark.long
def test_what_is_done_to_a_memory(at_memories, page, stage, store_texts):
    (which,) = store_texts(HERON)
    at_memories(f"/memories/{which}/")

    def now():
        return rows(stage, Fragment)[0]

    page.get_by_role("button", name="Pin", exact=True).click()
    assert now().is_pinned
    page.goto(f"{stage.url}/tombstones/")
    expect(page.locator("#undo")).to_contain_text("Pinned.")
    page.get_by_role("button", name="Undo").click()
    assert not now().is_pinned
    expect(page.locator("#undo")).to_have_count(0)
    page.get_by_role("button", name="Anchor", exact=True).click()
    page.get_by_role("button", name="Close what was done").click()
    expect(page.locator("#undo")).to_have_count(0)
    assert now().is_anchor
    page.locator("summary", has_text="Edit").click()
    page.get_by_label("Sentence").fill("It nests\nin the reeds.")
    page.get_by_role("button", name="Save as a new revision").click()
    assert now().content == "It nests\nin the reeds."
    page.get_by_role("button", name="Archive", exact=True).click()
    assert now().status == "archived"
    page.get_by_role("button", name="Unarchive").click()
    page.locator("summary", has_text="Forget").click()
    page.get_by_label("Type forget").fill("forget")
    page.get_by_role("button", name="Forget", exact=True).click()
    assert rows(stage, Fragment) == []


@pytest.mark.long
def test_a_fork_that_is_merged_and_deleted(at_memories, page, stage, store_texts, work):
    store_texts(HERON)
    at_memories("/namespaces/")
    page.get_by_label("into").fill("twig")
    page.get_by_role("button", name="Fork").click()
    work()
    store_texts("An otter was seen under the bridge.", agent="twig")
    page.goto(f"{stage.url}/namespaces/{stage.project.name}:twig/merge/")
    page.get_by_role("button", name="Preview").click()
    work()
    page.goto(page.url)
    page.get_by_role("button", name="Merge", exact=False).last.click()
    work()
    main = rows(stage, Fragment, namespace__name=f"{stage.project.name}:main")
    assert sorted(row.content for row in main) == ["An otter was seen under the bridge.", HERON]
    page.goto(f"{stage.url}/namespaces/")
    page.locator("summary", has_text="Delete a namespace").click()
    page.get_by_label("Namespace", exact=True).select_option(f"{stage.project.name}:twig")
    page.get_by_label("Type its name").fill(f"{stage.project.name}:twig")
    page.get_by_role("button", name="Delete", exact=True).click()
    work()
    assert [row.name for row in rows(stage, Namespace)] == [f"{stage.project.name}:main"]


def test_a_question_for_the_context_and_a_namespace_to_connect(at_memories, page, stage, store_texts, complaints):
    store_texts(HERON)
    at_memories("/context/")
    page.get_by_label("Question").fill("heron")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_label("The block")).to_contain_text(HERON)
    page.goto(f"{stage.url}/connect/")
    page.get_by_role("textbox", name="Namespace").fill("nowhere")
    page.get_by_role("button", name="Use").click()
    expect(page.get_by_role("alert")).to_contain_text("There can be no such namespace")
    complaints[:] = [text for text in complaints if "400" not in text]


@pytest.mark.long
def test_what_the_rules_replaced_is_taken_back_and_that_too(at_memories, page, stage):
    system = access.system_principal(stage.project)
    with access.enter(system, why="test"):
        owner = Owner.objects.create(project=stage.project, name="ann", kind="service")
    principal = dataclasses.replace(system, owner_id=owner.id, ceiling="user_explicit")
    former, standing = [
        stored(
            principal,
            f"{stage.project.name}:main",
            f"The budget is {value}.",
            source=source,
            claim=ClaimDraft("lisbon", "budget", value),
        )
        for value, source in (("$750", "document"), ("$900", "user_explicit"))
    ]

    def statuses():
        found = {row.id: row.status for row in rows(stage, Fragment)}
        return found[former.id], found[standing.id]

    at_memories("/health/")
    page.get_by_role("button", name="Undo: let stand again The budget is $750.").click()
    expect(page.locator("#undo")).to_contain_text("Stands again.")
    expect(page.get_by_text("Nothing was replaced in thirty days but by a person.")).to_be_visible()
    assert statuses() == ("active", "superseded")
    page.get_by_role("button", name="Undo").click()
    assert statuses() == ("quarantined", "active")
