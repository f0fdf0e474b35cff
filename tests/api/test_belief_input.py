"""What belief refuses, with which codes, changing nothing; and what search never answers (docs/spec.md §4, §6, §15)."""

import uuid

import pytest

from conflicts.models import PendingConflict, Vote
from memories.models import Claim, Fragment

URL = "/api/v1/fragments"
CLAIM = {"subject": "user", "predicate": "budget_is", "value": "$750"}
GROWS = "\ufdfa"  # 18 characters under NFKC
Y2019, Y2022, Y2024 = (f"{year}-01-01T00:00:00Z" for year in (2019, 2022, 2024))
HOME = {"subject": "user", "predicate": "lives_in", "scope": "temporal"}

# The claim's fields, and the field that is named.
BAD = {
    "subject too long": ({"subject": "x" * 101}, "subject"),
    "predicate too long": ({"predicate": "x" * 101}, "predicate"),
    "value too long": ({"value": "x" * 1001}, "value"),
    "subject empty": ({"subject": ""}, "subject"),
    "subject blank": ({"subject": " \t\n"}, "subject"),
    "subject invisible": ({"subject": "\u200b\u2060\ufeff"}, "subject"),
    "subject soft hyphens": ({"subject": "\u00ad\u00ad"}, "subject"),
    "subject only separators": ({"subject": "-_-"}, "subject"),
    "predicate invisible": ({"predicate": "\u3164\u115f"}, "predicate"),
    "predicate only dashes": ({"predicate": "\u2014\u2010"}, "predicate"),
    "value empty": ({"value": ""}, "value"),
    "value null": ({"value": None}, "value"),
    "value a number": ({"value": 750}, "value"),
    "session without id": ({"scope": "session"}, "session_id"),
    "session with an empty id": ({"scope": "session", "session_id": ""}, "session_id"),
    "session with a null id": ({"scope": "session", "session_id": None}, "session_id"),
    "session id too long": ({"scope": "session", "session_id": "x" * 256}, "session_id"),
    "session id without the scope": ({"session_id": "s1"}, "session_id"),
    "session id with temporal": ({"scope": "temporal", "session_id": "s1"}, "session_id"),
    "ends before it begins": ({"valid_from": Y2022, "valid_until": Y2019}, "valid_until"),
    "ends when it begins": ({"valid_from": Y2022, "valid_until": Y2022}, "valid_until"),
    "the same instant elsewhere": ({"valid_from": Y2022, "valid_until": "2022-01-01T02:00:00+02:00"}, "valid_until"),
    "naive beginning": ({"valid_from": "2022-01-01T00:00:00"}, "valid_from"),
    "naive end": ({"valid_until": "2022-01-01T00:00:00"}, "valid_until"),
    "no time": ({"valid_from": "soon"}, "valid_from"),
    "before all time": ({"valid_from": "0001-01-01T00:00:00+14:00"}, "valid_from"),
    "after all time": ({"valid_until": "9999-12-31T23:59:59-14:00"}, "valid_until"),
    "unknown scope": ({"scope": "universe"}, "scope"),
    "scope null": ({"scope": None}, "scope"),
    "exclusive as text": ({"exclusive": "false"}, "exclusive"),
    "authority": ({"authority": 6}, "authority"),
    "slot": ({"slot": 1}, "slot"),
}


@pytest.fixture
def store_claim(alice):
    """Stores a claim, by default as Alice's user says it."""

    def post(value, *, by=alice, source="user_explicit", namespace="acme:main", status=201, content=None, **more):
        body = {"namespace": namespace, "content": content or f"The budget is {value}."}
        body |= {"claim": {**CLAIM, "value": value, **more}, "provenance": {"source": source}}
        answer = by.client.post(URL, body, format="json")
        assert answer.status_code == status, answer.json()
        return answer.json()

    return post


@pytest.fixture
def picture(count):
    """What a refusal must leave as it is."""
    return lambda: [count(model) for model in (Fragment, Claim, PendingConflict, Vote)]


class TestBadInput:
    """Exact codes, nothing changed."""

    @pytest.mark.parametrize("why", BAD)
    def test_a_bad_claim_is_named(self, why, alice, picture):
        change, field = BAD[why]
        before = picture()
        body = {"namespace": "acme:main", "content": "It is so.", "claim": {**CLAIM, **change}}
        answer = alice.client.post(URL, body, format="json")
        problem = answer.json()
        assert (answer.status_code, problem["code"], problem["status"]) == (400, "validation", 400)
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert [error["field"] for error in problem["errors"]] == [f"claim.{field}"]
        assert picture() == before

    def test_in_a_batch_it_is_named_by_its_place_and_nothing_is_stored(self, alice, picture):
        before = picture()
        items = [{"namespace": "acme:main", "content": f"It is {n}.", "claim": CLAIM} for n in range(5)]
        items[3] = {**items[3], "claim": {**CLAIM, "subject": "\u200b"}}
        answer = alice.client.post(f"{URL}/batch", {"fragments": items}, format="json")
        assert (answer.status_code, answer.json()["code"]) == (400, "validation")
        assert [error["field"] for error in answer.json()["errors"]] == ["fragments[3].claim.subject"]
        assert picture() == before

    def test_a_batch_with_one_source_above_the_ceiling_stores_nothing(self, bob, picture):
        before = picture()
        items = [{"namespace": "acme:main", "content": f"It is {n}.", "claim": CLAIM} for n in range(3)]
        items[2]["provenance"] = {"source": "user_explicit"}
        answer = bob.client.post(f"{URL}/batch", {"fragments": items}, format="json")
        assert (answer.status_code, answer.json()["code"]) == (403, "authority_ceiling")
        assert picture() == before

    @pytest.mark.parametrize("source", ["user_explicit", "system"])
    def test_authority_above_the_ceiling(self, bob, store_claim, picture, source):
        before = picture()
        assert store_claim("$0", by=bob, source=source, status=403)["code"] == "authority_ceiling"
        assert picture() == before

    def test_a_null_claim_is_none(self, alice):
        body = {"namespace": "acme:main", "content": "It is so.", "claim": None}
        answer = alice.client.post(URL, body, format="json")
        assert (answer.status_code, answer.json()["claim"]) == (201, None)

    @pytest.mark.parametrize("claim", [[], "user", 7, True, {}])
    def test_what_is_no_claim(self, alice, picture, claim):
        before = picture()
        answer = alice.client.post(URL, {"namespace": "acme:main", "content": "So.", "claim": claim}, format="json")
        assert (answer.status_code, answer.json()["code"]) == (400, "validation")
        assert all(error["field"].startswith("claim") for error in answer.json()["errors"])
        assert picture() == before

    def test_nul_and_lone_surrogates(self, alice, picture):
        before = picture()
        for field in ("subject", "predicate", "value", "session_id"):
            for bad in ("a\\u0000b", "\\ud800", "\\udfff\\ud800"):
                claim = ", ".join(
                    f'"{k}": "{bad if k == field else v}"' for k, v in {**CLAIM, "session_id": "s"}.items()
                )
                raw = f'{{"namespace": "acme:main", "content": "x", "claim": {{"scope": "session", {claim}}}}}'
                answer = alice.client.post(URL, raw.encode(), content_type="application/json")
                assert answer.status_code == 400, answer.content
                assert answer.headers["Content-Type"] == "application/problem+json"
        assert picture() == before

    @pytest.mark.examples
    @pytest.mark.parametrize(
        "more",
        [
            {"subject": GROWS * 100},
            {"predicate": GROWS * 100},
            {"value": GROWS * 1000},
            {"subject": "a" + "\u0301" * 99},
            {"value": "a" + "\u0315\u0300" * 499},
            {"value": "\u200b"},
            {"value": "9" * 1000},
            {"value": "$" + "9" * 400 + "e9999"},
            {"value": "\u202e057$"},
            {"predicate": "deadline", "value": "0000-00-00"},
            {"predicate": "age", "value": "1e999999999"},
            {"scope": "session", "session_id": "x" * 255},
        ],
        ids=lambda more: ascii(more)[:40],
    )
    def test_values_that_normalise_strangely_are_values(self, store_claim, bob, more):
        """They are stored whole, found again as the same, and oppose others."""
        kept = store_claim(**{"value": "$750", **more})
        assert all(kept["claim"][name] == value for name, value in more.items())
        again = store_claim(**{"value": "$750", **more}, content="Again.", status=200)
        assert again["id"] == kept["id"]
        lost = store_claim(**{**more, "value": "something else"}, by=bob, source="tool_output")
        assert [pending["existing_id"] for pending in lost["pending_conflicts"]] == [kept["id"]]

    def test_a_change_is_as_strict(self, alice, store_claim, picture):
        fragment = store_claim("$750")
        before = picture()
        for why, (change, field) in BAD.items():
            answer = alice.client.patch(f"{URL}/{fragment['id']}", {"claim": {**CLAIM, **change}}, format="json")
            assert answer.status_code == 400, why
            assert [error["field"] for error in answer.json()["errors"]] == [f"claim.{field}"], why
        kept = alice.client.get(f"{URL}/{fragment['id']}").json()
        assert (kept["claim"], kept["revision"]) == (fragment["claim"], fragment["revision"])
        assert picture() == before

    def test_a_change_of_what_is_stronger(self, alice, bob, store_claim):
        fragment = store_claim("$750")
        for answer in (
            bob.client.patch(f"{URL}/{fragment['id']}", {"claim": {**CLAIM, "value": "$0"}}, format="json"),
            bob.client.patch(f"{URL}/{fragment['id']}", {"claim": None}, format="json"),
            bob.client.delete(f"{URL}/{fragment['id']}"),
        ):
            assert (answer.status_code, answer.json()["code"]) == (403, "not_permitted")
        assert alice.client.get(f"{URL}/{fragment['id']}").json()["claim"] == fragment["claim"]


class TestSearch:
    """0 superseded, 0 quarantined, 0 disputed, 0 foreign sessions, 0 not in force, 0 mutually exclusive."""

    @pytest.fixture
    def found(self, alice):
        """The values that search answers; context hands out the same memories."""

        def ask(namespace="acme:main", *, by=alice, **more):
            body = {"namespace": namespace, "query": "what is the budget?", **more}
            rows = by.client.post("/api/v1/search", {**body, "top_k": 200}, format="json").json()["results"]
            block = by.client.post("/api/v1/context", {**body, "max_tokens": None}, format="json").json()
            assert set(block["included"]) == {row["id"] for row in rows}
            return sorted(row["claim"]["value"] if row["claim"] else row["content"] for row in rows)

        return ask

    def test_only_what_is_active(self, store_claim, alice, bob, found):
        store_claim("$700")
        store_claim("$750")
        store_claim("$0", by=bob, source="tool_output")
        doubted = store_claim("weekly", source="inference", predicate="budget_review")
        assert bob.client.post(f"{URL}/{doubted['id']}/dispute", {}, format="json").json()["status"] == "disputed"
        away = store_claim("monthly", predicate="budget_meeting")
        assert alice.client.post(f"{URL}/{away['id']}/archive").status_code == 200
        assert found() == ["$750"]

    def test_a_session_hides_the_lasting_claim_in_itself_alone(self, store_claim, found):
        store_claim("$750")
        store_claim("$900", scope="session", session_id="s1")
        assert [found(), found(session_id="s1"), found(session_id="s2")] == [["$750"], ["$900"], ["$750"]]

    def test_what_a_session_alone_says_no_other_hears(self, store_claim, found):
        store_claim("$900", scope="session", session_id="s1")
        assert [found(), found(session_id="s1"), found(session_id="S1")] == [[], ["$900"], []]

    def test_nobody_weaker_hides_in_a_session_what_a_stronger_one_said(self, store_claim, bob, found):
        store_claim("$750")
        store_claim("$0", by=bob, source="tool_output", scope="session", session_id="s1")
        assert found(session_id="s1") == ["$750"]

    def test_the_same_owner_may_override_in_a_session_what_is_as_strong(self, store_claim, found):
        store_claim("$750", source="tool_output")
        store_claim("$900", source="tool_output", scope="session", session_id="s1")
        assert found(session_id="s1") == ["$900"]

    def test_an_assistants_word_hides_no_users_although_one_key_carries_both(self, store_claim, found):
        store_claim("$750")
        store_claim("$900", source="inference", scope="session", session_id="s1")
        assert found(session_id="s1") == ["$750"]

    def test_what_is_not_in_force_is_left_out_unless_asked_for(self, store_claim, found):
        store_claim("Seattle", **HOME, valid_from=Y2019, valid_until=Y2022)
        store_claim("Austin", **HOME, valid_from=Y2022)
        store_claim("Oslo", **{**HOME, "subject": "team"}, valid_from="2999-01-01T00:00:00Z")
        assert found() == ["Austin"]
        assert found(as_of="2021-12-31T23:59:59Z") == ["Seattle"]
        assert found(as_of=Y2022) == ["Austin"]
        assert found(as_of="2018-01-01T00:00:00Z") == []
        assert found(as_of="2999-01-02T00:00:00Z") == ["Austin", "Oslo"]

    def test_a_closed_period_is_history(self, store_claim, found):
        first = store_claim("Seattle", **HOME, valid_from=Y2019)
        assert store_claim("Austin", **HOME, valid_from=Y2022)["superseded"] == []
        assert [found(), found(as_of=Y2019)] == [["Austin"], ["Seattle"]]
        assert first["status"] == "active"

    def test_naive_as_of_and_unknown_statuses_are_named(self, alice):
        for more, field in (
            ({"as_of": "2022-01-01T00:00:00"}, "as_of"),
            ({"session_id": ""}, "session_id"),
            ({"filters": {"status_filter": ["true"]}}, "filters.status_filter"),
        ):
            for path in ("search", "context"):
                body = {"namespace": "acme:main", "query": "budget", **more}
                answer = alice.client.post(f"/api/v1/{path}", body, format="json")
                assert (answer.status_code, answer.json()["code"]) == (400, "validation")
                assert answer.json()["errors"][0]["field"].startswith(field)

    @pytest.mark.parametrize("stronger", ["acme:main", "acme:shared"])
    def test_of_the_own_and_the_shared_namespace_the_stronger_claim_is_answered(
        self, store_claim, bob, found, stronger
    ):
        """Each namespace believes one value; an answer over both believes one too."""
        (weaker,) = {"acme:main", "acme:shared"} - {stronger}
        store_claim("$750", namespace=stronger)
        store_claim("$0", by=bob, source="tool_output", namespace=weaker)
        assert found() == ["$750"]

    @pytest.mark.parametrize("source", ["user_explicit", "inference"])
    def test_another_agents_namespace_hides_nothing_of_ones_own(self, store_claim, bob, found, source):
        """It may speak of another user by the same name."""
        store_claim("$750", source=source)
        store_claim("$0", by=bob, source="tool_output", namespace="acme:other")
        assert found() == ["$750"]

    def test_a_claim_that_is_no_answer_itself_hides_none(self, alice, store_claim):
        store_claim("$700", source="inference", namespace="acme:main", content="The budget of the user is $700.")
        store_claim("$750", namespace="acme:shared", content="zzz qqq")
        body = {"namespace": "acme:main", "query": "what is the budget?", "filters": {"agent": "main"}}
        rows = alice.client.post("/api/v1/search", body, format="json").json()["results"]
        assert [row["claim"]["value"] for row in rows] == ["$700"]

    def test_of_two_namespaces_asked_for_the_stronger_claim_is_answered(self, alice, store_claim, bob):
        store_claim("$750", namespace="acme:one")
        store_claim("$0", by=bob, source="tool_output", namespace="acme:two")
        body = {"namespaces": ["acme:one", "acme:two"], "query": "what is the budget?", "project_wide": False}
        rows = alice.client.post("/api/v1/search", body, format="json").json()["results"]
        assert [row["claim"]["value"] for row in rows] == ["$750"]

    def test_of_two_namespaces_equally_strong_claims_are_not_both_answered(self, store_claim, bob, found):
        store_claim("$750", source="tool_output")
        store_claim("$0", by=bob, source="tool_output", namespace="acme:shared")
        assert len(found()) == 1

    def test_in_a_session_of_two_namespaces_one_claim_is_answered(self, store_claim, found):
        store_claim("$750", namespace="acme:shared")
        store_claim("$800", namespace="acme:main", scope="session", session_id="s1")
        store_claim("$900", namespace="acme:other", scope="session", session_id="s1")
        assert len(found(session_id="s1")) == 1

    def test_the_same_value_in_two_namespaces_excludes_nothing(self, store_claim, found):
        store_claim("$750")
        store_claim("750 USD", namespace="acme:shared", content="The shared budget.")
        assert set(found()) <= {"$750", "750 USD"}
        assert found()

    def test_the_other_namespace_alone_keeps_its_own(self, store_claim, bob, found):
        store_claim("$750")
        store_claim("$0", by=bob, source="tool_output", namespace="acme:other")
        assert found("acme:other", project_wide=False) == ["$0"]

    def test_many_values_of_two_namespaces_are_all_answered(self, store_claim, found):
        store_claim("tea", predicate="likes")
        store_claim("coffee", predicate="likes", namespace="acme:shared")
        assert found() == ["coffee", "tea"]

    def test_foreign_projects_are_not_answered(self, charlie, store_claim, found):
        store_claim("$750")
        assert found("elsewhere:main", by=charlie) == []

    def test_a_kept_pair_is_answered_whole(self, store_claim, bob, project, agent_of, found):
        """A person decided that both hold."""
        store_claim("$750")
        (pending,) = store_claim("$0", by=bob, source="tool_output")["pending_conflicts"]
        carol = agent_of(project, owner="carol", ceiling="user_explicit", verbs=["read", "review"])
        wish = {"action": "keep_both", "revision": 1}
        path = f"/api/v1/conflicts/{uuid.UUID(pending['id'])}/resolve"
        assert carol.client.post(path, wish, format="json").status_code == 200
        assert found() == ["$0", "$750"]
