"""Options of a rollback: to when, what may be asked for, and who may ask."""

import datetime
import uuid

from django.utils import timezone
from django.utils.dateparse import parse_datetime

from conflicts.authority import refuse_below
from conflicts.history import refuse_let_go
from conflicts.public import Ruling
from conflicts.rulings import with_protection
from memories import access
from memories.access import Principal
from memories.models import Fragment, Namespace, Operation, Tombstone
from memories.models.history import events_of
from memories.operations import ACCEPT, BadOptions, Options, check_accepted, check_plan_id, refuse_unfit_plan

TO = "to"


def check_rollback(options: Options) -> None:
    """Raise BadOptions unless they name a moment that is over."""
    if set(options) - {"plan_id", ACCEPT} != {TO}:
        raise BadOptions(TO, "Name the moment: an ISO 8601 time with an offset.")
    moment = _parsed(options)
    if moment is None or moment.tzinfo is None:
        raise BadOptions(TO, "Give an ISO 8601 time with an offset.")
    if moment >= timezone.now():
        raise BadOptions(TO, "Give a time that is over.")
    check_plan_id(options)
    check_accepted(options)


def _parsed(options: Options) -> datetime.datetime | None:
    try:
        return parse_datetime(str(options[TO]))
    except ValueError:
        return None


def moment_of(operation: Operation) -> datetime.datetime:
    """Return to when a rollback goes."""
    moment = _parsed(operation.options)
    assert moment is not None  # checked when it was started
    return moment


def scopes_of(namespace: Namespace) -> list[Namespace]:
    """Return a namespace with its users' scopes."""
    below = Namespace.objects.within(namespace.project_id).below([namespace])
    return [namespace, *below.select_related("project").order_by("name")]


def refuse_unfit_rollback(operation: Operation) -> None:
    """Raise BadOptions for a time before the namespace, HistoryLetGo, and as its plan is unfit."""
    assert operation.namespace is not None  # the kind asks for one
    if moment_of(operation) < operation.namespace.created_at:
        raise BadOptions(TO, "The namespace was made later.")
    refuse_let_go(operation.project_id, moment_of(operation))
    refuse_unfit_plan(operation)


def permit_rollback(principal: Principal, operation: Operation) -> None:
    """Raise NotPermitted when something that changed, or was decided, since is above the principal's ceiling."""
    assert operation.namespace is not None
    with access.enter(principal.of_everybody(), why="ceiling"):
        scopes = scopes_of(operation.namespace)
        rows = with_protection(Fragment.objects.within(operation.project_id).filter(id__in=_changed(operation, scopes)))
        ranks = rows.order_by("-rank").values_list("rank", flat=True)[:1]
        gone = Tombstone.objects.within(operation.project_id).filter(namespace__in=scopes)
        left = gone.filter(evicted_at__gt=moment_of(operation)).values_list("authority", flat=True)
        refuse_below(principal, set(left), what="something that left")
        refuse_below(principal, ranks, what="something that changed")
        refuse_below(principal, _decided(operation, scopes), what="something that was decided")


def _changed(operation: Operation, scopes: list[Namespace]) -> set[uuid.UUID]:
    """Return the memories that changed since."""
    events = events_of(Fragment).objects.filter(project=operation.project_id, namespace__in=scopes)
    found = events.filter(pgh_created_at__gt=moment_of(operation)).values_list("pgh_obj", flat=True)
    return set(found.distinct())


def _decided(operation: Operation, scopes: list[Namespace]) -> set[int]:
    """Return with which authorities somebody decided since, or took a decision back."""
    events = events_of(Ruling).objects.filter(project=operation.project_id, namespace__in=scopes)
    return set(events.filter(pgh_created_at__gt=moment_of(operation)).values_list("authority", flat=True))
