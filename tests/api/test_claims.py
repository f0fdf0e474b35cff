"""GET /api/v1/claims and /api/v1/claims/timeline: the doors; what they answer is the room's matter."""

import datetime
import itertools

import pytest

from conflicts.keys.names import naming
from memories import access
from memories.models import AuditHorizon, Claim, Fragment

URL = "/api/v1/claims"
TIMELINE = f"{URL}/timeline"
KEY = {"subject": "user", "predicate": "lives_in"}


@pytest.fixture
def claim(store, principal):
    """Stores a fragment that claims something in `acme:main`."""
    number = itertools.count()

    def make(value, *, room="main", by=principal, predicate="lives_in", status="active", **more):
        row = store(f"acme:{room}", f"Note number {next(number)}.", by=by)
        with access.enter(principal, why="test"):
            names = naming(row.project_id, [row.namespace_id])[row.namespace_id]
            key = names.key("user", predicate)
            Fragment.objects.filter(id=row.id).update(status=status)
            said = {"subject": "user", "predicate": predicate, "value": value, "status": status}
            digests = {"subject_digest": key.subject, "predicate_digest": key.predicate, "key_digest": key.both}
            Claim.objects.create(
                fragment=row,
                project_id=row.project_id,
                namespace_id=row.namespace_id,
                authority=row.authority,
                value_digest=names.value(predicate, value),
                **said,
                **digests,
                **more,
            )
        return row

    return make


@pytest.fixture
def moved(claim):
    """Seattle 2019–2022, Austin since then."""
    return [
        claim("Seattle", scope="temporal", valid_from="2019-01-01T00:00:00Z", valid_until="2022-01-01T00:00:00Z"),
        claim("Austin", scope="temporal", valid_from="2022-01-01T00:00:00Z"),
    ]


def values(answer):
    assert answer.status_code == 200, answer.content
    return [row["value"] for row in answer.json()["results"]]


@pytest.mark.parametrize(
    ("as_of", "expected"),
    [
        ("2018-12-31T23:59:59Z", []),
        ("2019-01-01T00:00:00Z", ["Seattle"]),
        ("2021-12-31T23:59:59.999999Z", ["Seattle"]),
        ("2022-01-01T00:00:00Z", ["Austin"]),
        ("2022-01-01T00:00:00+01:00", ["Seattle"]),
    ],
)
def test_what_was_true(as_of, expected, alice, moved):
    assert values(alice.client.get(URL, {**KEY, "as_of": as_of})) == expected


def test_without_a_question_everything_that_is_true_now(alice, moved, claim):
    claim("blue", predicate="favourite_colour")
    assert values(alice.client.get(URL)) == ["blue", "Austin"]


def test_a_claim_as_it_is_shown(alice, bob, claim):
    row = claim("Austin", by=bob.principal, valid_from="2022-01-01T00:00:00Z")
    (shown,) = alice.client.get(URL).json()["results"]
    assert datetime.datetime.fromisoformat(shown.pop("recorded_at")).tzinfo
    assert shown == {
        "fragment_id": str(row.id),
        "namespace": "acme:main",
        "user": None,
        "subject": "user",
        "predicate": "lives_in",
        "value": "Austin",
        "exclusive": True,
        "scope": "global",
        "session_id": None,
        "valid_from": "2022-01-01T00:00:00Z",
        "valid_until": None,
        "authority": row.authority,
        "source": row.source,
        "owner": "bob",
        "owner_id": str(bob.principal.owner_id),
        "status": "active",
        "ruling": None,
    }


def test_a_life_as_it_is_shown(alice, moved):
    first, second = alice.client.get(TIMELINE, KEY).json()["results"]
    told = {"superseded_by", "moved", "beliefs", "rulings"}
    assert set(first) == set(alice.client.get(URL).json()["results"][0]) | told
    assert (first["value"], second["value"], first["moved"], first["superseded_by"]) == (
        "Seattle",
        "Austin",
        False,
        None,
    )
    (belief,) = first["beliefs"]
    assert belief == {
        "from": first["recorded_at"],
        "until": None,
        "status": "active",
        "value": "Seattle",
        "valid_from": "2019-01-01T00:00:00Z",
        "valid_until": "2022-01-01T00:00:00Z",
    }


def test_before_anything_was_recorded_nothing_was_believed(alice, moved):
    assert values(alice.client.get(URL, {"known_at": "2020-01-01T00:00:00Z"})) == []


def test_any_spelling(alice, moved):
    query = {"subject": " ＵＳＥＲ ", "predicate": "Lives-In"}
    assert values(alice.client.get(URL, query)) == ["Austin"]
    assert values(alice.client.get(TIMELINE, query)) == ["Seattle", "Austin"]


def test_status(alice, moved, claim):
    claim("Oslo", status="quarantined")
    assert values(alice.client.get(URL, {"status": "quarantined"})) == ["Oslo"]
    assert values(alice.client.get(URL, {"status": "all"})) == ["Oslo", "Austin"]


def test_sessions(alice, moved, claim):
    claim("Lima", scope="session", session_id="s1")
    assert values(alice.client.get(URL, KEY)) == ["Austin"]
    assert values(alice.client.get(URL, {**KEY, "session_id": "s1"})) == ["Lima"]
    assert values(alice.client.get(URL, {**KEY, "session_id": "s1", "status": "all"})) == ["Lima", "Austin"]
    assert values(alice.client.get(TIMELINE, KEY)) == ["Seattle", "Austin"]
    assert values(alice.client.get(TIMELINE, {**KEY, "session_id": "s1"})) == ["Lima", "Seattle", "Austin"]


@pytest.mark.parametrize("url", [URL, TIMELINE])
def test_pages_follow_each_other(url, alice, claim):
    made = [claim(f"place {n}", status="superseded").id for n in range(7)]
    link, seen = f"{url}?subject=user&predicate=lives_in&limit=3" + ("&status=all" if url == URL else ""), []
    while link:
        page = alice.client.get(link).json()
        seen += [row["fragment_id"] for row in page["results"]]
        link, last = page["next"], page
    assert sorted(seen) == sorted(map(str, made))
    back = []
    while last["previous"]:
        last = alice.client.get(last["previous"]).json()
        back = [row["fragment_id"] for row in last["results"]] + back
    assert back == seen[:6]


@pytest.mark.parametrize("url", [URL, TIMELINE])
@pytest.mark.parametrize("cursor", ["x", "PHwyMDI2LTEx", "é", "%00", "PnwyMDI2LTAxLTAxfDIwMjYtMDEtMDF8eA=="])
def test_a_cursor_that_is_none_is_named(url, cursor, alice, moved):
    answer = alice.client.get(url, {**KEY, "cursor": cursor})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "cursor")


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"as_of": "2022-01-01T00:00:00"}, "as_of"),
        ({"known_at": "2022-01-01"}, "known_at"),
        ({"known_at": "yesterday"}, "known_at"),
        ({"status": "x"}, "status"),
        ({"limit": 201}, "limit"),
        ({"subject": ""}, "subject"),
        ({"subject": "x" * 101}, "subject"),
        ({"namespace": "acme"}, "namespace"),
        ({"nonsense": 1}, "nonsense"),
    ],
)
def test_bad_queries_are_named(query, field, alice):
    answer = alice.client.get(URL, query)
    assert (answer.status_code, answer.json()["code"]) == (400, "validation")
    assert [error["field"] for error in answer.json()["errors"]] == [field]


@pytest.mark.parametrize("missing", ["subject", "predicate"])
def test_a_timeline_is_of_one_key(missing, alice):
    query = {name: value for name, value in KEY.items() if name != missing}
    answer = alice.client.get(TIMELINE, query)
    assert (answer.status_code, [error["field"] for error in answer.json()["errors"]]) == (400, [missing])


def test_only_what_the_key_covers(reader, charlie, moved, claim):
    claim("Oslo", room="side")
    claim("Bergen", room="shared")
    assert values(reader.client.get(URL)) == ["Bergen", "Austin"]
    assert values(reader.client.get(TIMELINE, KEY)) == ["Bergen", "Seattle", "Austin"]
    assert values(charlie.client.get(URL)) == values(charlie.client.get(TIMELINE, KEY)) == []
    for agent, url in itertools.product((reader, charlie), (URL, TIMELINE)):
        assert agent.client.get(url, {**KEY, "namespace": "acme:side"}).status_code == 404


def test_what_is_forgotten_is_gone(alice, moved):
    assert alice.client.delete(f"/api/v1/fragments/{moved[1].id}").status_code == 204
    assert values(alice.client.get(URL, {"status": "all"})) == []
    assert values(alice.client.get(TIMELINE, KEY)) == ["Seattle"]


def test_an_unknown_or_unsaid_key_is_an_empty_list(alice, moved):
    assert values(alice.client.get(URL, {"subject": "nobody"})) == []
    assert values(alice.client.get(TIMELINE, {"subject": "---", "predicate": "---"})) == []


def test_before_the_history_that_is_kept_nothing_is_said(alice, principal, now):
    with access.enter(principal, why="test"):
        AuditHorizon.objects.create(
            project_id=principal.project_id, number=1, upto=1, sealed_at=now, digest=b"", events=0, kept=b""
        )
    before, after = (now + datetime.timedelta(seconds=s) for s in (-1, 0))
    refused = alice.client.get(URL, {"known_at": before.isoformat()})
    assert (refused.status_code, refused.json()["code"]) == (410, "history_let_go")
    assert alice.client.get(URL, {"known_at": after.isoformat()}).status_code == 200
