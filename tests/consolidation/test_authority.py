"""Consolidation honours authority: nothing weaker hides or replaces what is stronger."""

import pytest

from conflicts.models import Ruling
from conflicts.public import ClaimDraft
from memories import access, jobs
from memories.models import Claim, Fragment, Namespace
from memories.models.sql import fetch
from memories.providers import fake_sidecar
from memories.upkeep.consolidation import digest_phase
from tests.consolidation.conftest import beside, unit
from tests.governed import Judge

SAID = "Please never book flights before 9 in the morning for me."
DENIED = (
    "Please never book flights before 10 in the morning for me.",
    "Flights before 9 in the morning are fine for the user.",
    "The user asks to book flights before 9 in the morning.",
)


@pytest.fixture
def digests(principal):
    """The digests of the project."""

    def found():
        with access.enter(principal, why="test"):
            return list(Fragment.objects.within(principal.project_id).filter(source_type="digest"))

    return found


@pytest.fixture
def cluster(remember, link):
    """Stores memories that nobody changed for long, each linked with the next."""

    def keep(*said):
        rows = [
            remember(text, vector=unit(*[0] * n, 1), by=agent.principal, source=source, age=40, read=1)
            for n, (text, agent, source) in enumerate(said)
        ]
        link(*rows)
        return rows

    return keep


def test_a_digest_leaves_what_the_user_said(run, cluster, now_of, digests, alice, bob):
    user, *others = cluster((SAID, alice, "user_explicit"), *((text, bob, "inference") for text in DENIED))
    run()
    assert (now_of(user).status, now_of(user).content) == ("active", SAID)
    (made,) = digests()
    assert (set(made.parents), made.authority) == ({row.id for row in others}, 1)
    assert "never book flights before 9" not in made.content


def test_what_the_user_said_alone_goes_into_no_digest(run, cluster, now_of, digests, alice):
    rows = cluster(*((text, alice, "user_explicit") for text in (SAID, *DENIED)))
    assert run().report["compressed"]["clusters"] == 0
    assert ({now_of(row).status for row in rows}, digests()) == ({"active"}, [])


def test_a_digest_is_of_equals(run, cluster, digests, alice, bob):
    texts = [f"Heron number {n} nests by the weir." for n in range(7)]
    sources = ["tool_output", "inference"] * 3 + ["document"]
    rows = cluster(*((text, bob, source) for text, source in zip(texts, sources, strict=True)))
    assert run().report["compressed"] == {"clusters": 2, "source_memories": 6}
    authority = {row.id: row.authority for row in rows}
    for made in digests():
        assert {authority[parent] for parent in made.parents} == {made.authority}


def test_an_admin_of_a_low_ceiling_digests_nothing_above_it(
    cluster, main, principal, project, agent_of, now, digests, bob
):
    low = agent_of(project, owner="low", ceiling="inference", verbs=["read", "write", "admin"])
    cluster(*((text, bob, "tool_output") for text in DENIED))
    wish = {"kind": "consolidate", "namespace": main, "options": {}, "dry_run": False, "now": now, "wake_up": False}
    ended = jobs.run(low.principal, jobs.start(low.principal, **wish).id)
    assert (ended.state, ended.report["compressed"]["clusters"], digests()) == ("succeeded", 0, [])


def test_a_twin_whose_claim_is_weaker_does_not_replace_a_stronger_claim(run, remember, now_of, alice, bob, principal):
    claim = ClaimDraft("Ada", "age", "7")
    strong = remember("Ada is seven.", vector=unit(1), by=bob.principal, source="tool_output", claims=[claim])
    other = remember("Ada is seven!", vector=unit(0, 1), by=alice.principal, source="user_explicit")
    with access.enter(principal, why="test"):
        row = Claim.objects.get(fragment=strong)
        ((named,),) = fetch("SELECT nova_claim_id(%s, %s)", [other.id, row.position])
        row.pk, row.fragment, row.authority, row.slot = named, other, 1, 1
        Claim.objects.bulk_create([row])
    remember("Something else.", vector=beside(0.5))
    run(dedup_threshold=0.5)
    assert now_of(strong).status == "active"


@pytest.mark.parametrize(
    ("said", "weak"),
    [
        ("The user's budget is $750. Ask before you spend it.", ClaimDraft("user", "budget", "$13")),
        ("The user's budget is $750. Ask before you spend it.", ClaimDraft("user", "budget", "$750")),
    ],
    ids=["contradicted", "repeated"],
)
def test_what_is_read_out_of_a_strong_text_hides_it_behind_nothing_weaker(
    run, remember, now_of, alice, bob, said, weak
):
    strong = remember(said, vector=unit(1), by=bob.principal, source="tool_output", age=2)
    remember("See the sheet.", vector=unit(0, 1), by=alice.principal, source="inference", claims=[weak], age=1)
    run()
    assert now_of(strong).status == "active"


class TestRefusedDigests:
    """The gate lets no digest stand that says otherwise than what is believed more: then its originals stay."""

    SUMMARY = "The heron nests by the mill. The user budget is $0."

    @pytest.fixture
    def herons(self, remember, cluster, alice, bob):
        claim = ClaimDraft("user", "budget", "$750")
        remember("Budget: $750.", source="user_explicit", by=alice.principal, claim=claim)
        return cluster(*((f"Heron {word} by the mill.", bob, "inference") for word in ("nests", "fishes", "sleeps")))

    def test_the_best_sentences_stand_in_for_a_models(
        self, run, herons, model_server, bind_judge, monkeypatch, now_of, digests
    ):
        bind_judge(Judge())
        monkeypatch.setattr(fake_sidecar, "answer", lambda work: {"summary": self.SUMMARY})
        report = run(method="llm").report
        assert (report["compressed"]["clusters"], "set_aside" in report) == (1, False)
        (made,) = digests()
        assert (made.status, made.extra, "budget" in made.content) == ("active", {}, False)
        assert {now_of(row).status for row in herons} == {"archived"}

    def test_a_cluster_is_set_aside(self, run, herons, monkeypatch, now_of, digests):
        monkeypatch.setattr(digest_phase, "extracted", lambda texts, *, model: self.SUMMARY)
        report = run().report
        assert (report["compressed"]["clusters"], digests()) == (0, [])
        (aside,) = report["set_aside"]
        assert (aside["id"], aside["phase"], aside["code"]) == (str(herons[0].id), "digest", "cannot_digest")
        assert {now_of(row).status for row in herons} == {"active"}


class TestChosenTexts:
    """Free texts that a person kept beside a claim: no claim of their own protects them, the ruling does."""

    @pytest.fixture
    def kept(self, principal):
        """Lets a ruling choose a memory's text."""

        def choose(row):
            with access.enter(principal, why="test"):
                Ruling.objects.create(
                    project_id=row.project_id,
                    namespace_id=row.namespace_id,
                    fragment_id=row.id,
                    chosen_fragments=[row.id],
                    authority=6,
                )

        return choose

    @pytest.mark.parametrize("policy", ["all", "episodic"])
    def test_a_chosen_text_does_not_fade(self, run, remember, now_of, kept, principal, main, bob, policy):
        rows = [
            remember(text, vector=unit(*[0] * n, 1), by=bob.principal, source="inference", base=0.05, type="episodic")
            for n, text in enumerate(["The trip budget is $900 now.", "The heron left the weir."])
        ]
        kept(rows[0])
        with access.enter(principal, why="test"):
            Namespace.objects.filter(id=main.id).update(archive_policy=policy)
            Fragment.objects.filter(id__in=[row.id for row in rows]).update(importance=0.3)
        run()
        assert [now_of(row).status for row in rows] == ["active", "archived"]
        assert [now_of(row).tier for row in rows][0] != "cold"

    def test_a_chosen_text_goes_into_no_digest(self, run, cluster, now_of, digests, kept, bob):
        chosen, *others = cluster(*((text, bob, "inference") for text in ("Book the flight at 8.", *DENIED)))
        kept(chosen)
        run()
        assert now_of(chosen).status == "active"
        (made,) = digests()
        assert set(made.parents) == {row.id for row in others}
