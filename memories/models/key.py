"""API keys and the immutable grants they carry (docs/spec.md §2)."""

import hashlib
import secrets
import string
import zlib
from dataclasses import dataclass
from typing import ClassVar, Self

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone

from memories.models.enums import SourceClass, Users, Verb
from memories.models.history import tracked
from memories.models.table_spec import TableSpec
from memories.models.tenant import TenantModel, one_of, parent, unique_in_project

ALPHABET = string.digits + string.ascii_letters
ID_LENGTH, SECRET_LENGTH, CRC_LENGTH = 10, 43, 6
PATTERN_LIMIT, PATH_LIMIT = 300, 200


def base62(number: int, length: int) -> str:
    """`number` in `length` base-62 digits."""
    digits = ""
    for _ in range(length):
        number, digit = divmod(number, 62)
        digits = ALPHABET[digit] + digits
    return digits


@dataclass(frozen=True, slots=True)
class KeyText:
    """`nova_<10 id>_<43 secret>_<crc>`: what a client holds. Only the id and a SHA-256 are ever stored."""

    key_id: str
    secret: str

    @classmethod
    def fresh(cls) -> Self:
        """Return a new random key (256 bits of secret)."""
        return cls(*("".join(secrets.choice(ALPHABET) for _ in range(n)) for n in (ID_LENGTH, SECRET_LENGTH)))

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Return the parts of `text`, or None when it is no key: the checksum spares the database typing errors."""
        match text.split("_"):
            case ["nova", key_id, secret, crc] if len(key_id) == ID_LENGTH and len(secret) == SECRET_LENGTH:
                key = cls(key_id, secret)
                return key if secrets.compare_digest(key.crc.encode(), crc.encode(errors="replace")) else None
        return None

    @property
    def crc(self) -> str:
        """CRC-32 of id and secret in base 62."""
        return base62(zlib.crc32(f"{self.key_id}_{self.secret}".encode(errors="replace")), CRC_LENGTH)

    @property
    def digest(self) -> bytes:
        """What is stored of the secret: SHA-256 is enough for 256 random bits."""
        return hashlib.sha256(self.secret.encode(errors="replace")).digest()

    def __str__(self) -> str:
        return f"nova_{self.key_id}_{self.secret}_{self.crc}"


def every_user() -> list[str]:
    """Return the patterns of a key that speaks for all users."""
    return ["*"]


@tracked(
    *("id", "project", "ceiling", "may_attest_user", "requests_per_minute", "created_at"),
    digested=("user_patterns", "upstream_paths"),
    late=("namespaces", "verbs", "users", "may_read_wide"),
)
class Grant(TenantModel):
    """What a key may do. Never changed: a change is a revocation and a reissue (a trigger sees to it)."""

    namespaces = ArrayField(models.CharField(max_length=130))
    verbs = ArrayField(models.CharField(max_length=16, choices=Verb))
    ceiling = models.CharField(max_length=16, choices=SourceClass)
    may_attest_user = models.BooleanField(default=False)
    # Of which users of these namespaces; `*` stands for any characters, `\*` for itself.
    users = models.CharField(max_length=16, choices=Users, default=Users.OPTIONAL)
    user_patterns = ArrayField(models.CharField(max_length=PATTERN_LIMIT), default=every_user)
    may_read_wide = models.BooleanField(default=False)
    # Of the upstream, beyond what any key may use: `GET files/*`. Only the operator grants them.
    upstream_paths = ArrayField(models.CharField(max_length=PATH_LIMIT), default=list)
    requests_per_minute = models.PositiveIntegerField(default=600)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    # Not exported: provenance names it softly.
    spec = TableSpec(kind="operational", erase="kept", fork="shared")

    class Meta:
        constraints: ClassVar = [
            unique_in_project("grant_project_id", "id"),
            one_of("grant_ceiling", "ceiling", SourceClass),
            one_of("grant_users", "users", Users),
            models.CheckConstraint(condition=models.Q(verbs__contained_by=Verb.values), name="grant_verbs"),
        ]

    def __str__(self) -> str:
        return f"{', '.join(self.verbs)} on {', '.join(self.namespaces)} up to {self.ceiling}"


@tracked(
    *("id", "project", "grant", "owner", "created_at", "expires_at", "revoked_at", "rotated_from"),
    late=("key_id", "digest"),
)
class ApiKey(TenantModel):
    """One key: shown once, revocable, rotatable with an overlap."""

    key_id = models.CharField(max_length=ID_LENGTH, db_index=True)
    digest = models.BinaryField(max_length=32)
    grant = parent("memories.Grant")
    owner = parent("memories.Owner")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    expires_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)
    rotated_from = parent("memories.ApiKey", null=True)

    # Not exported: secrets stay.
    spec = TableSpec(kind="operational", erase="kept", fork="shared")

    class Meta:
        constraints: ClassVar = [
            unique_in_project("api_key_project_id", "id"),
            unique_in_project("api_key_key_id", "key_id"),
        ]

    def __str__(self) -> str:
        return f"nova_{self.key_id}_…"


class Authorization(TenantModel):
    """What a person let a client of theirs do, by OAuth: a key whose secret is another with every refresh."""

    key = parent("memories.ApiKey")
    user_id = models.IntegerField()
    client_id = models.TextField()
    client_name = models.CharField(max_length=100)
    # How often its tokens were made anew, and when last: of those before, nothing is accepted.
    refreshes = models.PositiveIntegerField(default=0)
    refreshed_at = models.DateTimeField(default=timezone.now)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    # Not exported: secrets stay.
    spec = TableSpec(kind="operational", erase="kept", fork="shared")

    class Meta:
        constraints: ClassVar = [
            unique_in_project("authorization_project_id", "id"),
            unique_in_project("authorization_once", "key"),
        ]

    def __str__(self) -> str:
        return self.client_name
