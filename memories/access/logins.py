"""Logging in: a brake on tries, and the second factor. Of a try digests and its end are kept (docs/decisions/0102)."""

import base64
import datetime
import hashlib
import ipaddress
import secrets
from dataclasses import dataclass
from math import ceil
from typing import Any

import segno
from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.hashers import check_password
from django.db import transaction
from django.db.models import Q
from django.utils.crypto import salted_hmac
from django_otp.plugins.otp_static.models import StaticDevice
from django_otp.plugins.otp_totp.models import TOTPDevice

from memories.models import LoginEvent, Membership
from memories.models.enums import LoginOutcome, Role
from memories.models.sql import fetch

WINDOW = datetime.timedelta(minutes=15)
# Failures within the window: of a name from one address, from an address, of a name from everywhere. The last is high,
# so that nobody locks somebody else out by typing their name.
PAIR, ADDRESS, NAME = 5, 20, 100
CODES, CODE_BYTES, RECOVERY = 10, 5, "recovery"


class Locked(Exception):
    """Too many tries failed; the seconds until the next one may be made."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"too many tries failed: wait {ceil(seconds / 60)} min")
        self.seconds = seconds

    @property
    def minutes(self) -> int:
        """The same in whole minutes."""
        return max(1, ceil(self.seconds / 60))


@dataclass(frozen=True, slots=True)
class Trier:
    """Who tries to log in, by digests: the name as it was typed, and the address, of IPv6 its network."""

    name: bytes
    address: bytes

    @classmethod
    def of(cls, username: str, address: str) -> "Trier":
        """Return the trier of a name from an address."""
        return cls(_digest("name", username.strip().casefold()), _digest("address", _network(address)))


class PasswordBackend(ModelBackend):
    """Django's, which leaves a superuser's hash as it is: to keep a stronger one is for the owner's login."""

    def authenticate(
        self, request: Any, username: str | None = None, password: str | None = None, **kwargs: Any
    ) -> Any:
        """Return the person whose name and password these are, or None."""
        found: Any = get_user_model()._default_manager.filter(username=username, is_superuser=True).first()
        if found is None or password is None:
            return super().authenticate(request, username, password, **kwargs)
        is_right = check_password(password, found.password)
        return found if is_right and self.user_can_authenticate(found) else None


def begin(username: str, address: str, *, now: datetime.datetime) -> LoginEvent:
    """Note a try, a failure until `succeed` is called, and return it. Raise Locked after too many of them.

    It is noted before the password is looked at: tries at one time count each other.
    """
    trier = Trier.of(username, address)
    known = get_user_model()._default_manager.filter(username=username).values_list("pk", flat=True).first()
    about = {"name": trier.name, "address": trier.address, "user_id": known, "at": now}
    if seconds := _wait(trier, now=now):
        if not _is_noted(trier, now=now):
            LoginEvent.objects.create(**about, outcome=LoginOutcome.LOCKED)
        raise Locked(seconds)
    event = LoginEvent.objects.create(**about, outcome=LoginOutcome.FAILURE)
    if seconds := _wait(trier, now=now, but=1):
        raise Locked(seconds)
    return event


def succeed(*events: int) -> None:
    """The tries led in."""
    LoginEvent.objects.filter(id__in=events, outcome=LoginOutcome.FAILURE).update(outcome=LoginOutcome.SUCCESS)


def note(user: Any, outcome: LoginOutcome, *, address: str, now: datetime.datetime) -> None:
    """Note what became of somebody's second factor."""
    trier = Trier.of(user.get_username(), address)
    LoginEvent.objects.create(name=trier.name, address=trier.address, user_id=user.pk, at=now, outcome=outcome)


def expire(*, now: datetime.datetime) -> int:
    """Delete what is older than LOGIN_DAYS, and return how many."""
    before = now - datetime.timedelta(days=settings.LOGIN_DAYS)
    ((gone,),) = fetch("SELECT nova_forget_logins(%s)", [before])
    return int(gone)


def _wait(trier: Trier, *, now: datetime.datetime, but: int = 0) -> float:
    """Seconds until few enough failures lie within the window; `but` as many as were just noted."""
    rows = LoginEvent.objects.filter(at__gt=now - WINDOW).order_by("-at", "-id")
    both = Q(name=trier.name, address=trier.address)
    # Who got in from here had failed before as themselves. Each limit is counted apart: no rows hide another's.
    entered = rows.filter(both, outcome=LoginOutcome.SUCCESS).first()
    before = Q(at__lt=entered.at) | Q(at=entered.at, id__lt=entered.id) if entered else Q(pk=None)
    failures = rows.filter(outcome=LoginOutcome.FAILURE).exclude(both & before)
    limits = ((both, PAIR), (Q(address=trier.address), ADDRESS), (Q(name=trier.name), NAME))
    over = [
        at
        for which, most in limits
        for at in failures.filter(which).values_list("at", flat=True)[most + but - 1 : most + but]
    ]
    return max(((at + WINDOW - now).total_seconds() for at in over), default=0.0)


def _is_noted(trier: Trier, *, now: datetime.datetime) -> bool:
    rows = LoginEvent.objects.filter(name=trier.name, address=trier.address, at__gt=now - WINDOW)
    return rows.filter(outcome=LoginOutcome.LOCKED).exists()


def _digest(kind: str, text: str) -> bytes:
    return salted_hmac(f"memories.logins.{kind}", text, algorithm="sha256").digest()[:16]


def _network(address: str) -> str:
    """Return an address of IPv4; of IPv6 the /64 of which somebody usually has all."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(found if found.version == 4 else ipaddress.ip_network((found, 64), strict=False))


def factor_of(user: Any) -> TOTPDevice | None:
    """Return the second factor that somebody has confirmed."""
    found: TOTPDevice | None = TOTPDevice.objects.filter(user=user, confirmed=True).first()
    return found


def must_have_factor(user: Any) -> bool:
    """Return whether the operator wants somebody to have a second factor: above viewer, and superusers."""
    if not settings.REQUIRE_SECOND_FACTOR:
        return False
    above = Membership.objects.filter(user=user).exclude(role=Role.VIEWER)
    return user.is_superuser or above.exists()


def draft_factor(user: Any) -> TOTPDevice:
    """Return a second factor that is still to be confirmed, the same until it is."""
    draft: TOTPDevice
    draft, _ = TOTPDevice.objects.get_or_create(user=user, confirmed=False, defaults={"name": "app"})
    return draft


def secret_of(device: TOTPDevice) -> str:
    """Return the secret as it is typed into an app."""
    return base64.b32encode(device.bin_key).decode().rstrip("=")


def picture_of(device: TOTPDevice) -> str:
    """Return the secret as a QR code: an SVG in a data address."""
    return str(segno.make(device.config_url, micro=False).svg_data_uri(scale=4, dark="#000", light="#fff"))


def confirm_factor(user: Any, code: str) -> list[str]:
    """Let a draft be the second factor when the code is its own, and return the recovery codes; else none."""
    with transaction.atomic():
        draft = TOTPDevice.objects.select_for_update().filter(user=user, confirmed=False).first()
        if draft is None or not draft.verify_token(_digits(code)):
            return []
        TOTPDevice.objects.filter(user=user, confirmed=True).delete()
        draft.confirmed = True
        draft.save()
        return new_codes(user)


def new_codes(user: Any) -> list[str]:
    """Return fresh recovery codes, each for once; the former ones end. Only digests are kept."""
    codes = [secrets.token_hex(CODE_BYTES) for _ in range(CODES)]
    with transaction.atomic():
        StaticDevice.objects.filter(user=user).delete()
        device = StaticDevice.objects.create(user=user, name=RECOVERY)
        for code in codes:
            device.token_set.create(token=_code_digest(code))
    return [f"{code[:5]}-{code[5:]}" for code in codes]


def codes_left(user: Any) -> int:
    """Return how many recovery codes are unused."""
    return sum(device.token_set.count() for device in StaticDevice.objects.filter(user=user))


def check_code(user: Any, code: str) -> TOTPDevice | StaticDevice | None:
    """Return what a code proves that somebody has: the app, or a recovery code, which is used up; None for neither."""
    with transaction.atomic():
        for model, typed in ((TOTPDevice, _digits(code)), (StaticDevice, _code_digest(code))):
            device = model.objects.select_for_update().filter(user=user, confirmed=True).first()
            if device is not None and device.verify_token(typed):
                return device
    return None


def remove_factor(user: Any) -> bool:
    """Take somebody's second factor and recovery codes away; whether there was one."""
    with transaction.atomic():
        StaticDevice.objects.filter(user=user).delete()
        return bool(TOTPDevice.objects.filter(user=user).delete()[0])


def _digits(code: str) -> str:
    return "".join(code.split()) if code.isascii() else ""


def _code_digest(code: str) -> str:
    return hashlib.sha256("".join(code.lower().replace("-", "").split()).encode()).hexdigest()[:16]
