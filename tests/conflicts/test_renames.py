"""Renames: what stood under the spelling of before is found under that of now, and nothing breaks by it."""

import uuid
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.db import connections, transaction
from django.db.migrations.loader import MigrationLoader

from conflicts.keys.names import naming
from conflicts.keys.normalization import canonical_key, digest_of
from conflicts.models import PendingConflict, Predicate, Ruling
from conflicts.renames import rename_standing
from memories import access
from memories.models import Claim, Fragment, Namespace
from tests.conftest import stored

MAIN = "acme:main"
MIGRATIONS = ("0010_further_spellings", "0012_names_a_reader_makes_out", "0013_electronic_mail", "0014_names_in_markup")


def names_of(principal, namespace=MAIN):
    place = Namespace.objects.within(principal.project_id).get(name=namespace)
    return naming(principal.project_id, [place.id])[place.id]


def former_claim(principal, subject, predicate, value, *, namespace=MAIN, authority=None, status="active", **more):
    """A claim as it was named when a key was only spelled."""
    fragment = stored(principal, namespace, f"A note, {uuid.uuid4()}")
    with access.enter(principal, why="test"):
        salt = names_of(principal, namespace).salt
        name = canonical_key(predicate)
        Fragment.objects.filter(id=fragment.id).update(status=status)
        Claim.objects.create(
            id=fragment.id,
            fragment=fragment,
            project_id=principal.project_id,
            namespace_id=fragment.namespace_id,
            subject=subject,
            predicate=predicate,
            value=value,
            subject_digest=digest_of(canonical_key(subject), salt=salt),
            predicate_digest=digest_of(name, salt=salt),
            key_digest=digest_of(canonical_key(subject), name, salt=salt),
            value_digest=digest_of(f"text:{value.casefold()}", salt=salt),
            authority=authority or fragment.authority,
            status=status,
            **more,
        )
    return fragment.id


@pytest.fixture
def former(principal):
    return lambda *said, **more: former_claim(principal, *said, **more)


@pytest.fixture
def rename(principal, now):
    """Names the project anew; the claims by fragment."""

    def run():
        with access.enter(principal, why="test"):
            moved = rename_standing(apps, principal.project_id, using="default", now=now)
            rows = Claim.objects.within(principal.project_id).select_related("fragment")
            return moved, {row.fragment_id: row for row in rows}

    return run


def test_a_claim_takes_the_names_of_now_and_twice_is_once(principal, former, rename):
    one = former("The User", "Parking.Spots", "B12")
    moved, rows = rename()
    with access.enter(principal, why="test"):
        key = names_of(principal).key("user", "parking spot")
    assert moved == 1
    assert bytes(rows[one].key_digest) == key.both
    assert bytes(rows[one].subject_digest) == key.subject
    assert rows[one].status == "active"
    assert rename()[0] == 0


def test_the_stronger_of_two_that_collide_stands_and_the_other_waits(principal, former, rename):
    strong = former("user", "budget", "$750", authority=1)
    weak = former("the user", "my budget", "$13", authority=1)
    with access.enter(principal, why="test"):
        Ruling.objects.create(
            project_id=principal.project_id,
            namespace_id=Claim.objects.get(fragment=strong).namespace_id,
            key_digest=Claim.objects.get(fragment=strong).key_digest,
            chosen=[bytes(Claim.objects.get(fragment=strong).value_digest).hex()],
            authority=6,
        )
    _, rows = rename()
    assert (rows[strong].fragment.status, rows[weak].fragment.status) == ("active", "quarantined")
    assert rows[weak].status == "quarantined"
    with access.enter(principal, why="test"):
        (conflict,) = PendingConflict.objects.within(principal.project_id).pending()
        (ruling,) = Ruling.objects.within(principal.project_id)
    assert (conflict.newcomer_id, conflict.existing_id, conflict.kind) == (weak, strong, "claim")
    assert bytes(conflict.key_digest) == bytes(rows[strong].key_digest) == bytes(ruling.key_digest)
    assert ruling.chosen == [bytes(rows[strong].value_digest).hex()]
    assert rename()[0] == 0


def test_two_that_say_the_same_both_stand(former, rename):
    one, other = former("user", "budget", "$750"), former("users", "the budget", "750 USD")
    _, rows = rename()
    assert {rows[one].status, rows[other].status} == {"active"}
    assert bytes(rows[one].value_digest) == bytes(rows[other].value_digest)


def test_many_values_exclude_none_any_more(former, rename):
    one, other = former("Robin", "prefers.", "dark mode"), former("Robin", "the preference", "short answers")
    _, rows = rename()
    assert {rows[one].exclusive, rows[other].exclusive} == {False}
    assert {rows[one].status, rows[other].status} == {"active"}


def test_those_of_other_periods_and_sessions_stand_beside_each_other(former, rename, now):
    first = former("user", "budget", "$1", scope="temporal", valid_until=now)
    second = former("the user", "the budget", "$2", scope="temporal", valid_from=now)
    third = former("me", "budget.", "$3", scope="session", session_id="s")
    _, rows = rename()
    assert {rows[each].status for each in (first, second, third)} == {"active"}


def test_what_waits_is_named_anew_with_what_it_waits_for(principal, former, rename):
    one = former("user", "budget", "$750")
    two = former("user", "budget", "$13", status="quarantined")
    with access.enter(principal, why="test"):
        like = Claim.objects.get(fragment=two)
        digests = ("subject_digest", "predicate_digest", "key_digest", "value_digest")
        common = {"project_id": principal.project_id, "namespace_id": like.namespace_id, "existing_id": one}
        PendingConflict.objects.create(
            **common, **{name: getattr(like, name) for name in digests}, kind="claim", newcomer_id=two,
            reason="authority_insufficient",
        )  # fmt: skip
        text = stored(principal, MAIN, "The budget of the user is $14.")
        PendingConflict.objects.create(
            **common, kind="text", reason="free_text", newcomer_id=text.id,
            statement={"subject": "the user", "predicate": "the budget", "value": "$14", "negated": False},
        )  # fmt: skip
    _, rows = rename()
    with access.enter(principal, why="test"):
        keys = {bytes(c.key_digest) for c in PendingConflict.objects.within(principal.project_id)}
        values = {bytes(c.value_digest) for c in PendingConflict.objects.within(principal.project_id)}
        names = names_of(principal)
    assert keys == {bytes(rows[one].key_digest)} == {names.key("user", "budget").both}
    assert values == {names.value("budget", "$13"), names.value("budget", "$14")}


def test_registered_rules_of_the_namespace_come_first(principal, former, rename, now):
    former("user", "Parking.Bay", "B12")
    with access.enter(principal, why="test"):
        place = Namespace.objects.within(principal.project_id).get(name=MAIN)
        Predicate.objects.create(
            project_id=principal.project_id, namespace=place, name="parking_spot", aliases=["parking_bay"],
            spelling_digest=b"x" * 32,
        )  # fmt: skip
    _, rows = rename()
    with access.enter(principal, why="test"):
        assert {bytes(row.key_digest) for row in rows.values()} == {names_of(principal).key("me", "parking spot").both}


@pytest.mark.parametrize("name", MIGRATIONS)
def test_the_migration_on_its_own_models_names_every_project_as_the_owner(service, name):
    namespace = f"{service.project}:main"
    strong = former_claim(service, "user", "budget", "$750", namespace=namespace, authority=6)
    weak = former_claim(service, "the account holder", "bugdet", "$13", namespace=namespace)
    owner = connections["owner"]
    loader = MigrationLoader(owner)
    migration = loader.get_migration("conflicts", name)
    (operation,) = migration.operations
    with transaction.atomic(using="owner"):
        operation.code(loader.project_state(migration.dependencies).apps, SimpleNamespace(connection=owner))
    with access.enter(service, why="test"):
        key = names_of(service, namespace).key("user", "budget").both
        rows = Claim.objects.within(service.project_id).in_bulk([strong, weak])
        assert {bytes(claim.key_digest) for claim in rows.values()} == {key}
        assert (rows[strong].status, rows[weak].status) == ("active", "quarantined")
        (conflict,) = PendingConflict.objects.within(service.project_id).pending().filter(key_digest=key)
        assert (conflict.newcomer_id, conflict.existing_id) == (weak, strong)
        assert 0 < conflict.new_trust <= 1
