"""The manifest: its fields have their names and types, or it is none."""

from dataclasses import asdict

import pytest

from memories.backups.bundle.manifest import ENVELOPE, LATE, Manifest

COUNT = {"bucket": "everything", "reason": "so", "count": 1}
TOLD = asdict(
    Manifest(
        project="acme",
        policy="full",
        policyVersion=1,
        exportedAtMs=0,
        instance="ada",
        namespaces=["acme:main"],
        embeddings=False,
        counts=[COUNT],
        upto="7",
    )
)


def test_it_is_read_as_it_was_written():
    assert asdict(Manifest.of(TOLD)) == TOLD


@pytest.mark.parametrize("version", [1, 2])
def test_an_earlier_one_lacks_what_came_later(version):
    earlier = {name: value for name, value in TOLD.items() if name not in LATE} | {"schemaVersion": version}
    assert Manifest.of(earlier).saltName == ""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("project", None),
        ("policyVersion", True),
        ("policyVersion", 1.0),
        ("exportedAtMs", "0"),
        ("embeddings", 0),
        ("namespaces", "acme:main"),
        ("namespaces", [1]),
        ("chain", {}),
        ("base", 1),
        ("counts", [[]]),
        ("counts", [{**COUNT, "count": True}]),
        ("counts", [{**COUNT, "more": 1}]),
        ("counts", [{"bucket": "everything"}]),
    ],
)
def test_another_type_is_refused_by_the_field(name, value):
    with pytest.raises(ValueError, match=f"^{name} of the manifest is of another type$"):
        Manifest.of({**TOLD, name: value})


def test_other_fields_are_named():
    with pytest.raises(ValueError, match="^the manifest has other fields: more, upto$"):
        Manifest.of({**{name: value for name, value in TOLD.items() if name != "upto"}, "more": 1})


@pytest.mark.parametrize("instance", ["ada", ENVELOPE])
def test_who_signed_needs_a_key_even_where_it_is_nobody(instance):
    with pytest.raises(ValueError, match="hexadecimal"):
        _ = Manifest.of({**TOLD, "instance": instance, "publicKey": "zz"}).signer
