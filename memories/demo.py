"""The demo project: what a support agent and a travel agent came to remember of one customer over forty days."""

import datetime
from typing import Any

from conflicts.public import ClaimDraft
from memories import access, ingest, upkeep
from memories.access import Principal, keys
from memories.ingest import Draft
from memories.models import Namespace
from memories.models.enums import ClaimScope, CopyReason, EvictionReason

PROJECT = "demo"
TOUR = "demo:tour"

# days ago, type, source type, source class, text
STORY: list[tuple[int, str, str, str, str]] = [
    (40, "episodic", "conversation", "user_implicit", "Mara: We moved the whole team onto the new billing plan today."),
    (
        40,
        "semantic",
        "manual",
        "user_explicit",
        "Mara Lindqvist leads customer operations at Fjordline Analytics in Seattle.",
    ),
    (40, "semantic", "manual", "user_explicit", "I live in Seattle, close to the office."),
    (39, "semantic", "manual", "user_explicit", "The travel budget for the Lisbon offsite is $750 per person."),
    (
        38,
        "procedural",
        "document",
        "document",
        "How to rotate the export token: open Settings, choose Tokens, press Rotate.",
    ),
    (
        37,
        "episodic",
        "task",
        "tool_output",
        "The nightly export to the warehouse failed twice because the token had expired.",
    ),
    (
        36,
        "semantic",
        "manual",
        "user_explicit",
        "Mara prefers to be written to in the morning, never after six in the evening.",
    ),
    (
        35,
        "episodic",
        "conversation",
        "user_implicit",
        "Mara: Jonas found the cause of the failed exports; it was the token after all.",
    ),
    (34, "semantic", "task", "tool_output", "Fjordline Analytics has 42 seats, 3 of them unused since January."),
    (
        33,
        "procedural",
        "retrospective",
        "inference",
        "Steps before each release: run the export once by hand, then watch the first hour.",
    ),
    (
        31,
        "semantic",
        "conversation",
        "user_implicit",
        "Mara is allergic to peanuts and asks for a vegetarian menu on flights.",
    ),
    (
        30,
        "episodic",
        "conversation",
        "user_implicit",
        "Mara: The board liked the churn report, they want it every month from now on.",
    ),
    (
        28,
        "semantic",
        "document",
        "document",
        "The service agreement with Fjordline renews on the first of March each year.",
    ),
    (27, "episodic", "task", "tool_output", "Seat usage report sent to Mara; she answered within ten minutes."),
    (25, "semantic", "manual", "user_explicit", "Jonas Weber signs contracts for Fjordline; Mara does not."),
    (
        24,
        "episodic",
        "conversation",
        "user_implicit",
        "Mara: We are thinking about opening a second office, probably Austin.",
    ),
    (
        22,
        "semantic",
        "web",
        "document",
        "Lisbon hotels near the conference centre cost between 140 and 190 euros in May.",
    ),
    (
        21,
        "procedural",
        "manual",
        "user_explicit",
        "How to escalate a billing question: assign it to Priya and mention the invoice number.",
    ),
    (
        20,
        "semantic",
        "web",
        "document",
        "Offsite planning page, updated: the travel budget for Lisbon is $0 per person until further notice.",
    ),
    (20, "episodic", "task", "tool_output", "Invoice 2041 was paid eleven days late; no reminder was needed."),
    (
        18,
        "semantic",
        "conversation",
        "user_implicit",
        "Mara's team uses Looker for dashboards and would rather not switch.",
    ),
    (
        17,
        "episodic",
        "conversation",
        "user_implicit",
        "Mara: Please stop sending the weekly digest, the monthly one is enough.",
    ),
    (15, "semantic", "manual", "user_explicit", "Fjordline must have its data stored inside the European Union."),
    (
        13,
        "episodic",
        "task",
        "tool_output",
        "Moved Fjordline's backups to the Frankfurt region; restore was tested the same day.",
    ),
    (
        12,
        "semantic",
        "retrospective",
        "inference",
        "Questions from Fjordline come mostly on Mondays, after their planning meeting.",
    ),
    (
        10,
        "episodic",
        "conversation",
        "user_implicit",
        "Mara: I signed the lease, we move to Austin at the end of the month.",
    ),
    (9, "semantic", "manual", "user_explicit", "I live in Austin now."),
    (
        8,
        "procedural",
        "document",
        "document",
        "How to change the invoicing address: the account owner confirms it by mail, then finance updates it.",
    ),
    (
        6,
        "episodic",
        "task",
        "tool_output",
        "Booked three rooms in Lisbon for the offsite, cancellable until the tenth.",
    ),
    (5, "semantic", "task", "tool_output", "The churn report is sent to the board on the first Monday of the month."),
    (4, "semantic", "manual", "user_explicit", "Priya Raman covers for Mara during the move."),
    (39, "episodic", "conversation", "user_implicit", "Mara: The first week on the new plan went without a complaint."),
    (38, "semantic", "document", "document", "The export guide says that tokens expire after ninety days."),
    (37, "semantic", "conversation", "user_implicit", "Jonas likes short answers with a link to the details."),
    (
        36,
        "episodic",
        "task",
        "tool_output",
        "Opened ticket 318 about the expired token, closed it the same evening.",
    ),
    (35, "procedural", "manual", "user_explicit", "How to greet Mara: use her first name, never her title."),
    (34, "episodic", "conversation", "user_implicit", "Mara: Legal wants to see the data processing addendum again."),
    (33, "semantic", "web", "document", "The conference in Lisbon expects two thousand visitors."),
    (32, "episodic", "task", "tool_output", "Sent the data processing addendum to the legal team of Fjordline."),
    (
        32,
        "semantic",
        "conversation",
        "user_implicit",
        "Fjordline watches its support channel from eight to five.",
    ),
    (31, "episodic", "conversation", "user_implicit", "Mara: Our intern wrote a script that checks every export."),
    (29, "semantic", "document", "document", "Invoices to Fjordline carry a purchase order number."),
    (29, "procedural", "document", "document", "How to add a purchase order: open Billing, choose Orders, paste it."),
    (
        28,
        "episodic",
        "task",
        "tool_output",
        "The checking script found two rows without a region; both were mended.",
    ),
    (26, "semantic", "retrospective", "inference", "Answers with a screenshot save Fjordline a second question."),
    (26, "episodic", "conversation", "user_implicit", "Mara: The auditors come in the second half of the quarter."),
    (25, "semantic", "manual", "user_explicit", "Fjordline writes dates as year, month, day."),
    (23, "episodic", "task", "tool_output", "Prepared a list of all seats with their last login for the auditors."),
    (23, "semantic", "conversation", "user_implicit", "Priya speaks Tamil, Hindi and English."),
    (21, "episodic", "conversation", "user_implicit", "Mara: The keynote slides are with the designers now."),
    (
        19,
        "procedural",
        "retrospective",
        "inference",
        "Steps when an export is late: look at the queue, then the token.",
    ),
    (19, "semantic", "web", "document", "The tram from Lisbon airport to the centre takes forty minutes."),
    (16, "episodic", "task", "tool_output", "Moved the monthly call with Fjordline to the second Tuesday."),
    (14, "semantic", "conversation", "user_implicit", "The dashboards of Fjordline are read most on Monday mornings."),
    (12, "episodic", "conversation", "user_implicit", "Mara: The auditors were content with the list of seats."),
    (7, "episodic", "task", "tool_output", "Told the hotel in Lisbon that one guest eats no peanuts."),
    (6, "semantic", "manual", "user_explicit", "The offsite has room for twelve people."),
    # Said twice: a consolidation merges the two.
    (3, "semantic", "task", "tool_output", "The churn report is sent to the board on the first Monday of the month"),
    (2, "episodic", "conversation", "user_implicit", "Priya: The keynote in Lisbon was moved to Thursday morning."),
    (
        1,
        "semantic",
        "task",
        "tool_output",
        "The latest export took 14 minutes and moved 2.1 million rows without an error.",
    ),
]

# The beginning of what was said twice: it is of no one time, so that the two say the same.
SAID_TWICE = "The churn report is sent to the board"

# What was evicted two days later; a tombstone stands for it, and brings it back.
GONE = (38, "episodic", "task", "tool_output", "Mara asked for a quote for ten more seats, then waited for the audit.")

# What some of the sentences claim, by their beginnings: subject, predicate, value, and whether from that day on.
CLAIMS: dict[str, tuple[str, str, str, bool]] = {
    "The travel budget for the Lisbon offsite is $750": ("lisbon offsite", "budget", "$750", False),
    "Offsite planning page, updated": ("lisbon offsite", "budget", "$0", False),
    "I live in Seattle": ("user", "lives_in", "Seattle", True),
    "I live in Austin": ("user", "lives_in", "Austin", True),
    "Jonas Weber signs contracts": ("fjordline", "signatory", "Jonas Weber", False),
    "Fjordline Analytics has 42 seats": ("fjordline", "seats", "42", False),
    "Priya Raman covers for Mara": ("mara", "deputy", "Priya Raman", False),
}


def create_story(*, now: datetime.datetime) -> int:
    """Make the demo project with its story; the number of new fragments, 0 when it stands already."""
    principal = access.system_principal(keys.ensure_project(PROJECT), ceiling="user_explicit")
    with access.enter(principal, why="demo"):
        if Namespace.objects.within(principal.project_id).filter(name=TOUR).exists():
            return 0
    days = sorted({s[0] for s in STORY}, reverse=True)
    counts = sum(_day(principal, day, now - datetime.timedelta(days=day)) for day in days)
    _evict(principal, now)
    return counts


def _evict(principal: Principal, now: datetime.datetime) -> None:
    """Tell of one more memory, and let it leave."""
    days_ago, kind, source_type, source, text = GONE
    then = now - datetime.timedelta(days=days_ago)
    options: dict[str, Any] = {
        "type": kind,
        "source_type": source_type,
        "source": source,
        "event_at": then,
        "category": "demo",
    }
    draft = Draft(namespace=TOUR, agent_id="support", content=text, **options)
    (admission,) = ingest.store(principal, ingest.prepare([draft], embed_now=False), now=then)
    cause = upkeep.lifecycle.Cause(EvictionReason.LOW_WEIGHT, {})
    with access.enter(principal, why="demo"):
        upkeep.lifecycle.remove_fragments(
            principal.project_id,
            {admission.fragment.id: cause},
            copied=CopyReason.EVICTED,
            operation_id=None,
            now=then + datetime.timedelta(days=2),
        )


def _day(principal: Principal, day: int, then: datetime.datetime) -> int:
    drafts = [
        Draft(
            namespace=TOUR,
            agent_id="support",
            content=text,
            type=kind,
            source_type=source_type,
            source=source,
            event_at=None if text.startswith(SAID_TWICE) else then,
            category="demo",
            claims=_claims(text, then=then),
        )
        for days_ago, kind, source_type, source, text in STORY
        if days_ago == day
    ]
    return len(ingest.store(principal, ingest.prepare(drafts, embed_now=False), now=then))


def _claims(text: str, *, then: datetime.datetime) -> list[ClaimDraft]:
    for beginning, (subject, predicate, value, from_then_on) in CLAIMS.items():
        if text.startswith(beginning):
            if from_then_on:
                return [ClaimDraft(subject, predicate, value, scope=ClaimScope.TEMPORAL, valid_from=then)]
            return [ClaimDraft(subject, predicate, value)]
    return []
