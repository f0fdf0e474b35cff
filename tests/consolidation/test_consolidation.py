"""One call keeps the whole memory in order."""

import datetime

import pytest
from django.utils import timezone

from conflicts.free_text import statements
from conflicts.models import PendingConflict
from conflicts.public import ClaimDraft
from memories import access
from memories.models import Claim, Fragment, Link
from memories.upkeep.thresholds import set_thresholds
from tests.consolidation.conftest import DAY, beside, unit
from tests.governed import Judge

ENDS = [(".", 1), ("!", 400), ("", 0)]
EPOCH = datetime.datetime(2026, 3, 1, 9, tzinfo=datetime.UTC)


def test_on_an_empty_namespace_there_is_nothing_to_do(run, digest):
    before = digest()
    done = run()
    assert (done.state, done.error) == ("succeeded", None)
    report = done.report
    assert report["merged"] == report["deduplicated"] == report["corroborated"] == report["archived"] == 0
    assert report["contradictions"] == {"resolved": 0, "pending": 0, "claims": 0}
    assert report["compressed"] == {"clusters": 0, "source_memories": 0}
    assert report["pruned"] == {"superseded": 0, "decayed": 0, "disputed": 0}
    assert report["before"] == report["after"] == {"total": 0, "active": 0}
    assert report["durationMs"] == report["duration_ms"] >= 0
    assert digest() == before


def test_with_no_issues_the_report_shows_zeros(run, remember, digest):
    remember("The heron nests behind the old mill.", vector=unit(1))
    remember("The otter sleeps under the bridge.", vector=unit(0, 1))
    before = digest()
    report = run().report
    assert (report["merged"], report["archived"], report["decayed"], report["corroborated"]) == (0, 0, 0, 0)
    assert report["before"] == report["after"] == {"total": 2, "active": 2}
    assert digest() == before


def test_of_twins_that_are_believed_alike_the_older_stays(run, remember, now_of):
    twins = [remember(f"The heron nests behind the old mill{end}", vector=unit(1), age=age) for end, age in ENDS]
    assert run().report["merged"] == 2
    assert [now_of(twin).status for twin in twins] == ["superseded", "active", "superseded"]


def test_near_identical_memories_are_merged(run, remember, link, now_of, principal):
    best = remember(
        "The heron nests behind the old mill.", vector=unit(1), source="tool_output", tags=["birds"], source_id="a"
    )
    twin = remember("The heron nests behind the old mill!", vector=beside(0.97), tags=["mill"], source_id="b", base=0.4)
    third = remember("Nests: behind the old mill, the heron.", vector=unit(0, 0, 1))
    link(twin, third, kind="related")
    report = run().report
    kept, gone = now_of(best), now_of(twin)
    assert (report["merged"], report["deduplicated"]) == (1, 1)
    assert (kept.status, gone.status, gone.superseded_by_id) == ("active", "superseded", kept.id)
    assert set(kept.tags) >= {"birds", "mill"}
    assert kept.source_ids == ["a", "b"]
    with access.enter(principal, why="test"):
        links = set(Link.objects.filter(fragment=kept).values_list("other_id", "kind"))
    assert links == {(third.id, "related"), (gone.id, "supersedes")}
    assert report["after"] == {"total": 3, "active": 2}


SPELLINGS = [
    "The heron nests behind the old mill.",
    "the heron nests behind  the old mill!",
    "The Heron nests behind the old mill",
]


def test_one_wording_in_three_spellings_becomes_one_memory(run, remember, now_of, principal):
    rows = [remember(text, vector=unit(*[0] * n, 1), base=0.9 - n / 9) for n, text in enumerate(SPELLINGS)]
    report = run().report
    assert (report["merged"], report["after"]["active"]) == (2, 1)
    assert sorted(now_of(row).status for row in rows) == ["active", "superseded", "superseded"]
    assert run().report["merged"] == 0


def test_spellings_of_unequal_claims_stay(run, remember):
    texts = ["My favourite colour is teal.", "my favourite colour is TEAL!"]
    claims = [ClaimDraft("Ada", "likes", value) for value in ("teal", "plum")]
    for n, text in enumerate(texts):
        remember(text, vector=unit(*[0] * n, 1), claim=claims[n])
    assert run().report["merged"] == 0


def test_a_great_many_of_one_wording_become_one_memory(run, remember):
    for n in range(12):
        remember("Milk is out" + "!" * n, vector=unit(*[0] * n, 1))
    assert run().report["after"]["active"] == 1


def test_a_stronger_spelling_is_never_hidden(run, remember, now_of, alice, bob):
    strong = remember(SPELLINGS[0], by=alice.principal, source="user_explicit", vector=unit(1))
    weak = remember(SPELLINGS[1], by=bob.principal, vector=unit(0, 1), age=9)
    assert run().report["merged"] == 1
    assert (now_of(strong).status, now_of(weak).superseded_by_id) == ("active", strong.id)


def test_spellings_of_other_keys_times_and_types_stay(run, remember, now):
    remember(SPELLINGS[0], vector=unit(1), key="a")
    remember(SPELLINGS[1], vector=unit(0, 1), key="b")
    remember(SPELLINGS[2], vector=unit(0, 0, 1), event_at=now)
    remember(SPELLINGS[2], vector=unit(0, 0, 0, 1), type="procedural")
    assert run().report["merged"] == 0


@pytest.mark.parametrize(
    ("one", "other", "merged"),
    [
        ("My phone number is 555-0100.", "My phone number is 555-0100 or 555-0101.", 0),
        ("My budget is $500.", "My budget is $500 (was $400).", 0),
        ("I live in Oslo.", "I am living in Oslo now, you know.", 1),
    ],
)
def test_of_equal_claims_those_with_other_numbers_beside_them_stay(run, remember, alice, one, other, merged):
    for text in (one, other):
        remember(text, vector=unit(1), source="user_explicit", extract_claim=True, by=alice.principal)
    assert run().report["merged"] == merged


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The budget is $750.", "The budget is $7500."),
        ("Dinner is at 6 pm.", "Dinner is at 7 pm."),
        ("Dinner is at 6 am.", "Dinner is at 6 pm."),
        ("Ann likes tea.", "Bob likes tea."),
        ("The user likes tea.", "The user does not like tea."),
        ("The meeting is on Monday.", "The meeting is on Tuesday."),
        ("Take two pills.", "Take three pills."),
        ("The rope is 5 kg.", "The rope is 5 lb."),
        ("I moved to Oslo.", "I moved to Rome."),
        ("Alert me when cpu > 90%.", "Alert me when cpu < 90%."),
        ("Run chmod +x deploy.sh first.", "Run chmod -x deploy.sh first."),
        ("Filter it with grep -v.", "Filter it with grep -V."),
    ],
)
def test_what_differs_in_a_fact_is_never_merged(run, remember, digest, one, other):
    remember(one, vector=unit(1))
    remember(other, vector=unit(1))
    before = digest()
    report = run().report
    assert (report["merged"], report["corroborated"]) == (0, 0)
    assert report["contradictions"]["claims"] or digest() == before


def test_a_quarantined_twin_is_never_merged(run, remember, principal, now_of):
    stands = remember("Ada is seven.", vector=unit(1), source="tool_output", claim=ClaimDraft("Ada", "age", "7"))
    waits = remember("Ada is eight.", vector=unit(0, 1), claim=ClaimDraft("Ada", "age", "8"))
    twin = remember("Ada is eight, they say.", vector=unit(0, 1))
    report = run().report
    assert report["merged"] == 0
    assert [now_of(row).status for row in (stands, waits)] == ["active", "quarantined"]
    assert now_of(twin).superseded_by_id is None


def test_types_are_kept_apart(run, remember):
    remember("The heron nests behind the old mill.", vector=unit(1), type="semantic")
    remember("The heron nests behind the old mill.", vector=unit(1), type="episodic")
    assert run().report["merged"] == 0


def test_contradictions_in_unclaimed_texts_are_resolved(run, remember, now_of, principal, alice):
    old = remember("I live in Oslo.", by=alice.principal, source="user_explicit", vector=unit(1), age=9)
    new = remember("I live in Bergen.", by=alice.principal, source="user_explicit", vector=unit(0, 1), age=2)
    report = run().report
    assert report["contradictions"] == {"resolved": 1, "pending": 0, "claims": 1}
    assert (now_of(old).status, now_of(old).superseded_by_id) == ("superseded", new.id)
    assert now_of(new).status == "active"
    with access.enter(principal, why="test"):
        claim = Claim.objects.get(fragment=new)
        assert (claim.value, claim.authority, claim.status) == ("Bergen", 6, "active")


def test_what_was_written_before_a_standing_claim_does_not_replace_it(run, remember, now_of, alice):
    remember("I live in Oslo.", by=alice.principal, source="user_explicit", vector=unit(1), age=9)
    new = remember(
        "I live in Bergen.",
        by=alice.principal,
        source="user_explicit",
        vector=unit(0, 1),
        claim=ClaimDraft("user", "lives_in", "Bergen"),
        age=2,
    )
    assert run().report["contradictions"]["resolved"] == 1
    assert now_of(new).status == "active"


@pytest.mark.parametrize("at_hand", [0, statements.AT_HAND], ids=["more claims than are read at once", "few claims"])
def test_a_text_from_before_a_stronger_claim_waits_for_a_person(
    run, remember, now_of, alice, bob, at_hand, monkeypatch
):
    """It claims nothing itself, and an earlier run found nothing to hold it against."""
    monkeypatch.setattr(statements, "AT_HAND", at_hand)
    text = remember("In all, the user can only spend $13.", by=bob.principal)
    agrees = remember("The user can spend $750 at most.", by=bob.principal)
    run()
    claim = ClaimDraft("user", "budget", "$750")
    remember("Said on the phone.", by=alice.principal, claim=claim, source="user_explicit")
    assert now_of(text).status == "active"
    done = run()
    assert done.report["contradictions"]["pending"] == 1
    assert (now_of(text).status, now_of(agrees).status) == ("quarantined", "active")
    with access.enter(alice.principal, why="test"):
        assert PendingConflict.objects.get(newcomer=text.id).reason == "free_text"


def test_a_weaker_contradiction_waits_for_a_person(run, remember, now_of, principal, alice, bob):
    mine = remember("I live in Oslo.", by=alice.principal, source="user_explicit", vector=unit(1), age=9)
    other = remember("The user lives in Bergen.", by=bob.principal, vector=unit(0, 1), age=2)
    report = run().report
    assert report["contradictions"] == {"resolved": 0, "pending": 1, "claims": 1}
    assert (now_of(mine).status, now_of(other).status) == ("active", "quarantined")
    with access.enter(principal, why="test"):
        assert PendingConflict.objects.get(newcomer=other, resolved_at=None).existing_id == mine.id


@pytest.mark.parametrize("before", [False, True], ids=["of_this_run", "of_a_run_before"])
def test_who_waits_yields_to_a_winner_that_says_the_same(run, undo, remember, now_of, belief, alice, bob, before):
    old = remember("The budget is $7500.", vector=unit(1), by=alice.principal, age=9)
    waiting = remember("The budget is $750. Tell them.", vector=unit(0, 1), by=bob.principal, age=8)
    expected = {"resolved": 2, "pending": 0, "claims": 1}
    if before:
        assert run().report["contradictions"] == {"resolved": 0, "pending": 1, "claims": 1}
        expected["claims"] = 0
    newest = remember("The budget is $750.", vector=unit(0, 0, 1), by=alice.principal)
    stood = belief()
    foreseen = run(dry_run=True).report
    done = run()
    assert done.report["contradictions"] == foreseen["contradictions"] == expected
    assert done.report["after"] == foreseen["after"] == {"total": 3, "active": 1}
    assert [now_of(row).superseded_by_id for row in (old, waiting)] == [newest.id, newest.id]
    undo(done)
    assert belief() == stood


def test_who_waited_for_somebody_forgotten_is_decided_on_before(run, remember, now_of, principal, now):
    from memories import erasure

    stands = remember("Ada is seven.", vector=unit(1), source="tool_output", claim=ClaimDraft("Ada", "age", "7"))
    waits = remember("Ada is eight.", vector=unit(0, 1), claim=ClaimDraft("Ada", "age", "8"))
    assert run().report["contradictions"]["resolved"] == 0
    erasure.forget(principal, stands.id, now=now)
    assert now_of(waits).status == "active"
    assert run().report["contradictions"]["resolved"] == 0
    with access.enter(principal, why="test"):
        assert not PendingConflict.objects.filter(resolved_at=None).exists()


def test_independent_sources_corroborate_once_ever(run, remember, now_of, alice, bob):
    one = remember("The heron nests behind the mill.", by=alice.principal, source="tool_output", vector=unit(1))
    remember("Behind the mill nests the heron.", by=bob.principal, vector=beside(0.93))
    first = run().report
    assert (first["merged"], first["corroborated"]) == (0, 1)
    assert now_of(one).corroboration == 2
    for _ in range(3):
        assert run().report["corroborated"] == 0
    assert now_of(one).corroboration == 2


def test_one_owner_does_not_corroborate_itself(run, remember, now_of, bob):
    one = remember("The heron nests behind the mill.", by=bob.principal, vector=unit(1))
    remember("Behind the mill nests the heron.", by=bob.principal, vector=beside(0.93))
    assert run().report["corroborated"] == 0
    assert now_of(one).corroboration == 1


def test_a_merged_twin_of_another_owner_corroborates(run, remember, now_of, alice, bob):
    one = remember("The heron nests behind the mill.", by=alice.principal, source="tool_output", vector=unit(1))
    remember("The heron nests behind the mill!", by=bob.principal, vector=beside(0.99))
    report = run().report
    assert (report["merged"], report["corroborated"]) == (1, 1)
    assert now_of(one).corroboration == 2


def test_a_stale_cluster_becomes_a_digest(run, remember, link, now_of, principal):
    texts = ["The heron nests behind the mill.", "The heron feeds at the weir.", "The heron left in August."]
    rows = [remember(t, vector=unit(*[0] * n, 1), age=40, read=1) for n, t in enumerate(texts)]
    link(*rows)
    report = run().report
    assert report["compressed"] == {"clusters": 1, "source_memories": 3}
    with access.enter(principal, why="test"):
        made = Fragment.objects.get(source_type="digest")
        into = set(Link.objects.filter(kind="digested_into").values_list("fragment_id", "other_id"))
        of = set(Link.objects.filter(kind="digest_of").values_list("fragment_id", "other_id"))
    assert (made.category, made.status, sorted(made.parents)) == ("digest", "active", sorted(r.id for r in rows))
    assert made.authority == min(row.authority for row in rows)
    assert into == {(row.id, made.id) for row in rows}
    assert of == {(made.id, row.id) for row in rows}
    assert {(now_of(row).status, now_of(row).archived_reason) for row in rows} == {("archived", "digested")}
    assert all(part in made.content for part in ("nests", "feeds"))


@pytest.mark.parametrize(("own", "importance"), [({"weight_base": "0.9", "weight_valence": "0"}, 0.9), ({}, 0.5)])
def test_a_digest_weighs_by_the_rates_of_the_project(run, remember, link, principal, own, importance):
    set_thresholds(principal, {"weight_entity": "0", **own})
    texts = ["The heron nests behind the mill.", "The heron feeds at the weir.", "The heron left in August."]
    link(*(remember(t, vector=unit(*[0] * n, 1), age=40, read=1, importance=0.1) for n, t in enumerate(texts)))
    assert run().report["compressed"]["clusters"] == 1
    with access.enter(principal, why="test"):
        assert Fragment.objects.get(source_type="digest").importance == pytest.approx(importance)


@pytest.fixture
def talk(remember):
    """So many turns of a conversation, forty days old, of two hundred characters each."""

    def say(count, name="walk", **more):
        return [
            remember(
                f"Ann: Heron {n} of {name} nests at weir {n}. " + "It was good and fine and so on for all of us." * 3,
                vector=unit(*[0] * n, 1),
                conversation_id=name,
                sequence=n,
                event_at=EPOCH + n * DAY,
                **{"age": 40, "read": 1} | more,
            )
            for n in range(count)
        ]

    return say


def test_a_conversation_is_told_in_digests_that_stand_in_it(run, talk, now_of, principal):
    rows = talk(20)
    report = run().report
    assert report["compressed"] == {"clusters": 1, "source_memories": 20}
    assert {now_of(row).archived_reason for row in rows} == {"digested"}
    with access.enter(principal, why="test"):
        first, second = Fragment.objects.filter(source_type="digest").order_by("sequence")
    assert [*first.parents, *second.parents] == [row.id for row in rows]
    assert (first.conversation_id, first.sequence, first.event_at) == ("walk", 0, EPOCH)
    assert (second.sequence, second.event_at) == (10, EPOCH + 10 * DAY)
    assert "Heron 0 of walk nests at weir 0." in first.content
    assert "Heron 19 of walk nests at weir 19." in second.content
    assert len(first.content) < 0.6 * sum(len(row.content) for row in rows[:10])


def test_what_waits_for_its_digest_does_not_fade_meanwhile(run, talk, now_of):
    old = {"age": 90, "read": None, "importance": 0.2}
    rows = [row for number in range(6) for row in talk(3, f"walk {number}", **old)]
    now = timezone.now()
    report = run(now=now, confirm=True).report
    assert (report["compressed"]["clusters"], report["deferred"], report["archived"]) == (5, {"clusters": 1}, 0)
    assert sorted(now_of(row).status for row in rows) == ["active"] * 3 + ["archived"] * 15
    assert {now_of(row).tier for row in rows if now_of(row).status == "active"} == {"hot"}
    assert run(now=now + DAY / 24, confirm=True).report["compressed"] == {"clusters": 1, "source_memories": 3}


@pytest.mark.parametrize(("level", "clusters"), [("summary", 1), ("keywords", 0)])
def test_first_sentences_go_into_a_digest_and_bare_words_do_not(run, talk, principal, level, clusters):
    rows = talk(3)
    with access.enter(principal, why="test"):
        Fragment.objects.filter(id__in=[row.id for row in rows]).update(compression=level)
    assert run().report["compressed"]["clusters"] == clusters


def test_a_digest_is_not_archived_for_its_age(run, talk, principal):
    talk(3)
    run()
    report = run(now=timezone.now() + 400 * DAY, confirm=True).report
    with access.enter(principal, why="test"):
        made = Fragment.objects.get(source_type="digest")
    assert (report["archived"], made.status, made.tier) == (0, "active", "cold")


def test_a_cluster_with_a_recent_member_is_left(run, remember, link, digest):
    rows = [remember(f"Heron number {n} nests here.", vector=unit(*[0] * n, 1), age=40, read=1) for n in range(3)]
    rows.append(remember("Heron number 9 nests there.", vector=unit(0, 0, 0, 0, 1)))
    link(*rows)
    before = digest()
    assert run().report["compressed"]["clusters"] == 0
    assert digest() == before


def test_only_five_digests_a_run(run, remember, link):
    for cluster in range(6):
        link(
            *[
                remember(f"Heron {cluster} of mill {n}.", vector=unit(*[0] * (3 * cluster + n), 1), age=40, read=1)
                for n in range(3)
            ]
        )
    now = timezone.now()
    first = run(now=now).report
    assert (first["compressed"]["clusters"], first["deferred"]) == (5, {"clusters": 1})
    assert run(now=now).report["compressed"]["clusters"] == 0
    assert run(now=now + DAY / 24).report["compressed"]["clusters"] == 1


def test_old_superseded_memories_are_pruned(run, remember, link, now_of, principal):
    old = remember("Ada was six.", vector=unit(1), status="superseded", unchanged=91)
    young = remember("Ada was five.", vector=unit(0, 1), status="superseded", unchanged=89)
    link(old, young)
    assert run(prune_superseded=False).report["pruned"]["superseded"] == 0
    report = run().report
    assert (report["pruned"]["superseded"], report["archived"]) == (1, 1)
    assert (now_of(old).status, now_of(old).archived_reason) == ("archived", "superseded")
    assert now_of(young).status == "superseded"
    with access.enter(principal, why="test"):
        assert not Link.objects.exists()


def test_disputed_memories_of_low_trust_are_pruned(run, remember, now_of):
    low = remember("The mill burnt down.", vector=unit(1), status="disputed", disputes=3, age=500)
    high = remember("The weir broke.", vector=unit(0, 1), status="disputed", disputes=3, source="tool_output")
    assert run().report["pruned"]["disputed"] == 1
    assert (now_of(low).status, now_of(low).archived_reason) == ("archived", "disputed")
    assert now_of(high).status == "disputed"


def test_faded_memories_get_cold_and_then_leave(run, remember, now_of):
    told = remember("We met the heron.", vector=unit(1), age=60, type="episodic", importance=0.3)
    fact = remember("Herons eat fish.", vector=unit(0, 1), age=60, type="semantic", importance=0.3)
    dim = remember("We saw the otter.", vector=unit(0, 0, 1), age=40, type="episodic", importance=0.3)
    pinned = remember("We are herons.", vector=unit(0, 0, 0, 1), age=60, type="episodic", is_pinned=True)
    report = run().report
    assert (report["decayed"], report["archived"], report["pruned"]["decayed"]) == (3, 1, 1)
    assert (now_of(told).status, now_of(told).archived_reason) == ("archived", "decayed")
    assert [(now_of(row).status, now_of(row).tier) for row in (fact, dim)] == [("active", "cold")] * 2
    assert (now_of(pinned).status, now_of(pinned).tier) == ("active", "hot")


def test_what_somebody_did_once_fades_as_if_it_claimed_nothing(run, remember, now_of, alice):
    faint = {"age": 60, "type": "episodic", "importance": 0.3, "by": alice.principal, "source": "user_implicit"}
    deed = ClaimDraft("user", "has_done", "met the heron", exclusive=False, span=(0, 16))
    taste = ClaimDraft("user", "likes", "herons", exclusive=False)
    did = remember("We met the heron.", vector=unit(1), claim=deed, **faint)
    likes = remember("I like herons.", vector=unit(0, 1), claim=taste, **faint)
    run()
    assert (now_of(did).status, now_of(did).archived_reason) == ("archived", "decayed")
    assert now_of(likes).status == "active"


def test_a_dry_run_changes_nothing_and_tells_what_its_run_would_do(run, remember, digest, alice, bob):
    remember("The heron nests behind the mill.", by=alice.principal, source="tool_output", vector=unit(1))
    remember("The heron nests behind the mill!", by=bob.principal, vector=beside(0.99))
    remember("We met the heron.", vector=unit(0, 0, 1), age=60, type="episodic", importance=0.3)
    before, now = digest(), timezone.now()
    foretold = run(dry_run=True, now=now).report
    assert digest() == before
    assert foretold["plan_id"]
    done = run(plan_id=foretold["plan_id"]).report
    assert digest() != before
    for name in (
        "merged",
        "archived",
        "decayed",
        "corroborated",
        "contradictions",
        "pruned",
        "compressed",
        "plan_hash",
        "before",
        "after",
        "timestamp",
    ):
        assert done[name] == foretold[name], name


def test_a_language_model_is_refused_while_none_is_bound(begin, settings):
    from memories.operations import BadOptions

    settings.SIDECAR_URL = ""
    with pytest.raises(BadOptions, match="No language model"):
        begin(method="llm")


def herons(remember, link, source="inference"):
    """A cluster that nobody changed for long."""
    rows = [
        remember(f"Heron {word} by the mill.", vector=unit(*[0] * n, 1), source=source, age=40 - n)
        for n, word in enumerate(("nests", "fishes", "sleeps"))
    ]
    link(*rows)
    return rows


def test_a_language_model_digests_what_its_judge_allows(
    run, remember, link, model_server, bind_judge, principal, proposal_history
):
    rows = herons(remember, link)
    judge = bind_judge(Judge())
    assert run(method="llm").report["compressed"]["clusters"] == 1
    with access.enter(principal, why="test"):
        made = Fragment.objects.get(source_type="digest")
    assert (made.source, made.authority, set(made.parents)) == ("inference", 1, {row.id for row in rows})
    (entry,) = proposal_history()
    assert (entry.kind, entry.outcome, set(entry.about)) == ("digest", "allowed", set(made.parents))
    assert made.extra["calls"][0]["id"] == str(entry.calls[0])
    assert [len(candidate.sources) for candidate in judge.asked] == [3]


@pytest.mark.parametrize("mode", ["delete_all", "broken", "schema_invalid", "right"])
def test_where_the_model_fails_the_best_sentences_stand_for_the_cluster(
    run, remember, link, model_server, bind_judge, principal, proposal_history, mode
):
    rows = herons(remember, link)
    if mode == "right":
        bind_judge(Judge(allowed=False))
    model_server.mode = mode
    assert run(method="llm").report["compressed"]["clusters"] == 1
    with access.enter(principal, why="test"):
        made = Fragment.objects.get(source_type="digest")
    assert (made.source, made.authority, made.extra) == ("inference", 1, {})
    assert all(word in made.content for word in ("nests", "fishes", "sleeps"))
    assert len(rows) == len(made.parents)
    assert [entry.fragment for entry in proposal_history()] == [None]


def test_a_language_model_does_not_digest_what_is_above_an_inference(
    run, remember, link, model_server, bind_judge, principal
):
    herons(remember, link, source="tool_output")
    judge = bind_judge(Judge())
    assert run(method="llm").report["compressed"]["clusters"] == 1
    with access.enter(principal, why="test"):
        made = Fragment.objects.get(source_type="digest")
    assert (made.source, made.authority, made.extra, judge.asked) == ("tool_output", 4, {}, [])
