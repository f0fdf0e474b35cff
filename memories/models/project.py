"""Projects (the tenants), their members, and the owners behind keys."""

import secrets
import uuid
from functools import cached_property
from typing import ClassVar

from django.conf import settings
from django.core.validators import RegexValidator
from django.db import models
from django.utils import timezone

from memories.models.enums import OwnerKind, Role
from memories.models.history import EVENTS, tracked
from memories.models.scoring import Rates
from memories.models.table_spec import TableSpec
from memories.models.tenant import Current, TenantModel, Xid8Field, one_of, unique_in_project

NAME_PART = r"[a-z0-9][a-z0-9._-]{0,62}"
name_part = RegexValidator(rf"^{NAME_PART}\Z", "Use a–z, 0–9, '.', '_' and '-', starting with a letter or digit.")


def new_salt() -> bytes:
    """32 random bytes, in which a project's fingerprints are keyed."""
    return secrets.token_bytes(32)


class Project(models.Model):
    """A tenant. Nothing crosses it, ever."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=63, unique=True, validators=[name_part])
    salt = models.BinaryField(default=new_salt, editable=False)
    # How often backups were purged: one that was being written meanwhile is written anew.
    purges = models.PositiveBigIntegerField(default=0, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    # Its own numbers of upkeep, by name (memories.upkeep.thresholds); what is missing is the installation's.
    thresholds = models.JSONField(blank=True, default=dict, db_default={}, editable=False)
    # Its own of `Rates`, by name; what is missing is the installation's.
    rates = models.JSONField(blank=True, default=dict, db_default={}, editable=False)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=models.Q(name__regex=rf"^{NAME_PART}$"), name="project_name_form"),
        ]

    def __str__(self) -> str:
        return self.name

    @cached_property
    def rates_in_force(self) -> Rates:
        """The rates by which its memories fade and weigh."""
        return Rates.of(self.rates)


@tracked("id", "project", "user", "role", "created_at")
class Membership(models.Model):
    """A person's role in a project."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=16, choices=Role)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["project", "user"], name="membership_one_per_person"),
            one_of("membership_role", "role", Role),
        ]

    def __str__(self) -> str:
        return f"{self.user} is {self.role} of {self.project}"


class AccountEvent(models.Model):
    """What became of an account: its powers, and a digest of its name and password. Global: a superuser reaches all.

    Written by a trigger on the accounts' table alone; every project's chain seals it.
    """

    pgh_id = models.BigAutoField(primary_key=True)
    pgh_created_at = models.DateTimeField()
    pgh_label = models.CharField(max_length=16)
    pgh_obj_id = models.IntegerField()
    pgh_context = models.JSONField(null=True)
    is_superuser = models.BooleanField()
    is_staff = models.BooleanField()
    is_active = models.BooleanField()
    credentials_changed = models.BooleanField()
    # SHA-256 of the name and of the salted digest that Django keeps of the password.
    credentials_digest = models.BinaryField(max_length=32)
    recorded_in = Xid8Field(db_default=Current(), editable=False)

    spec = EVENTS

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["recorded_in", "pgh_id"], name="account_event_order"),
            models.Index(fields=["pgh_obj_id", "pgh_id"], name="account_event_before"),
        ]

    def __str__(self) -> str:
        return f"{self.pgh_label} of account {self.pgh_obj_id}"

    @property
    def powers(self) -> str:
        """What the account may do in the installation, and whether its name or password is new."""
        names = [name for name in ("superuser", "staff") if getattr(self, f"is_{name}")]
        return ", ".join([*names, "active" if self.is_active else "off", *["credentials"] * self.credentials_changed])


class Owner(TenantModel):
    """The person or service account behind keys; two keys of one owner are not two independent sources."""

    name = models.CharField(max_length=100)
    kind = models.CharField(max_length=16, choices=OwnerKind)
    user_id = models.IntegerField(null=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    # Kept: names no memory.
    spec = TableSpec(kind="canonical", record="owner", local=("project_id", "user_id"), erase="kept", fork="shared")

    class Meta:
        constraints: ClassVar = [
            unique_in_project("owner_project_id", "id"),
            unique_in_project("owner_name", "name"),
            one_of("owner_kind", "kind", OwnerKind),
        ]

    def __str__(self) -> str:
        return self.name
