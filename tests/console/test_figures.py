"""/: the figures are those of the rows that they link to."""

import datetime
import html
import re

import pytest
from django.utils import timezone

from conflicts.models import PendingConflict
from memories import access, ingest, retrieval, usage_counters
from memories.console import overview
from memories.models import Access, Fragment, Operation, SearchDay
from memories.upkeep.thresholds import set_thresholds
from tests.console.conftest import words


@pytest.fixture
def many(store, principal):
    """Memories of every age, status, source and use."""
    now = timezone.now()
    sources = ("system", "tool_output", "document", "inference")
    with access.enter(principal, why="test"):
        for n in range(24):
            row = store("acme:main" if n % 3 else "acme:other", f"Observation number {n}.", source=sources[n % 4])
            there = Fragment.objects.filter(id=row.id)
            status = ("active", "active", "active", "quarantined", "superseded")[n % 5]
            votes = {"corroboration": 1 + n % 4, "reinforcements": n % 3, "disputes": n % 2}
            there.update(status=status, base_relevance=1 - 0.03 * n, is_pinned=n == 7, **votes)
            if n % 4 == 1:
                at = now - datetime.timedelta(days=3 * n)
                wish = {"fragment_id": row.id, "access_count": 1, "last_accessed_at": at}
                Access.objects.create(project_id=principal.project_id, **wish)
    return now


def bars(page):
    """Every bar that leads somewhere: where, and its number."""
    found = re.findall(r'<a href="([^"]+)" aria-label="[^"]*: (\d+)"><rect', page.text)
    return {html.unescape(url): int(number) for url, number in found}


def test_bars_lead_to_the_rows_behind_them(adam, many):
    linked = bars(adam.get("/"))
    kinds = {re.search(r"(day|trust|relevance)=", url).group(1) for url in linked}
    assert kinds == {"day", "trust", "relevance"}
    assert len(linked) > 8
    for url, number in linked.items():
        listed = re.findall(r'id="row-([0-9a-f-]{36})"', adam.get(url).text)
        assert len(listed) == number, url


@pytest.mark.parametrize(
    ("rate", "days", "tenth"), [(None, 5, 7), (0.2, 5, 3), (None, 200, 0), (0.005, 200, 3), (0, 20_000, 9), (10, 1, 0)]
)
def test_relevance_is_counted_by_the_rate_of_the_project(adam, alice, old, principal, rate, days, tenth):
    row = old(days)
    set_thresholds(principal, {} if rate is None else {"decay_per_day": rate})
    relevance = alice.client.get(f"/api/v1/fragments/{row.id}").json()["relevance_score"]
    assert int(10 * relevance) == tenth or relevance == 1
    linked = {url: number for url, number in bars(adam.get("/")).items() if "relevance=" in url}
    assert [(url[-3:], number) for url, number in linked.items()] == [(f"0.{tenth}", 1)]
    assert f'id="row-{row.id}"' in adam.get(next(iter(linked))).text


@pytest.mark.parametrize(("rate", "days"), [(None, 34), (0.2, 5), (0.005, 375)])
def test_what_crosses_a_threshold_does_so_by_the_rate_of_the_project(adam, old, principal, rate, days):
    row = old(days)
    set_thresholds(principal, {} if rate is None else {"decay_per_day": rate})
    assert re.search(r"<strong>1</strong> get cold within a week", adam.get("/").text)
    assert f'id="row-{row.id}"' in adam.get("/memories/?relevance=cooling").text


def tiles(page):
    """By title, where the tile of what needs somebody leads, and its number."""
    found = re.findall(
        r'<a class="tile" href="([^"]+)">.*?<strong>(\d+)</strong>\s*<span>([^<]+)', page.text, re.DOTALL
    )
    return {title: (html.unescape(url), int(number)) for url, number, title in found}


def test_what_waits_is_counted_as_the_review_queue_counts_it(rita, challenge):
    for n in range(3):
        challenge("$0", source_id="scraped-docs", content=f"Page {n}: the budget is $0.")
    challenge("$1")
    url, number = tiles(rita.get("/"))["Conflicts waiting"]
    queue = rita.get(url)
    assert number == 2 == len(re.findall(r'id="row-', queue.text))
    assert "2 left" in words(queue)


def test_since_when_the_oldest_waits_is_said_in_days_of_the_calendar(rita, challenge, principal):
    challenge("$0")
    now = timezone.now()
    for at, said in (
        (now, "the oldest from today"),
        (now.replace(hour=0, minute=0, second=0) - datetime.timedelta(minutes=1), "the oldest for 1 day"),
        (now - datetime.timedelta(days=3), "the oldest for 3 days"),
    ):
        with access.enter(principal, why="test"):
            PendingConflict.objects.update(created_at=at)
        assert said in re.sub(r"\s+", " ", words(rita.get("/")))


def test_what_is_new_in_quarantine_is_listed(rita, principal):
    for days in (0, 6, 7, 20):
        draft = ingest.Draft(namespace="acme:main", content=f"Observation number {days}.")
        at = timezone.now() - datetime.timedelta(days=days)
        ingest.store(principal, ingest.prepare([draft]), now=at)
    with access.enter(principal, why="test"):
        Fragment.objects.update(status="quarantined")
    url, number = tiles(rita.get("/"))["New in quarantine"]
    assert number == 2 == len(re.findall(r'id="row-', rita.get(url).text))


def test_operations_that_failed_lately_are_listed(rita, principal):
    with access.enter(principal, why="test"):
        for days in (0, 3, 8):
            at = timezone.now() - datetime.timedelta(days=days)
            wish = {"kind": "rebuild", "state": "failed", "created_at": at, "finished_at": at}
            Operation.objects.create(project_id=principal.project_id, **wish)
    url, number = tiles(rita.get("/"))["Failed operations"]
    assert number == 2 == rita.get(url).text.count('class="entry"')
    assert rita.get("/operations/?state=failed").text.count('class="entry"') == 3


@pytest.mark.parametrize("days", ["0", "x", "-1", "9999", "1.5"])
def test_days_that_can_not_be(rita, days):
    assert rita.get(f"/operations/?days={days}").status_code == 404


def test_what_is_about_to_cross_a_threshold_is_listed(adam, many, store, principal):
    rows = [store("acme:main", f"A faint memory of number {n}.") for n in range(5)]
    with access.enter(principal, why="test"):
        for row, base in zip(rows, (0.22, 0.2, 0.2, 0.14, 0.1), strict=True):
            Fragment.objects.filter(id=row.id).update(base_relevance=base)
    found = re.findall(
        r'<a href="([^"]+)"><strong>(\d+)</strong> ((?:get cold|fade) within a week)', adam.get("/").text
    )
    assert len(found) == 2
    assert [int(number) for _, number, _ in found] == [3, 2]
    for url, number, _ in found:
        assert len(re.findall(r'id="row-', adam.get(html.unescape(url)).text)) == int(number), url


def test_a_search_keeps_these_filters(adam, many):
    page = adam.get("/memories/?q=observation&source=document&status=all")
    listed = re.findall(r'id="row-([0-9a-f-]{36})"', page.text)
    assert len(listed) == 6
    assert 'id="curl"' not in page.text  # the API has no such filter


def test_texts_and_vectors_are_counted(adam, many, principal):
    assert re.search(r"Texts and vectors take [\d.]+.(bytes|KB)", words(adam.get("/")))


@pytest.mark.parametrize("asked", ["day=2025-13-01", "trust=0.65", "relevance=1.0", "source=nobody", "day=x"])
def test_filters_that_do_not_exist(adam, asked):
    assert adam.get(f"/memories/?{asked}").status_code == 404


def test_searches_are_counted_by_day(adam, principal, store):
    store("acme:main", "The heron nests behind the mill.")
    now = timezone.now()
    found = retrieval.Question("heron", ["acme:main"])
    nothing = retrieval.Question("heron", ["acme:main"], filters=retrieval.Filters(tags=["no-such"]))
    for question in (found, found, nothing):
        retrieval.search(principal, question, now=now)
    retrieval.context.build_context(principal, retrieval.context.Request(found), now=now)
    usage_counters.flush()
    retrieval.find(principal, found, now=now)  # a person's look counts for nothing
    usage_counters.flush()
    retrieval.search(principal, found, now=now)
    usage_counters.flush()
    with access.enter(principal, why="test"):
        (day,) = SearchDay.objects.all()
    assert (day.day, day.searches, day.empty, sum(day.took)) == (now.astimezone(datetime.UTC).date(), 5, 1, 5)
    text = words(adam.get("/"))
    assert re.search(r"5 searches in 30 days: p50 latency within \d+ ms, p95 latency within \d+ ms\.", text)
    assert "1 found nothing: a zero-result rate of 20 %." in text
    assert "Search p95 latency, by day" in text
    assert "Zero-result rate of searches, by day" in text


def test_the_memories_of_a_namespace_are_listed(adam, many):
    """Of every status, as they are counted."""
    found = re.findall(r'href="([^"]+)">(\d+) memor', adam.get("/namespaces/").text)
    assert len(found) == 2
    for url, number in found:
        assert len(re.findall(r'id="row-', adam.get(html.unescape(url)).text)) == int(number) > 0


def test_figures_of_nothing_are_words(adam, project):
    text = words(adam.get("/"))
    assert "0 searches in 30 days. " in text
    assert "Nobody searched yet." in text
    assert "–" not in text


@pytest.mark.parametrize(("days", "said"), [(0, "today"), (1, "yesterday"), (3, "3 days ago")])
def test_a_proof_of_today_is_told_as_that(days, said):
    now = timezone.now()
    proofs = {
        "last_drill_at": now - datetime.timedelta(days=days),
        "last_restore_at": None,
        "last_backup_at": now,
        "count": 1,
        "are_proven": True,
    }
    assert overview._backup(proofs, now, broken=0).detail == f"last proven by a restore {said}"
