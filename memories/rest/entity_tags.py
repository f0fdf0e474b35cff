"""The revision that a caller read, as HTTP names it: `ETag` in answers, `If-Match` in requests (RFC 9110, 13.1.1)."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import ValidationError
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request
from rest_framework.response import Response

from conflicts.public import lock_claimed_keys
from memories.access import Principal
from memories.errors import PreconditionFailed, StaleRevision
from memories.ingest.updates import refuse_stale
from memories.models import Fragment

ETAG = OpenApiParameter(
    "ETag", str, OpenApiParameter.HEADER, response=[200, 201], description="The revision, for `If-Match`."
)
IF_MATCH = OpenApiParameter(
    "If-Match", str, OpenApiParameter.HEADER, description='The ETag that was read, as `"3"`: 412 if it has changed.'
)
# A proxy that compresses makes them weak; the revision is the same.
TAG = re.compile(r'(?:W/)?"([^"]*)"')
FRAGMENT = "fragment_id"  # what an address names whose revision every change compares


class ComparesRevision(BasePermission):
    """`If-Match` is for changes of a fragment, and for the methods that a view names in `compared`."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """Return True. Raise ValidationError for a condition that nothing would look at."""
        known = request.method in SAFE_METHODS or FRAGMENT in view.kwargs
        if not known and request.method not in getattr(view, "compared", ()) and _header(request) != "*":
            raise ValidationError({"If-Match": ["There is no revision to compare here: leave it out."]})
        return True


def tagged(answer: dict[str, Any]) -> Response:
    """Return the response that carries its revision as an `ETag`; what has none goes without."""
    return with_tag(Response(answer))


def with_tag(response: Response, of: str | None = None) -> Response:
    """Let a response carry the revision of what it answers, or answers under `of`, as an `ETag`, where it has one."""
    if (revision := (response.data[of] if of else response.data)["revision"]) is not None:
        response.headers["ETag"] = f'"{revision}"'
    return response


@contextmanager
def matching(request: Request, revision: int | None = None) -> Iterator[int | None]:
    """Lead in with the revision that was read, by the body or by `If-Match`; None where neither names one.

    Raise ValidationError for a header that is no entity tag, or another one than the body's, and PreconditionFailed
    instead of StaleRevision where `If-Match` named it.
    """
    header = _header(request)
    if header == "*":
        yield revision
        return
    if not (tag := TAG.fullmatch(header)):
        raise ValidationError({"If-Match": ['Give one ETag as it was answered, such as "3", or *.']})
    # No revision of ours has this number: a tag of something else matches nothing.
    named = int(tag[1]) if re.fullmatch("[1-9][0-9]{0,17}", tag[1]) else 0
    if revision is not None and revision != named:
        raise ValidationError({"revision": ["The body and If-Match name different revisions."]})
    try:
        yield named
    except StaleRevision as error:
        raise PreconditionFailed(str(error)) from error


def compare_fragment(request: Request, principal: Principal) -> None:
    """Lock the fragment of the address, where there is one and `If-Match` names a revision. Raise as `matching`.

    What the principal may not read is left to whoever looks for it.
    """
    fragment_id = request.parser_context["kwargs"].get(FRAGMENT)
    with matching(request) as revision:
        if fragment_id is None or revision is None:
            return
        lock_claimed_keys(principal.project_id, fragment_id=fragment_id)  # first, as in every change
        rows = Fragment.objects.within(principal.project_id).select_for_update(of=("self",))
        row = rows.select_related("namespace").filter(id=fragment_id).first()
        if row is not None and principal.covers_reading(row.namespace.name):
            refuse_stale(row, revision)


def _header(request: Request) -> str:
    return request.headers.get("If-Match", "*").strip()
