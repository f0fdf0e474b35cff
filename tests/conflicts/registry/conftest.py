"""Rules that are registered, and what they name."""

import datetime
import uuid

import pytest

from conflicts import registry
from conflicts.keys.names import naming
from conflicts.models import PendingConflict, Predicate
from memories import access
from memories.models import Claim, Namespace

MAIN, SIDE = "acme:main", "acme:side"


YEAR = datetime.timedelta(days=365)


@pytest.fixture
def register(principal, now):
    """Registers a predicate in acme:main."""

    def put(name, *aliases, by=principal, namespace=MAIN, **more):
        return registry.register_predicate(by, namespace=namespace, name=name, aliases=aliases, now=now, **more)

    return put


@pytest.fixture
def change(principal, now):
    """Changes a predicate of acme:main."""

    def put(name, *, by=principal, revision=None, **changes):
        return registry.change_predicate(by, (MAIN, name), changes=changes, revision=revision, now=now)

    return put


@pytest.fixture
def claim(principal, store):
    """A standing claim of Robin, named by the rules of now."""

    def keep(predicate, value, *, asked=None, namespace=MAIN, status="active", subject="Robin", **more):
        fragment = store(namespace, f"{subject}: {predicate} = {value} {uuid.uuid4()}")
        with access.enter(principal, why="test"):
            names = naming(principal.project_id, [fragment.namespace_id])[fragment.namespace_id]
            key = names.key(subject, predicate)
            type(fragment).objects.filter(id=fragment.id).update(status=status)
            Claim.objects.create(
                fragment=fragment,
                project_id=principal.project_id,
                namespace_id=fragment.namespace_id,
                subject=subject,
                predicate=predicate,
                value=value,
                subject_digest=key.subject,
                predicate_digest=key.predicate,
                key_digest=key.both,
                value_digest=names.value(predicate, value),
                exclusive=names.exclusive(predicate, asked),
                authority=fragment.authority,
                status=status,
                **more,
            )
        return fragment.id

    return keep


@pytest.fixture
def picture(principal):
    """All that belief keeps here."""

    def take():
        with access.enter(principal, why="test"):
            return [
                list(model.objects.order_by("pk").values()) for model in (Predicate, Claim, PendingConflict, Namespace)
            ]

    return take


@pytest.fixture
def conflict(principal, now):
    """A conflict that carries the names of a claim, or of what a text was read as."""

    def make(claim_id, *, newcomer=None, existing=None, statement=None, **more):
        with access.enter(principal, why="test"):
            like = Claim.objects.get(fragment=claim_id)
            digests = {
                n: getattr(like, n) for n in ("subject_digest", "predicate_digest", "key_digest", "value_digest")
            }
            return PendingConflict.objects.create(
                project_id=principal.project_id,
                namespace_id=like.namespace_id,
                kind="text" if statement else "claim",
                reason="authority_insufficient",
                newcomer_id=newcomer,
                existing_id=existing,
                statement=statement,
                **{**digests, **more},
            ).id

    return make


def row(principal, fragment_id):
    with access.enter(principal, why="test"):
        return Claim.objects.get(fragment=fragment_id)


def digests(thing):
    return [bytes(getattr(thing, name)) for name in ("predicate_digest", "key_digest", "value_digest")]


def one_key(principal, *fragment_ids):
    return len({bytes(row(principal, i).key_digest) for i in fragment_ids}) == 1


def assert_named_as_now(principal):
    """Every claim stands under the names that the rules of its namespace give it."""
    with access.enter(principal, why="test"):
        claims = list(Claim.objects.all())
        names = naming(principal.project_id, {claim.namespace_id for claim in claims})
    for claim in claims:
        mine = names[claim.namespace_id]
        key = mine.key(claim.subject, claim.predicate)
        assert digests(claim) == [key.predicate, key.both, mine.value(claim.predicate, claim.value)], claim
        if mine.registers(claim.predicate):
            assert claim.exclusive or not mine.exclusive(claim.predicate, None), claim
