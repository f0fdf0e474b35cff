"""Faults of V1 chunks, told by the path of the field as whoever sent the envelope wrote it."""

import re
from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError
from django.db import models

from memories.backups.bundle.reader import BrokenBundle
from memories.backups.bundle.v1_details import CLAIM, NAMED, NAMES
from memories.models import Claim, Fragment
from memories.models.fragment import LONGEST_TEXT

OWN = {"id": "id", "content": "content", "created_at": "createdAt", "updated_at": "updatedAt"}
METADATA = {column: f"metadata.{name}" for name, column in {**NAMED, **NAMES}.items()}
PATHS = {**OWN, **METADATA, "extra": "metadata.extra", "agent_id": "metadata.namespace"}
# By a word in what the reader says of a record where no column's name begins it.
WORDS = {"vector": "embedding", "twice": "id"}
RANGES = {"importance": (0, 1), "base_relevance": (0, 1), "revision": (1, 2**31 - 1)}
TRIMMED = re.compile(r"\S(.*\S)?", re.DOTALL)


class BrokenEnvelope(BrokenBundle):
    """A field of an envelope is not as it should be; nothing of it was taken."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(1, f"{path}: {why}")
        self.args = (self.why,)
        self.path, self.fault = path, why

    @property
    def fields(self) -> list[dict[str, str]]:
        """Return the field by its path, and what is wrong with it."""
        return [{"field": self.path, "message": self.fault}]


def retold(chunk: str, error: BrokenBundle) -> BrokenEnvelope:
    """Return what the reader says of a record as it is told of its chunk."""
    column, _, rest = error.why.partition(" ")
    if column in PATHS:
        return BrokenEnvelope(f"{chunk}.{PATHS[column]}", f"it {rest}")
    named = next((f".{field}" for word, field in WORDS.items() if word in error.why), "")
    return BrokenEnvelope(f"{chunk}{named}", error.why)


def check(chunk: str, record: Mapping[str, Any]) -> None:
    """Raise BrokenEnvelope for what the database would refuse of a record whose values are of the right types."""
    row = record["row"]
    if not TRIMMED.fullmatch(row["content"]) or len(row["content"]) > LONGEST_TEXT:
        raise BrokenEnvelope(f"{chunk}.content", f"it has 1 to {LONGEST_TEXT:,} characters, no space around")
    for column, (least, most) in RANGES.items():
        if not least <= row[column] <= most:
            raise BrokenEnvelope(f"{chunk}.{PATHS[column]}", f"it is from {least} to {most}")
    for column, name in METADATA.items():
        _check_value(Fragment, column, row[column], f"{chunk}.{name}")
    for place, claim in enumerate([record["claim"], *record.get("claims", ())] if record["claim"] else ()):
        at = f"{chunk}.metadata.{f'claims[{place - 1}]' if place else 'claim'}"
        for name, column in CLAIM.items():
            _check_value(Claim, column, claim[column], f"{at}.{name}")
        if claim["valid_from"] and claim["valid_until"] and claim["valid_from"] >= claim["valid_until"]:
            raise BrokenEnvelope(f"{at}.validUntil", "it is not after validFrom")


def _check_value(model: type[models.Model], column: str, value: Any, path: str) -> None:
    field: Any = model._meta.get_field(column)
    if value in field.empty_values and not (field.choices and value == ""):
        return
    try:
        field.clean(value, None)
    except ValidationError as error:
        raise BrokenEnvelope(path, " ".join(error.messages)) from error
