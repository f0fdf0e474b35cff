"""The horizon: up to where a project's history was let go, and what of it is kept; signed, in place of the seals.

Of what was there at the horizon the first and the last event stay, so that every state since can be read.
"""

import datetime
import hashlib
import json
from uuid import UUID

from memories.audit import signatures
from memories.audit.journal import moment
from memories.audit.leaves import leaves
from memories.models import AuditHorizon, Seal

PURPOSE = "horizon"


def keep(cut: Seal, *, now: datetime.datetime) -> AuditHorizon:
    """Sign what stays of the events up to a seal."""
    kept, events = kept_digest(cut.project_id, upto=cut.upto)
    row = AuditHorizon(
        project_id=cut.project_id, number=cut.number, upto=cut.upto, sealed_at=cut.sealed_at, digest=bytes(cut.digest),
        events=events, kept=kept, made_at=now,
    )  # fmt: skip
    row.signature = signatures.sign(_message(row), purpose=PURPOSE)
    AuditHorizon.objects.within(cut.project_id).delete()
    row.save(force_insert=True)
    return row


def kept_digest(project_id: UUID, *, upto: int) -> tuple[bytes, int]:
    """Return the SHA-256 over the digests of the events before a transaction, and how many there are."""
    whole, events = hashlib.sha256(), 0
    for leaf in leaves(project_id, since=0, before=upto):
        whole.update(json.dumps(leaf, separators=(",", ":")).encode() + b"\n")
        events += 1
    return whole.digest(), events


def is_signed(row: AuditHorizon) -> bool:
    """Return whether this instance signed a horizon."""
    return signatures.is_signed(_message(row), bytes(row.signature), purpose=PURPOSE)


def is_whole(row: AuditHorizon) -> bool:
    """Return whether a horizon is signed by this instance, and what it kept is what it was."""
    return is_signed(row) and kept_digest(row.project_id, upto=row.upto) == (bytes(row.kept), row.events)


def _message(row: AuditHorizon) -> bytes:
    parts = [row.number, row.upto, moment(row.sealed_at), bytes(row.digest).hex(), row.events, bytes(row.kept).hex()]
    return json.dumps([str(row.project_id), *parts], separators=(",", ":")).encode()


def line(row: AuditHorizon) -> bytes:
    """Return the line of the file that stands in place of those that went."""
    told = {"number": row.number, "horizon": json.loads(_message(row)), "signature": bytes(row.signature).hex()}
    return json.dumps(told).encode() + b"\n"
