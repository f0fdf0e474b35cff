"""Clusters: what hangs together by similar links, under ids and labels that last."""

import datetime

import pytest
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st

from memories import access, upkeep
from memories.models import Cluster, ClusterLabel, ClusterMember
from memories.upkeep.communities import SimilarPair, find_communities
from memories.upkeep.graph import refresh
from tests.graph.conftest import at
from tests.properties.ground import examples, undone

URL = "/api/v1/clusters"


def clusters(agent, **asked):
    answer = agent.client.get(URL, asked)
    assert answer.status_code == 200, answer.content
    return answer.json()["results"]


def label(agent, cluster_id, text, status=200):
    answer = agent.client.patch(f"{URL}/{cluster_id}", {"label": text}, format="json")
    assert answer.status_code == status, answer.content
    return answer.json()


@pytest.fixture
def herons(plant):
    """Three memories, the first the oldest, each near to the next one only."""
    now = timezone.now()
    return [
        plant(at(40 * n), created_at=now - datetime.timedelta(days=9 - n), topics=["heron", f"n{n}"])[0]
        for n in range(3)
    ]


def test_what_hangs_together_is_a_cluster(alice, herons, plant, connect):
    plant(at(0, 5), at(1, 5), topics=["otter"])
    connect()
    (found,) = clusters(alice)
    assert found["id"] == str(herons[0].id)
    assert found["members"] == [str(row.id) for row in herons]
    assert (found["namespace"], found["size"], found["label"]) == ("acme:main", 3, None)
    assert found["topics"] == ["heron", "n0", "n1"]
    assert [row["size"] for row in clusters(alice, min_size=2)] == [2, 3]
    assert clusters(alice, min_size=4) == []


def test_no_label_is_a_forgotten_text_nor_holds_one(alice, herons, connect, store):
    connect()
    (found,) = clusters(alice)
    text = "The third heron is ours."
    gone = store("acme:main", text)
    assert label(alice, found["id"], f"Of which {text.upper()}")["label"]
    assert alice.client.delete(f"/api/v1/fragments/{gone.id}").status_code == 204
    assert clusters(alice)[0]["label"] is None
    assert label(alice, found["id"], text, 409)["code"] == "blocked_by_erasure"
    assert label(alice, found["id"], "herons")["label"] == "herons"


def test_pages_follow_each_other(alice, plant, connect):
    for n in range(5):
        plant(*[at(angle, n) for angle in range(3)])
    connect()
    first = alice.client.get(URL, {"limit": 3}).json()
    second = alice.client.get(first["next"]).json()
    assert len({row["id"] for row in (*first["results"], *second["results"])}) == 5
    assert second["next"] is None


@pytest.mark.parametrize("status", ["superseded", "archived", "quarantined", "disputed"])
def test_what_is_not_active_is_left_out_at_once_and_may_part_a_cluster(alice, herons, connect, change, status):
    connect()
    change(herons[1:2], status=status)
    assert [row["members"] for row in clusters(alice, min_size=2)] == [[str(herons[0].id), str(herons[2].id)]]
    connect()
    assert clusters(alice, min_size=2) == []
    change(herons[1:2], status="active")
    connect()
    assert [row["size"] for row in clusters(alice)] == [3]


def test_forgetting_the_middle_parts_a_cluster(alice, herons, connect, principal):
    connect()
    assert alice.client.delete(f"/api/v1/fragments/{herons[1].id}").status_code == 204
    connect()
    assert clusters(alice, min_size=2) == []
    with access.enter(principal, why="test"):
        assert not Cluster.objects.exists()
        assert not ClusterMember.objects.exists()


def test_a_label_outlives_rebuilds_growth_and_each_member(alice, herons, plant, connect, rebuild):
    connect()
    (found,) = clusters(alice)
    assert label(alice, found["id"], "Herons")["label"] == "Herons"
    plant(at(81), at(82))
    connect()
    rebuild("clusters")
    assert [(row["id"], row["size"], row["label"]) for row in clusters(alice)] == [(found["id"], 5, "Herons")]
    alice.client.delete(f"/api/v1/fragments/{herons[0].id}")
    connect()
    (later,) = clusters(alice)
    assert (later["id"], later["label"]) == (str(herons[1].id), "Herons")
    assert label(alice, later["id"], "Grey herons")["label"] == "Grey herons"
    assert label(alice, later["id"], None)["label"] is None
    assert clusters(alice)[0]["label"] is None


def test_of_two_labelled_clusters_that_join_the_later_label_stays(alice, plant, connect):
    left, right = plant(*[at(angle) for angle in range(3)]), plant(*[at(80 + angle) for angle in range(3)])
    connect()
    by_size = {row["members"][0]: row["id"] for row in clusters(alice)}
    for rows, text in ((left, "Left"), (right, "Right")):
        (found,) = [by_size[first] for first in by_size if first in {str(row.id) for row in rows}]
        label(alice, found, text)
    plant(at(41))
    connect()
    assert [(row["size"], row["label"]) for row in clusters(alice)] == [(7, "Right")]


def test_who_may_label(alice, bob, reader, charlie, agent_of, project, herons, connect, count):
    connect()
    (found,) = clusters(alice)
    assert label(charlie, found["id"], "X", 404)["code"] == "not_found"
    assert label(reader, found["id"], "X", 403)["code"] == "not_permitted"
    side = agent_of(project, namespaces=["acme:side"])
    assert label(side, found["id"], "X", 404)["code"] == "not_found"
    assert label(alice, found["id"].replace("-", "")[::-1], "X", 404)["code"] == "not_found"
    for text in ("", " ", "x" * 201, 7, ["x"]):
        assert label(alice, found["id"], text, 400)["code"] == "validation"
    assert count(ClusterLabel) == 0
    assert label(bob, found["id"], "Herons")["label"] == "Herons"


def test_a_narrow_key_sees_its_own_only(alice, reader, charlie, herons, plant, connect):
    plant(*[at(angle, 5) for angle in range(3)], name="side")
    connect()
    assert len(clusters(alice)) == 2
    assert [row["namespace"] for row in clusters(reader)] == ["acme:main"]
    assert clusters(charlie) == []
    assert reader.client.get(URL, {"namespace": "acme:side"}).status_code == 404


@pytest.mark.parametrize(
    "asked", [{"min_size": 1}, {"min_size": "many"}, {"limit": 0}, {"label": "x"}, {"cursor": "x"}]
)
def test_bad_questions_are_refused(alice, asked):
    answer = alice.client.get(URL, asked)
    assert (answer.status_code, answer.json()["code"]) == (400, "validation")


def test_a_rebuild_gives_the_same_answers(alice, herons, plant, connect, rebuild, principal):
    plant(*[at(angle, 5) for angle in range(4)], name="side")
    connect()
    label(alice, clusters(alice)[0]["id"], "Named")
    before = clusters(alice, min_size=2)
    with access.enter(principal, why="test"):
        ClusterMember.objects.filter(fragment=herons[0]).delete()
        Cluster.objects.filter(size=4).delete()
    assert clusters(alice, min_size=2) != before
    assert rebuild("clusters") == {"target": "clusters", "rebuilt": 7}
    assert clusters(alice, min_size=2) == before


def test_a_large_namespace_waits_for_its_clusters(alice, plant, principal, connect, now, monkeypatch):
    monkeypatch.setattr(refresh, "AT_ONCE", 2)
    plant(at(0), at(1), at(2))
    connect()
    plant(at(3))
    connect()
    assert [row["size"] for row in clusters(alice)] == [3]
    upkeep.graph.refresh_graph(principal, now=now + refresh.SELDOM)
    assert [row["size"] for row in clusters(alice)] == [4]


edges = st.lists(
    st.builds(SimilarPair, st.integers(0, 9), st.integers(0, 9), st.sampled_from([0.7, 0.8, 0.9, 1.0])), max_size=15
)


def ends(pairs):
    return {end for pair in pairs for end in (pair.one, pair.other)}


@given(edges)
def test_small_communities_are_the_connected_components(joined):
    found = find_communities(joined)
    assert sorted(one for group in found for one in group) == sorted(ends(joined))
    place = {one: number for number, group in enumerate(found) for one in group}
    assert all(place[pair.one] == place[pair.other] for pair in joined)
    for group in found:  # nothing is together that no path joins
        reached, former = {group[0]}, set()
        while reached != former:
            former = reached
            reached = reached | ends(pair for pair in joined if {pair.one, pair.other} & reached)
        assert reached == set(group)


@given(edges, st.integers(1, 5))
def test_no_community_is_larger_than_it_may_be_and_the_likest_are_together(joined, most):
    found = find_communities(joined, most=most)
    assert sorted(one for group in found for one in group) == sorted(ends(joined))
    assert all(len(group) <= most for group in found)
    apart = [pair for pair in joined if pair.one != pair.other]
    best = max((pair.cosine for pair in apart), default=0)
    if apart and most > 1:
        place = {one: number for number, group in enumerate(found) for one in group}
        assert any(place[pair.one] == place[pair.other] for pair in apart if pair.cosine == best)
    assert find_communities(reversed(joined), most=most) == found


def test_a_chain_of_neighbours_is_parted_where_it_is_weakest():
    chain = [SimilarPair(n, n + 1, 0.7 if n % 3 == 2 else 0.9) for n in range(8)]
    assert find_communities(chain, most=3) == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]


@pytest.mark.long
@settings(examples, max_examples=15)
@given(
    told=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 11).map(lambda n: 15 * n)), min_size=2, max_size=10),
    gone=st.sets(st.integers(0, 9)),
)
def test_clusters_are_a_function_of_what_stands(alice, plant, connect, change, rebuild, told, gone):
    with undone():
        rows = plant(*[at(angle, plane) for plane, angle in told])
        connect()
        change([row for number, row in enumerate(rows) if number in gone], status="archived")
        connect()
        before = clusters(alice, min_size=2)
        rebuild("links")
        rebuild("clusters")
        assert clusters(alice, min_size=2) == before
