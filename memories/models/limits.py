"""What holds callers within limits: tokens of keys, seats of streams and uploads, logins. Of no project."""

import datetime
import uuid
from dataclasses import dataclass
from math import ceil
from typing import ClassVar

from django.db import models, transaction
from django.utils import timezone

from memories.models.enums import LoginOutcome
from memories.models.sql import execute, fetch
from memories.models.tenant import one_of

# The bucket fills with `rate` tokens a minute up to `rate`. What weighs more than all of them waits for a full bucket
# and leaves a debt, so that the rate holds in the long run.
# Whose they are: the rows of a source, each with a `key` and its `rate`.
TAKE = """
    INSERT INTO memories_ratebudget AS b (key_id, tokens, wait, at)
    SELECT k.key, k.rate - %(weight)s, 0, statement_timestamp() FROM {source} AS k
    ON CONFLICT (key_id) DO UPDATE SET (tokens, wait, at) = (
        SELECT CASE WHEN filled >= least(%(weight)s, rate) THEN filled - %(weight)s ELSE filled END,
            greatest(0, least(%(weight)s, rate) - filled) * 60 / rate, greatest(b.at, statement_timestamp())
        FROM (SELECT k.rate, least(k.rate, b.tokens + k.rate / 60.0
            * greatest(0, extract(epoch FROM statement_timestamp() - b.at)::float)) AS filled
            FROM {source} AS k WHERE k.key = b.key_id) AS now)
    RETURNING wait, tokens
"""
SIT = """
    INSERT INTO memories_seat (id, kind, holder, until)
    SELECT %(id)s, %(kind)s, %(holder)s, %(until)s
    WHERE (SELECT count(*) FROM memories_seat WHERE kind = %(kind)s AND holder = %(holder)s) < %(most)s
"""


@dataclass(frozen=True, slots=True)
class Allowance:
    """What a key may do: its requests a minute, the tokens left of them, and the seconds to wait for what was asked.

    Below no tokens it is in debt; where it has not to wait they were taken.
    """

    rate: int
    tokens: float
    wait: float

    @property
    def left(self) -> int:
        """Return how many requests it may make at once."""
        return max(0, int(self.tokens))

    @property
    def seconds_until_full(self) -> int:
        """Return how long until it may make all of them."""
        return ceil((self.rate - self.tokens) * 60 / self.rate)


class RateBudget(models.Model):
    """The tokens that a key has left. Unlogged: after a crash every bucket is full."""

    key_id = models.UUIDField(primary_key=True)
    tokens = models.FloatField()
    wait = models.FloatField()
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.tokens:.1f} of key {self.key_id}"

    @staticmethod
    def take(key_id: uuid.UUID, *, rate: int, weight: int) -> "Allowance":
        """Take tokens if there are enough; return what is left. One statement, whoever else asks."""
        one = "(SELECT %(key)s::uuid AS key, %(rate)s::float AS rate)"
        ((wait, tokens),) = fetch(TAKE.format(source=one), {"key": key_id, "rate": rate, "weight": weight})
        return Allowance(rate, tokens, wait)


class Seat(models.Model):
    """A stream that is open or an upload on its way, and who has it. Unlogged: a crash ends them all."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    kind = models.CharField(max_length=16)
    holder = models.CharField(max_length=64)
    until = models.DateTimeField()

    class Meta:
        # Counting a holder's seats.
        indexes: ClassVar = [models.Index(fields=["kind", "holder"], name="seat_holder")]

    def __str__(self) -> str:
        return f"{self.kind} of {self.holder}"

    @staticmethod
    def take(kind: str, holder: str, *, most: int, until: datetime.datetime) -> uuid.UUID | None:
        """Return a seat, or None when the holder has as many as allowed. Those that were left without a word end."""
        seat = uuid.uuid4()
        params = {"id": seat, "kind": kind, "holder": holder, "most": most, "until": until}
        with transaction.atomic():
            execute("SELECT pg_advisory_xact_lock(hashtextextended(%(kind)s || %(holder)s, 20))", params)
            execute("DELETE FROM memories_seat WHERE kind = %(kind)s AND holder = %(holder)s AND until < now()", params)
            return seat if execute(SIT, params) else None


class LoginEvent(models.Model):
    """A try to log in, or a change of a second factor: digests of the name and the address that was used, no text.

    A try begins as a failure and becomes a success; nothing else about a row changes. Old ones go.
    """

    at = models.DateTimeField(default=timezone.now)
    user_id = models.IntegerField(null=True)
    name = models.BinaryField(max_length=16)
    address = models.BinaryField(max_length=16)
    outcome = models.CharField(max_length=16, choices=LoginOutcome)

    class Meta:
        constraints: ClassVar = [one_of("login_event_outcome", "outcome", LoginOutcome)]
        # The brake counts what one name, or one address, tried lately.
        indexes: ClassVar = [
            models.Index(fields=["name", "at"], name="login_event_name"),
            models.Index(fields=["address", "at"], name="login_event_address"),
        ]

    def __str__(self) -> str:
        return f"{self.outcome} at {self.at}"
