"""What a caller may do at a time: requests per minute by grant, seats for what lasts; counted over all processes."""

import datetime
import uuid

from memories.access import Principal
from memories.models import RateBudget, Seat
from memories.models.limits import Allowance

STREAM, UPLOAD = "stream", "upload"


def take(principal: Principal, *, weight: int = 1) -> Allowance | None:
    """Take as many of the key's tokens as a request weighs, if it has them; what is left. None without a limit: people
    have none.

    Raise OperationalError while the database is away.
    """
    rate, key_id = principal.requests_per_minute, principal.key_id
    return RateBudget.take(key_id, rate=rate, weight=weight) if rate and key_id is not None else None


def wait(principal: Principal) -> float:
    """Take a token and return 0, or the seconds until there is one. Raise OperationalError as `take`."""
    taken = take(principal)
    return taken.wait if taken else 0.0


def acquire_seat(kind: str, holder: str, *, most: int, until: datetime.datetime) -> uuid.UUID | None:
    """Return a seat for a stream or an upload, or None when the holder has as many as allowed."""
    return Seat.take(kind, holder, most=most, until=until)


def renew_seat(seat: uuid.UUID, *, until: datetime.datetime) -> bool:
    """Keep a seat until then. Return whether it still was there: one that ended may be somebody else's."""
    return bool(Seat.objects.filter(id=seat).update(until=until))


def release_seat(seat: uuid.UUID) -> None:
    """Let others have a seat; who never does loses it at its end."""
    Seat.objects.filter(id=seat).delete()


def expire(*, now: datetime.datetime) -> int:
    """Delete seats that nobody gave back, and buckets that have been full for a day: how many."""
    seats = Seat.objects.filter(until__lt=now).delete()[0]
    return seats + RateBudget.objects.filter(at__lt=now - datetime.timedelta(days=1)).delete()[0]
