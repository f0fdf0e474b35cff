"""Alice's project, made once for the whole matrix, and a picture of what a refusal must leave as it is."""

from functools import partial
from pathlib import Path

import pytest
from django.conf import settings
from django.db import transaction
from django.test import override_settings
from django.utils import timezone

from conflicts.models import PendingConflict, Predicate
from conflicts.public import ClaimDraft
from conflicts.registry import register_predicate
from conflicts.resolution import Settlement, resolve
from conflicts.resolution.case_decisions import CaseDecision, settle_case
from conflicts.resolution.cases import CaseKey, case_of
from memories import access, containment, jobs, recall_checks, upkeep, webhooks
from memories.access import keys
from memories.erasure import forget
from memories.ingest.updates import archive
from memories.models import (
    Cluster,
    ClusterLabel,
    ClusterMember,
    EmbeddingModel,
    Episode,
    Fragment,
    Namespace,
    Operation,
    Proposal,
    Tombstone,
    Webhook,
)
from memories.models.enums import CopyReason, EvictionReason
from memories.operations import start
from memories.recall_checks import CheckDraft
from memories.rest.users import address_of
from memories.upkeep.graph import create_episode
from memories.upkeep.lifecycle.removal import Cause, remove_fragments
from memories.webhooks import WebhookDraft
from tests.conftest import stored


@pytest.fixture(scope="module")
def ground(request, django_db_setup, django_db_blocker, tmp_path_factory):
    """What Alice's project holds, made once: a fragment, a predicate, an operation in acme:main, and so on.

    Of the user whom a module names (`WHOSE`), in her scope.
    """
    place = tmp_path_factory.mktemp("matrix")
    files = {**settings.STORAGES["backups"], "OPTIONS": {"location": str(place / "backups")}}
    own = override_settings(DATA_DIR=place, STORAGES={**settings.STORAGES, "backups": files})
    user = getattr(request.module, "WHOSE", None)
    with own, django_db_blocker.unblock(), transaction.atomic():
        yield _made(access.system_principal(keys.ensure_project("acme")).of_user(user), now=timezone.now())
        transaction.set_rollback(True)


@pytest.fixture
def db(ground):
    """Each test in a savepoint on the common ground, in place of a transaction of its own; its files come back too."""
    place = Path(settings.STORAGES["backups"]["OPTIONS"]["location"])
    files = {path: path.read_bytes() for path in place.iterdir()}
    with transaction.atomic():
        yield
        transaction.set_rollback(True)
    for path in place.iterdir():
        path.unlink()
    for path, data in files.items():
        path.write_bytes(data)


def _made(principal, *, now):
    store, whole = partial(stored, principal), principal.of_everybody()
    row = store("acme:main", "Something that stands already in the main room.")
    store("acme:main", "A pattern.", source_type="taste-vault", source_id="n1")
    store("acme:side", "Something in the side room.")
    store("acme:main", "Something under a name of its own.", key="its-own")
    stored(principal.of_user("ann"), "acme:main", "Something that Ann said.")
    wish = {"kind": "rebuild", "namespace": row.namespace, "options": {"target": "keywords"}}
    archived = store("acme:main", "Something that was put away.")
    archive(principal, archived.id, now=now)
    conflict, settled = (_conflict(store, principal, subject) for subject in ("Ada", "Bea"))
    resolve(principal, settled, Settlement("reject", 1), now=now)
    forget(principal, store("acme:main", "Something that was forgotten.").id, now=now)
    tombstone = _tombstone(principal, store("acme:main", "Something that left."), now=now)
    others = {n: store("acme:main", f"The {n} thing that stands here.").id for n in ("second", "third")}
    upkeep.graph.refresh_graph(principal, now=now)
    groups = _groups(principal, row)
    run = jobs.start(principal, kind="consolidate", namespace=row.namespace, options={}, now=now, wake_up=False)
    jobs.run(principal, run.id)
    pack = jobs.start(principal, kind="pack", namespace=row.namespace, options={}, now=now, wake_up=False)
    jobs.run(principal, pack.id)
    made = jobs.start(whole, kind="backup", namespace=None, options={}, now=now, wake_up=False)
    return {
        **others,
        "user": address_of("ann"),
        **groups,
        "namespace": "acme:main",
        "side": "acme:side",
        "moment": timezone.now().isoformat(),
        "project": "acme",
        "entity": "Ada",
        "forgotten": "Something that was forgotten.",
        "fragment": row.id,
        "archived": archived.id,
        "tombstone": tombstone,
        "proposal": _proposal(principal, row.namespace, list(others.values()), waiting=True),
        "decided": _proposal(principal, row.namespace, list(others.values()), decision="dismissed", decided_at=now),
        "conflict": conflict,
        "settled": settled,
        **_cases(store, principal, now=now),
        "replaced": _replaced(store),
        "key": _key("stolen").id,
        "containment": _containment(whole, now=now),
        "predicate": register_predicate(whole, namespace="acme:main", name="shoe_size", now=now).id,
        "model": EmbeddingModel.objects.create(name="second", provider="fake", dim=384).id,
        "operation": start(principal, **wish, dry_run=False, now=now).id,
        "run": run.id,
        "pack": pack.id,
        "check": recall_checks.keep(
            principal,
            [CheckDraft(namespace="acme:main", question="What left?", expects="text", expected="left")],
            now=now,
        )[0][0].id,
        "webhook": webhooks.create_webhook(whole, WebhookDraft("https://example.org/hook"), now=now).id,
        "backup": jobs.run(whole, made.id).report["backup_id"],
    }


def _check(principal, *, now):
    """The id of a recall check."""
    ((row, _),) = recall_checks.keep(
        principal, [CheckDraft(namespace="acme:main", question="What left?", expects="text", expected="left")], now=now
    )
    return row.id


def _tombstone(principal, fragment, *, now):
    """The id of the tombstone of a fragment that leaves."""
    with access.enter(principal, why="test"):
        cause = Cause(EvictionReason.LOW_WEIGHT, {})
        remove_fragments(
            principal.project_id, {fragment.id: cause}, copied=CopyReason.EVICTED, operation_id=None, now=now
        )
        return Tombstone.objects.get(original_id=fragment.id).id


def _groups(principal, row):
    """The ids of an episode and of a cluster with this fragment in it."""
    with access.enter(principal, why="test"):
        episode = create_episode(principal, namespace="acme:main", title="", ids=[row.id])
        mine = {"project_id": row.project_id, "namespace": row.namespace}
        cluster = Cluster.objects.create(**mine, size=2, created_at=row.created_at)
        ClusterMember.objects.filter(fragment=row).delete()
        ClusterMember.objects.create(project_id=row.project_id, fragment=row, cluster=cluster)
    return {"episode": episode.id, "cluster": cluster.id}


def _proposal(principal, namespace, ids, **more):
    """The id of a supersession, which waits or was decided."""
    with access.enter(principal, why="test"):
        mine = {"project_id": principal.project_id, "namespace": namespace, "task_id": "evolve"}
        return Proposal.objects.create(**mine, kind="supersession", outcome="allowed", about=ids, **more).id


def _key(owner):
    return keys.issue(
        keys.ensure_project("acme"), keys.KeyRequest(["acme:*"], ["write"], "tool_output"), owner=owner
    ).row


def _containment(principal, *, now):
    """The id of a containment of a key."""
    with access.enter(principal, why="test"):
        ground = containment.by_key(principal, str(_key("gone").id))
        return containment.contain(principal, ground, now=now).id


def _replaced(store):
    """The id of what a document says of somebody, which a tool's word replaced."""
    former, _ = [
        store("acme:main", f"Cea is {age}.", source=source, claim=ClaimDraft("Cea", "age", age))
        for age, source in (("41", "document"), ("42", "tool_output"))
    ]
    return former.id


def _conflict(store, principal, subject):
    """The id of a conflict between what a tool says of somebody and what an inference says."""
    store("acme:main", f"{subject} is seven.", source="tool_output", claim=ClaimDraft(subject, "age", "7"))
    weaker = store("acme:main", f"{subject} is eight.", claim=ClaimDraft(subject, "age", "8"))
    with access.enter(principal, why="test"):
        return weaker.conflicts.get().id


def _cases(store, principal, *, now):
    """The id of a case that waits, its revision and a value of it; the id of one that was settled at once."""
    waiting, settled = (_case(store, principal, subject) for subject in ("Dot", "Eve"))
    settle_case(principal, settled.id, CaseDecision(settled.revision, [settled.values[0].id]), now=now)
    return {
        "case": waiting.id,
        "case_revision": waiting.revision,
        "case_value": waiting.values[0].id,
        "settled_case": settled.id,
    }


def _case(store, principal, subject):
    conflict = _conflict(store, principal, subject)
    with access.enter(principal, why="test"):
        return case_of(principal, CaseKey.of(PendingConflict.objects.get(id=conflict)).id)


@pytest.fixture
def picture(count, principal):
    """What a refusal must leave as it is."""

    def take():
        with access.enter(principal, why="test"):
            fragments = list(
                Fragment.objects.order_by("id").values_list("id", "revision", "importance", "status", "tier")
            )
            operations = list(Operation.objects.order_by("id").values_list("id", "state", "cancel_requested"))
            conflicts = list(PendingConflict.objects.order_by("id").values_list("id", "revision", "resolution"))
            stones = list(Tombstone.objects.order_by("id").values_list("id", "original_id"))
            groups = [*Episode.objects.order_by("id").values_list("id"), *ClusterLabel.objects.values_list("label")]
            predicates = list(Predicate.objects.order_by("id").values_list("id", "revision", "policy"))
            proposals = list(Proposal.objects.order_by("id").values_list("id", "waiting", "decision"))
            return (
                proposals,
                list(EmbeddingModel.objects.order_by("id").values_list("id", "state")),
                fragments,
                operations,
                conflicts,
                predicates,
                stones,
                list(Webhook.objects.order_by("id").values_list("id", "enabled")),
                groups,
                list(Namespace.objects.order_by("name").values_list("name")),
            )

    return take
