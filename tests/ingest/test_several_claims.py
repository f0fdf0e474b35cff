"""What is read out of a text: all of it, each where the text says it (docs/spec.md §4.4)."""

import pytest

from memories import access
from memories.models import Claim

TEXT = "My name is Ada. I live in Oslo. My budget is $750."


@pytest.fixture
def claims_of(principal):
    """The claims of a memory, with the words that say each."""

    def claims_in(row):
        with access.enter(principal, why="test"):
            mine = Claim.objects.filter(fragment=row.id).select_related("fragment").order_by("position")
            return [(c.predicate, c.value, c.fragment.content[c.span_start : c.span_end], c.status) for c in mine]

    return claims_in


def test_all_that_a_text_claims_is_kept_in_its_order(store, claims_of, alice):
    row = store("acme:main", TEXT, source="user_explicit", extract_claim=True, by=alice.principal)
    assert [(value, status) for _, value, _, status in claims_of(row)] == [
        ("Ada", "active"),
        ("Oslo", "active"),
        ("$750", "active"),
    ]
    assert all(value in words for _, value, words, _ in claims_of(row))


def test_what_was_read_replaces_only_where_there_is_one_value(store, claims_of, alice):
    wish = {"source": "user_explicit", "extract_claim": True, "by": alice.principal}
    old = store("acme:main", "I live in Oslo. I like tea.", **wish)
    store("acme:main", "I live in Bergen. I like coffee.", **wish)
    assert [(value, status) for _, value, _, status in claims_of(old)] == [("Oslo", "superseded"), ("tea", "active")]


def test_a_text_that_is_rewritten_claims_what_is_read_in_it_now(store, principal, alice):
    row = store("acme:main", TEXT, source="user_explicit", extract_claim=True, by=alice.principal)
    change = {"content": "Ada, of Oslo, has $750 to spend. My budget is $700."}
    assert alice.client.patch(f"/api/v1/fragments/{row.id}", change, format="json").status_code == 200
    shown = alice.client.get(f"/api/v1/fragments/{row.id}").json()
    assert [(one["value"], one["span"]) for one in shown["claims"]] == [("$700", [33, 50])]


def test_of_values_that_exclude_each_other_the_first_one_counts(store, claims_of, alice):
    wish = {"source": "user_explicit", "extract_claim": True, "by": alice.principal}
    row = store("acme:main", "I live in Oslo. I live in Bergen.", **wish)
    assert [value for _, value, _, _ in claims_of(row)] == ["Oslo"]


def test_a_text_that_says_more_than_what_stands_is_kept_whatever_it_claims(store, claims_of, alice):
    wish = {"source": "user_explicit", "extract_claim": True, "by": alice.principal}
    old = store("acme:main", "I play the clarinet.", **wish)
    more = store("acme:main", "I play the clarinet. The orchestra of Halden rehearses every Thursday evening.", **wish)
    assert more.id != old.id
    assert [(value, status) for _, value, _, status in claims_of(more)] == [("the clarinet", "active")]
    assert store("acme:main", "As I said: I play the clarinet!", **wish).id in (old.id, more.id)
