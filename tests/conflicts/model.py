"""Belief as docs/spec.md §4 tell it, in plain lists: what the real rooms are compared with, step by step.

It knows no slots, locks, digests or rows. That two values stand at once because a person said so is a relation between
fragments here (`beside`). Where the texts leave something open, it follows what the rooms say of themselves:

- a temporal claim that is over by now leaves what goes on from its end;
- an open-ended temporal claim is cut at the next claim that begins later before it is judged;
- of two claims with different exclusivity the one of more authority says whether they oppose each other;
- a value that a ruling ruled out is barred for every scope and period of its session, but neither for who corrects
  themselves nor for the user's own words;
- what a ruling chose is as strong as whoever decided, who alone may change it with as much authority;
- the user's own words stand beside it, with a conflict, until somebody decides;
- what returns from the archive is no newer than what stands, and what is doubted replaces nothing;
- that two were kept excuses who repeats one of them, as long as these two still oppose each other;
- what waits is superseded as soon as somebody who says the same stands with at least its authority, or was ruled on for
  all of its time.
"""

import datetime
import uuid
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction

WEIGHT = {6: "1", 5: ".95", 4: ".85", 3: ".7", 2: ".6", 1: ".5"}
THRESHOLD = Fraction(".4")
PERSON = 6
STANDING, WAITING = ("active", "disputed"), "quarantined"

Moment = datetime.datetime | None


class Refused(Exception):
    """The rooms have to refuse this; the word names their exception."""


@dataclass
class Said:
    """What somebody claims."""

    id: uuid.UUID
    owner: str
    authority: int
    key: str
    value: str
    scope: str = "global"
    session: str = ""
    start: Moment = None
    end: Moment = None
    exclusive: bool = True
    at: Moment = None
    status: str = "active"
    successor: uuid.UUID | None = None
    reason: str = ""
    updated: Moment = None
    reinforced: frozenset[str] = frozenset()
    disputed: frozenset[str] = frozenset()
    corroborated: frozenset[str] = frozenset()
    beside: frozenset[uuid.UUID] = frozenset()
    # Whether a ruling in force chose what it says, where it stands or waits.
    ruled: bool = False

    @property
    def rank(self):
        """How far it is believed, the ruling counted: the person who decides may be believed most."""
        return PERSON if self.ruled else self.authority

    @property
    def attested(self):
        """The user's own words."""
        return self.authority == PERSON

    def state(self):
        """What a decision changes and an undo brings back."""
        return (self.status, self.successor, self.reason, self.updated, self.start, self.end, self.exclusive)

    def belief(self):
        """The same without the time: when it was last touched is nobody's belief."""
        return (self.status, self.successor, self.reason, self.start, self.end, self.exclusive)

    def restore(self, state):
        """Makes it what it was."""
        self.status, self.successor, self.reason, self.updated, self.start, self.end, self.exclusive = state

    @property
    def stands(self):
        """Whether it is believed, or was and is doubted."""
        return self.status in STANDING

    @property
    def trust(self):
        """Trust without its age part (docs/spec.md §4.1)."""
        r, d = len(self.reinforced), len(self.disputed)
        agreed = min(Fraction(".2"), len(self.corroborated) * Fraction(".05"))
        return Fraction(WEIGHT[self.authority]) + agreed + (Fraction(r - d, r + d) * Fraction(".15") if r + d else 0)

    @property
    def doubtful(self):
        """Whether the votes make it disputed."""
        return bool(self.disputed) and self.trust < THRESHOLD


@dataclass(eq=False)
class Open:
    """A conflict: what waits against what stands, or a review of what stands alone."""

    kind: str
    newcomer: uuid.UUID | None
    existing: uuid.UUID | None
    said: Said
    resolution: str = ""
    siblings: list["Open"] = field(default_factory=list)
    before: dict | None = None
    settled_with: "Open | None" = None
    # Something that was once part of it was forgotten: it need not be taken back any more.
    part_is_gone: bool = False


@dataclass(eq=False)
class Ruled:
    """What a decision left on a key."""

    key: str
    session: str
    start: Moment
    end: Moment
    chosen: frozenset[str]
    out: frozenset[str]
    # The memories that were chosen, which are protected whatever becomes of them.
    protected: frozenset[uuid.UUID]
    conflict: Open
    replaced_by: "Ruled | None" = None


def later(one: Moment, other: Moment):
    """Whether a beginning comes after another; without one it was always so."""
    return one is not None and (other is None or other < one)


def is_over(said, now):
    """Whether it ended by then."""
    return said.end is not None and said.end <= now


def meets(one, other):
    """The same place and time."""
    runs = (one.start is None or other.end is None or one.start < other.end) and (
        other.start is None or one.end is None or other.start < one.end
    )
    return one.key == other.key and one.session == other.session and runs


def contains(one, other):
    """Whether the other holds only while this one does."""
    begins = one.start is None or (other.start is not None and one.start <= other.start)
    return begins and (one.end is None or (other.end is not None and other.end <= one.end))


def opposes(one, other):
    """Not both can be true."""
    if one.value == other.value or not meets(one, other):
        return False
    if one.rank == other.rank:
        return one.exclusive or other.exclusive
    return max(one, other, key=lambda said: said.rank).exclusive


def is_no_weaker(one, other):
    """Whether one makes the other a repetition: as strong, or ruled on for all of the other's time."""
    return other.authority <= one.authority or (one.ruled and other.authority < one.rank and contains(one, other))


def repeats(one, other):
    """The same, in the same scope, session and time."""
    return one.value == other.value and one.scope == other.scope and meets(one, other)


class Model:
    """Everything that was ever said in one namespace, and what became of it."""

    def __init__(self, newer_wins=()):
        self.said: dict[uuid.UUID, Said] = {}
        self.conflicts: list[Open] = []
        self.rulings: list[Ruled] = []
        # Those that stand against a ruling, and whose conflicts are still to be made.
        self.contesting: set[uuid.UUID] = set()
        self.newer_wins = frozenset(newer_wins)
        # By whom the rooms say that somebody was replaced: breaks ties between several that would do.
        self.told: dict[uuid.UUID, uuid.UUID | None] = {}

    # What there is

    def on(self, key, *statuses):
        """What stands, or has these statuses, on a key."""
        return [said for said in self.said.values() if said.key == key and said.status in (statuses or STANDING)]

    def pending(self, **sides):
        """The conflicts that wait."""
        return [c for c in self.conflicts if not c.resolution and all(getattr(c, k) == v for k, v in sides.items())]

    def counts(self):
        """How many there are of each status."""
        return Counter(said.status for said in self.said.values())

    def in_force(self):
        """The rulings that no later one replaced."""
        return [ruling for ruling in self.rulings if not ruling.replaced_by]

    def look_up(self):
        """Tells everything that stands or waits whether it was ruled on."""
        for said in self.said.values():
            said.ruled = said.status in (*STANDING, WAITING) and self.chose(said)

    def chose(self, said):
        """Whether a ruling chose what it says."""
        return any(said.value in ruling.chosen and meets(ruling, said) for ruling in self.in_force())

    def contests(self, said):
        """Whether it stands, and waits for a decision besides."""
        return said.stands and bool(self.pending(kind="claim", newcomer=said.id))

    def contested(self, one, other):
        """Whether both stand until a person decides between them."""
        pairs = {(c.newcomer, c.existing) for c in self.pending(kind="claim")}
        return bool({(one.id, other.id), (other.id, one.id)} & pairs)

    def rivals(self, *statuses):
        """Pairs that stand though only one of them can be true, and nobody decided otherwise or has to yet."""
        keys = {said.key for said in self.said.values()}
        here = [self.on(key, *(statuses or STANDING)) for key in keys]
        pairs = [(a, b) for row in here for i, a in enumerate(row) for b in row[i + 1 :]]
        return [(a, b) for a, b in pairs if opposes(a, b) and b.id not in a.beside and not self.contested(a, b)]

    # Storing

    def judge(self, new, *, person=False, returning=False):
        """(outcome, the twins that it could be one with, the opponents). Cuts an open end first."""
        self.look_up()
        new.ruled = False
        others = [said for said in self.on(new.key) if said.id != new.id]
        if new.scope == "temporal" and new.end is None:
            new.end = min((o.start for o in others if opposes(new, o) and later(o.start, new.start)), default=None)
        twins = [o for o in others if repeats(new, o)]
        if same := [o for o in twins if is_no_weaker(o, new)]:
            highest = max((o.rank, o.authority) for o in same)
            return "same", [o for o in same if (o.rank, o.authority) == highest], []
        excused = {other for twin in twins if contains(twin, new) for other in self.besides(twin)}
        opponents = [o for o in others if opposes(new, o) and o.id not in excused]
        wins = all(self._beats(new, o, returning) for o in opponents)
        if not person and any(self.bars(ruling, new) for ruling in self.in_force()):
            return "archived", [], []
        waiting = [o for o in self.on(new.key, WAITING) if o.id != new.id and repeats(new, o) and o.owner == new.owner]
        if not returning and (waiting := [o for o in waiting if new.authority <= o.authority]):
            return "same", waiting, []
        if not wins:
            beaten = [o for o in opponents if self._beats(new, o, returning)]
            if new.attested and all(o.ruled for o in opponents if o not in beaten):
                return "contest", [], beaten
            return WAITING, [], opponents
        return "active", [o for o in twins if o.rank <= new.authority], opponents

    def _beats(self, new, other, returning):
        newer = not returning and not other.ruled and (new.owner == other.owner or new.key in self.newer_wins)
        return new.authority > other.rank or (new.authority == other.rank and newer)

    @staticmethod
    def bars(ruling, new):
        """Whether a person ruled this out."""
        same = (ruling.key, ruling.session) == (new.key, new.session) and new.value in ruling.out
        return same and not new.attested

    def besides(self, said):
        """Who stands beside somebody by a person's decision, though they oppose each other."""
        return {i for i in said.beside if i in self.said and self.said[i].stands and opposes(said, self.said[i])}

    def store(self, news, now, *, answered):
        """Somebody says this, in order; `answered` are the ids of what the rooms took each for."""
        kept = [self._store(new, now, twin=twin) for new, twin in zip(news, answered, strict=True)]
        for key in dict.fromkeys(new.key for new in news):
            self.repair(key, now)
        return kept

    def _store(self, new, now, *, twin):
        outcome, twins, opponents = self.judge(new)
        if outcome == "same":
            same = self._one_of(twins, twin)
            if same.stands:
                self._corroborate(same, new.owner, now)
            return same.id
        self.said[new.id] = new
        new.at = new.updated = now
        self._enter(new, outcome, twins, opponents, now)
        return new.id

    @staticmethod
    def _one_of(several, told):
        return next((said for said in several if said.id == told), several[0])

    def _enter(self, new, outcome, twins, opponents, now):
        new.status = "active" if outcome == "contest" else outcome
        new.reason = "precedent_rejected" if outcome == "archived" else ""
        if outcome not in ("active", "contest"):
            return
        if outcome == "contest":
            self.contesting.add(new.id)
        for other in opponents:
            if outcome == "active" and new.scope == "temporal" and is_over(new, now) and not is_over(other, now):
                other.start = new.end
            elif outcome == "active" and new.scope == "temporal" and later(new.start, other.start):
                other.end = new.start
            else:
                self._supersede(other, new, now)
        for twin in twins:
            self._keep(new, [self.said[i] for i in self.besides(twin)])
            self._supersede(twin, new, now)

    def _keep(self, one, others):
        for other in others:
            one.beside |= {other.id}
            other.beside |= {one.id}

    def _supersede(self, old, new, now):
        old.status, old.successor, old.updated = "superseded", new.id, now
        for conflict in self.pending(kind="dispute", existing=old.id) + self.pending(kind="claim", newcomer=old.id):
            conflict.resolution = "obsolete"

    def repair(self, key, now, *, decided=False):
        """Every newcomer that waits has one conflict with each opponent that stands now.

        After a decision nobody waits with what its owner took back by a later value that stands.
        """
        self.look_up()
        for said in sorted(self._contesting(key), key=lambda one: one.id):
            self._replace_former(said, now)
        for waiting in self.on(key, WAITING):
            mine = self.pending(kind="claim", newcomer=waiting.id)
            same = [o for o in self.on(key) if repeats(waiting, o) and is_no_weaker(o, waiting)]
            opponents = {o.id for o in self.on(key) if opposes(waiting, o)}
            if same:
                highest = max(o.rank for o in same)
                same = [o for o in same if o.rank == highest]
                self._supersede(waiting, self._one_of(same, self.told.get(waiting.id)), now)
            elif decided and (later := self._own_later(waiting, opponents)):
                same = [max(later, key=lambda other: (other.at, other.id))]
                self._supersede(waiting, same[0], now)
            if same or opponents:
                for conflict in mine:
                    if conflict.existing not in opponents or same:
                        conflict.resolution = "obsolete"
            if not same:
                for existing in opponents - {conflict.existing for conflict in mine}:
                    self.conflicts.append(Open("claim", waiting.id, existing, waiting))
        self._face_rulings(key)

    def _contesting(self, key):
        return [said for said in self.on(key) if self.contests(said) or said.id in self.contesting]

    def _replace_former(self, said, now):
        """Once no ruling is in the way, what its owner said before yields, and what is believed less."""
        opponents = [o for o in self.on(said.key) if o.id != said.id and opposes(said, o)]
        # It stands no more where another of these replaced it meanwhile.
        if said.stands and all(self._beats(said, o, False) and o.at <= said.at for o in opponents):
            for former in opponents:
                self._supersede(former, said, now)

    def _face_rulings(self, key):
        for said in self._contesting(key):
            self._face(said, {o.id for o in self.on(key) if o.id != said.id and opposes(said, o)})
            self.contesting.discard(said.id)

    def _face(self, said, opponents):
        """What stands against a ruling has one conflict with each opponent, and none when there is none."""
        mine = self.pending(kind="claim", newcomer=said.id)
        for conflict in mine:
            if conflict.existing not in opponents:
                conflict.resolution = "obsolete"
        for existing in opponents - {conflict.existing for conflict in mine}:
            self.conflicts.append(Open("claim", said.id, existing, said))

    def _own_later(self, waiting, opponents):
        others = [self.said[i] for i in opponents]
        return [
            o for o in others if o.owner == waiting.owner and o.authority >= waiting.authority and o.at > waiting.at
        ]

    # Votes

    def _corroborate(self, said, owner, now):
        if owner == said.owner or owner in said.corroborated:
            return False
        said.corroborated |= {owner}
        said.updated = now
        self._settle(said, now)
        return True

    def _settle(self, said, now):
        if said.status == "active" and said.doubtful:
            said.status, said.updated = "disputed", now
        elif said.status == "disputed" and not self.doubted(said):
            said.status, said.updated = "active", now

    def doubted(self, said):
        """Whether votes or a person keep it disputed."""
        reviews = [c.resolution for c in self.conflicts if c.kind == "dispute" and c.existing == said.id]
        return said.doubtful or "supersede" in reviews

    def vote(self, owner, rank, which, ballot, now):
        """Whether it counts."""
        said = self.said[which]
        if ballot == "corroborate":
            return self._corroborate(said, owner, now)
        if owner == said.owner:
            return False
        said.reinforced -= {owner}
        said.disputed -= {owner}
        self.look_up()
        protected = any(which in ruling.protected for ruling in self.in_force())
        bound = PERSON if protected else said.authority
        counts = ballot == "reinforce" or rank >= bound
        if ballot == "reinforce":
            said.reinforced |= {owner}
        elif counts:
            said.disputed |= {owner}
        self._settle(said, now)
        if not counts and said.status == "active" and not self.pending(kind="dispute", existing=which):
            self.conflicts.append(Open("dispute", None, which, said))
        return counts

    # Settling

    def resolve(self, conflict, action, keep, now):
        """A person decides. Raises Refused, having changed nothing."""
        if conflict.resolution:
            raise Refused("AlreadyResolved")
        key = conflict.said.key
        before = {said.id: (said.state(), said.beside) for said in self.said.values()}
        open_before = [c for c in self.conflicts if not c.resolution]
        siblings = [c for c in self.pending(newcomer=conflict.newcomer) if c is not conflict and conflict.newcomer]
        self.look_up()
        kept = []
        if conflict.kind == "dispute":
            self._review(conflict, action, now)
        else:
            kept = self._decide([conflict, *siblings], action, keep, now)
        for settled in (conflict, *siblings):
            settled.resolution, settled.settled_with = action, conflict
        known = list(self.conflicts)
        self.repair(key, now, decided=True)
        changed = {i: was for i, was in before.items() if was[0] != self.said[i].state()}
        conflict.siblings = siblings
        conflict.before = {
            "said": changed,
            "after": {i: self.said[i].belief() for i in changed},
            "ended": [c for c in open_before if c.resolution == "obsolete"],
            "made": [c for c in self.conflicts if c not in known],
            "kept": kept,
        }

    def _review(self, conflict, action, now):
        if action == "keep_both":
            raise Refused("NotApplicable")
        said = self.said[conflict.existing]
        if action == "supersede" and said.status == "active":
            said.status, said.updated, said.reason = "disputed", now, ""

    def _decide(self, conflicts, action, keep, now):
        new = self.said[conflicts[0].newcomer]
        named = {c.existing for c in conflicts}
        # What is chosen alone opposes with the rank that it gets.
        new.ruled = new.ruled or (action == "supersede" and new.key not in self.newer_wins)
        others = [o for o in self.on(new.key) if o.id in named or opposes(new, o)]
        if action == "keep_both" and keep == "period":
            self._split(new, others)
        if action == "keep_both" and keep == "pair":
            self._keep(new, others)
        if action == "supersede":
            spared = [o for o in others if o.attested and o.id not in named]
            others = [o for o in others if o not in spared]
            self.contesting |= {o.id for o in spared}
            for other in others:
                self._supersede(other, new, now)
        new.status, new.updated = ("archived", now) if action == "reject" else ("active", now)
        new.reason = "rejected" if action == "reject" else ""
        if new.key not in self.newer_wins:
            self._rule(conflicts[0], new, others, action)
        return self._keep_the_rest(new)

    def _keep_the_rest(self, new):
        """A ruling makes those it chose oppose others that stand already: these go on standing beside them."""
        self.look_up()
        kept = [(a, b) for a, b in self.rivals() if a.key == new.key and not {a.id, b.id} & self.contesting]
        for a, b in kept:
            self._keep(a, [b])
        return kept

    def _rule(self, conflict, new, others, action):
        """A decision holds: what contradicts it is replaced, and what that said besides is said by it."""
        theirs = {o.value for o in others}
        chosen = set() if action == "reject" else {new.value} | (theirs if action == "keep_both" else set())
        out = {new.value} if action == "reject" else theirs - chosen if action == "supersede" else set()
        start, end = (new.start, new.end) if action == "supersede" else (None, None)
        losers = {new.id} if action == "reject" else {o.id for o in others} if action == "supersede" else set()
        winners = set() if action == "reject" else {new.id} | ({o.id for o in others} - losers)
        made = Ruled(new.key, new.session, start, end, frozenset(chosen), frozenset(out), frozenset(winners), conflict)
        for old in self.in_force():
            if meets(made, old) and (chosen & old.out or out & old.chosen):
                old.replaced_by = made
                made.out |= old.out - chosen
                made.chosen |= old.chosen - out
                made.protected |= {i for i in old.protected if i in self.said and self.said[i].value not in out}
        self.rulings.append(made)

    def _unrule(self, conflict):
        """Takes the ruling of a decision away; how to put it back."""
        former = [(ruling, ruling.replaced_by) for ruling in self.rulings]
        self.rulings = [ruling for ruling in self.rulings if ruling.conflict is not conflict]
        for ruling in self.rulings:
            ruling.replaced_by = ruling.replaced_by if ruling.replaced_by in self.rulings else None
        self.look_up()

        def back():
            self.rulings = [ruling for ruling, _ in former]
            for ruling, by in former:
                ruling.replaced_by = by
            self.look_up()

        return back

    def _split(self, new, others):
        """One after the other: whoever begins later ends the other; of two that begin alike the newcomer gives way."""
        start, end, ends = new.start, new.end, {}
        probe = Said(new.id, new.owner, new.authority, new.key, new.value, session=new.session)
        longest = sorted(others, key=lambda o: (o.end is None, o.end and o.end.timestamp()), reverse=True)
        for other in sorted(longest, key=lambda o: (o.start is not None, o.start)):
            probe.start, probe.end = start, end
            if not meets(probe, other):
                continue
            if later(start, other.start):
                ends[other.id] = start
            elif later(other.start, start):
                end = other.start
            else:
                # Two that begin alike: the newcomer begins when it was said, or where the other ended before that.
                cut = new.at if other.end is None else min(other.end, new.at)
                if not later(cut, other.start) or (end is not None and cut >= end):
                    raise Refused("CannotSplit")
                start = ends[other.id] = cut
        new.start, new.end = start, end
        for i, until in ends.items():
            self.said[i].end = until

    def changed_since(self, conflict):
        """Whether something that a decision touched is not any more as the decision left it."""
        after = conflict.before["after"]
        lost = conflict.kind == "dispute" and not (conflict.existing and self.said[conflict.existing].stands)
        return lost or any(i not in self.said or self.said[i].belief() != belief for i, belief in after.items())

    def crowded(self, conflict):
        """Whether what would come back meets an active exclusive claim, be it of the same value: undoing may fail."""
        coming = [i for i, (state, _) in conflict.before["said"].items() if state[0] in STANDING and i in self.said]
        here = [said for said in self.said.values() if said.status == "active" and said.id not in coming]
        return any(said.exclusive and meets(self.said[i], said) for i in coming for said in here)

    def _collide(self, pair, restored):
        """Whether two can't stand together again: what contests a ruling waits for a person, or replaces the other."""
        if all(said.id in restored for said in pair):
            return False  # as they stood before
        return not any(said.id not in restored and self.contests(said) for said in pair)

    def undo(self, conflict, now):
        """Everything as before. Raises Refused where it must be refused."""
        conflict = conflict.settled_with or conflict
        if conflict.before is None or self.changed_since(conflict):
            raise Refused("CannotUndo")
        barred = self._barred()
        rule_again = self._unrule(conflict)
        done, former = conflict.before, {said.id: (said.state(), said.beside) for said in self.said.values()}
        for i, (state, beside) in done["said"].items():
            self.said[i].restore(state)
            self.said[i].updated = now
            parted, self.said[i].beside = self.said[i].beside - beside, beside
            for j in parted & self.said.keys():
                self.said[j].beside -= {i}
        for a, b in done["kept"]:
            a.beside, b.beside = a.beside - {b.id}, b.beside - {a.id}
        self.look_up()
        open_again = [{c.newcomer, c.existing} for c in (conflict, *conflict.siblings)]
        rivals = [pair for pair in self.rivals() if {said.id for said in pair} not in open_again]
        if any(self._collide(pair, done["said"]) for pair in rivals):
            rule_again()
            for i, (state, beside) in former.items():
                self.said[i].restore(state)
                self.said[i].beside = beside
            raise Refused("CannotUndo")
        waiting = {said.id for said in self.said.values() if said.status == WAITING}
        ended = [c for c in done["ended"] if c.kind == "dispute" or c.newcomer in waiting]
        for made in done["made"]:
            made.resolution = made.resolution or "obsolete"
        for settled in (conflict, *conflict.siblings, *ended):
            settled.resolution, settled.before, settled.settled_with = "", None, None
        self.repair(conflict.said.key, now)
        self._readmit([said for said in barred if said not in self._barred()], now)

    def _barred(self):
        """What is in the archive because a ruling in force bars it."""
        archived = [s for s in self.said.values() if (s.status, s.reason) == ("archived", "precedent_rejected")]
        return [said for said in archived if any(self.bars(ruling, said) for ruling in self.in_force())]

    def _readmit(self, freed, now):
        """Each is heard; what its owner said again and again but once."""
        heard = set()
        for said in sorted(freed, key=lambda one: (one.at, one.id)):
            same = (said.owner, said.authority, said.key, said.value, said.scope, said.session, said.start, said.end)
            if same not in heard and not any(repeats(said, other) for other in self.on(said.key)):
                heard.add(same)
                self.unarchive(said.id, now)

    # Leaving and coming back

    def archive(self, which, now):
        """Out of all answers."""
        said = self.said[which]
        if said.status in ("superseded", "archived"):
            raise Refused("History")
        self._withdraw(which)
        said.status, said.reason, said.updated = "archived", "by_hand", now

    def unarchive(self, which, now, *, person=False):
        """Back, as far as the gate allows."""
        said = self.said[which]
        if said.status != "archived":
            raise Refused("History")
        former = said.end
        outcome, twins, opponents = self.judge(said, person=person, returning=True)
        doubted = outcome == "active" and self.doubted(said)
        if outcome == "archived" or (doubted and (twins or opponents)):
            said.end = former
            raise Refused("NotPermitted" if outcome == "archived" else "Disputed")
        said.beside, said.updated, said.reason = frozenset(), now, ""
        if outcome == "same":
            twin = self._one_of(twins, self.told.get(which))
            said.status, said.successor = "superseded", twin.id
            if twin.stands:
                self._corroborate(twin, said.owner, now)
        else:
            self._enter(said, outcome, twins, opponents, now)
            said.status = "disputed" if doubted else said.status
        self.repair(said.key, now)

    def forget(self, which):
        """Gone for good; what a person rejected stays known."""
        self._withdraw(which)
        del self.said[which]
        touched = {c.newcomer for c in self.conflicts if which in (c.newcomer, c.existing)} - {None}
        for conflict in self.conflicts:
            if conflict.newcomer in touched or conflict.existing == which:
                (conflict.settled_with or conflict).part_is_gone = True
        for conflict in self.conflicts:
            conflict.newcomer = None if conflict.newcomer == which else conflict.newcomer
            conflict.existing = None if conflict.existing == which else conflict.existing
        for said in self.said.values():
            said.successor = None if said.successor == which else said.successor

    def _withdraw(self, which):
        for conflict in self.pending(newcomer=which) + self.pending(kind="dispute", existing=which):
            conflict.resolution = "obsolete"
