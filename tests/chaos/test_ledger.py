"""The checker by itself: what holds is nothing to tell, and each way in which it may not is told by its name."""

from collections import Counter, defaultdict

import pytest

from script.benches._chaos.ledger import (
    Apart,
    BackedUp,
    Batch,
    Believed,
    Deleted,
    Finished,
    Forgotten,
    Holds,
    Ledger,
    Merged,
    Packed,
    Sight,
    Stored,
    Undone,
)

PLACE = "chaos:a"


def row(id, mark, **more):
    return {
        "id": id,
        "namespace": PLACE,
        "content": f"The {mark}.",
        "revision": 1,
        "status": "active",
        "reinforcements": 0,
        "disputes": 0,
        **more,
    }


def sight(*rows, **more):
    places = defaultdict(list)
    for one in rows:
        places[one["content"][4:-1]].append(one)
    nothing = {
        "claims": {},
        "conflicts": {},
        "operations": {},
        "started": Counter(),
        "backups": {},
        "unindexed": set(),
        "votes": {},
        "remains": {},
        "found": set(),
        "revived": set(),
        "packs": {},
        "projects": {"chaos"},
        "files": {"chaos-b.ndjson.gz"},
    }
    return Sight(fragments={one["id"]: one for one in rows}, places=places, **{**nothing, **more})


def told(fact, seen):
    ledger = Ledger()
    ledger.keep(fact)
    return sorted({finding.verdict for finding in ledger.check(seen)})


TEXT = Stored("store", "heron", "1", PLACE, "The heron.")
VOTED = Stored("vote", "heron", "1", PLACE, "The heron.", ballots=Counter(reinforce=1))
PAIR = Batch("batch", PLACE, [TEXT, Stored("batch", "otter", "2", PLACE, "The otter.")])
GONE = Forgotten("forget", "heron", "1", PLACE, "The heron.")
DECIDED = Believed("resolve", "gate", "12", "2", "1", "c")
SIDES = [row("1", "old", status="superseded"), row("2", "new")]
BELIEF = {"claims": {"gate": [{"value": "12"}]}, "conflicts": {"c": {"status": "resolved"}}}
ENDED = Finished("fork", PLACE, "o")
COPIED = Holds("fork", PLACE, ["heron", "otter"])
ALIKE = Merged("consolidate", PLACE, ("1", "2"))
KEPT = BackedUp("backup", "b", 3)
BACK = Undone("undo", PLACE, ["heron"], ["otter", "raven"])
PARTED = Apart("undo", PLACE, ("1", "2"))
PACK = Packed("pack", "p", PLACE, "5e", 3)
CLEARED = Deleted("delete project", "other", ["heron"])
RAN = {"operations": {"o": {"state": "succeeded", "error": None}}, "started": Counter({("fork", PLACE): 1})}
HERON, OTTER, RAVEN = row("1", "heron"), row("2", "otter"), row("3", "raven")


@pytest.mark.parametrize(
    ("fact", "seen"),
    [
        (TEXT, sight(HERON)),
        (VOTED, sight({**HERON, "reinforcements": 1}, votes={"1": Counter(reinforce=1)})),
        (PAIR, sight(HERON, OTTER)),
        (GONE, sight(OTTER)),
        (DECIDED, sight(*SIDES, **BELIEF)),
        (ENDED, sight(**RAN)),
        (ENDED, sight(operations={"o": {"state": "failed", "error": {"code": "worker_lost"}}})),
        (COPIED, sight(HERON, OTTER)),
        (ALIKE, sight(HERON, {**OTTER, "status": "superseded"})),
        (KEPT, sight(backups={"b": {"records": 3, "verdict": "sound"}})),
        (BACK, sight(HERON, {**OTTER, "namespace": "chaos:branch"}, {**RAVEN, "namespace": "chaos:branch"})),
        (PARTED, sight(HERON, OTTER)),
        (PACK, sight(packs={"p": ("5e", 3)}, backups={"b": {"namespaces": ["chaos:b"]}})),
        (CLEARED, sight()),
    ],
)
def test_what_holds_is_nothing_to_tell(fact, seen):
    assert told(fact, seen) == []


@pytest.mark.parametrize(
    ("fact", "seen", "verdict"),
    [
        (TEXT, sight(), "lost"),
        (TEXT, sight({**HERON, "content": "The heron. Or not."}), "lost"),
        (TEXT, sight(HERON, row("2", "heron")), "doubled"),
        (TEXT, sight({**HERON, "revision": 2}), "doubled"),
        (TEXT, sight({**HERON, "status": "archived"}), "half-done"),
        (TEXT, sight(HERON, unindexed={"1"}), "half-done"),
        (VOTED, sight({**HERON, "reinforcements": 2}, votes={"1": Counter(reinforce=1)}), "doubled"),
        (VOTED, sight({**HERON, "reinforcements": 1}), "lost"),
        (PAIR, sight(HERON), "half-done"),
        (PAIR, sight(), "lost"),
        (GONE, sight(HERON), "resurrected"),
        (GONE, sight(found={"heron"}), "resurrected"),
        (GONE, sight(remains={"heron": {"words"}}), "resurrected"),
        (GONE, sight(revived={"heron"}), "resurrected"),
        (DECIDED, sight(*SIDES, conflicts=BELIEF["conflicts"]), "lost"),
        (DECIDED, sight(*SIDES, **{**BELIEF, "claims": {"gate": [{"value": "12"}, {"value": "11"}]}}), "doubled"),
        (DECIDED, sight(*SIDES, **{**BELIEF, "conflicts": {"c": {"status": "pending"}}}), "lost"),
        (DECIDED, sight(row("1", "old"), SIDES[1], **BELIEF), "half-done"),
        (ENDED, sight(), "lost"),
        (ENDED, sight(operations={"o": {"state": "running"}}), "half-done"),
        (ENDED, sight(operations={"o": {"state": "failed", "error": {}}}), "lost"),
        (ENDED, sight(**{**RAN, "started": Counter({("fork", PLACE): 2})}), "doubled"),
        (COPIED, sight(), "lost"),
        (COPIED, sight(HERON), "half-done"),
        (COPIED, sight(HERON, OTTER, row("3", "otter")), "doubled"),
        (ALIKE, sight(HERON, OTTER), "lost"),
        (ALIKE, sight(HERON), "half-done"),
        (KEPT, sight(), "lost"),
        (KEPT, sight(backups={"b": {"records": 2, "verdict": "sound"}}), "half-done"),
        (KEPT, sight(backups={"b": {"records": 3, "verdict": "broken"}}), "half-done"),
        (BACK, sight(HERON, OTTER, RAVEN), "lost"),
        (BACK, sight(HERON, OTTER), "half-done"),
        (BACK, sight(HERON, row("4", "heron")), "doubled"),
        (BACK, sight(), "lost"),
        (PARTED, sight(HERON, {**OTTER, "status": "superseded"}), "lost"),
        (PARTED, sight(HERON), "half-done"),
        (PACK, sight(), "lost"),
        (PACK, sight(packs={"p": ("5f", 3)}), "half-done"),
        (PACK, sight(packs={"p": ("5e", 2)}), "half-done"),
        (PACK, sight(packs={"p": ("5e", 3)}, backups={"b": {"namespaces": [PLACE]}}), "half-done"),
        (CLEARED, sight(projects={"chaos", "other"}), "half-done"),
        (CLEARED, sight(files={"other-b.ndjson.gz"}), "half-done"),
        (CLEARED, sight(remains={"heron": {"words"}}), "resurrected"),
    ],
)
def test_what_does_not_hold_is_told(fact, seen, verdict):
    assert told(fact, seen) == [verdict]


def test_what_was_never_answered_is_half_done():
    ledger = Ledger()
    ledger.unanswered.append("store")
    assert [finding.verdict for finding in ledger.check(sight())] == ["half-done"]


def test_a_500_is_broken():
    ledger = Ledger()
    ledger.server_errors = ["POST /api/v1/fragments {}"] * 2
    (finding,) = ledger.check(sight())
    assert (finding.verdict, "2 answers were 500: POST /api/v1/fragments" in finding.detail) == ("broken", True)
