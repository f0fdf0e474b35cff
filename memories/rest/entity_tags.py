"""The revision that a caller read, as HTTP names it: `ETag` in answers, `If-Match` in requests (RFC 9110, 13.1.1)."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from memories.errors import PreconditionFailed, StaleRevision

ETAG = OpenApiParameter(
    "ETag", str, OpenApiParameter.HEADER, response=[200], description="The revision, for `If-Match`."
)
IF_MATCH = OpenApiParameter(
    "If-Match", str, OpenApiParameter.HEADER, description='The ETag that was read, as `"3"`: 412 if it has changed.'
)
# A proxy that compresses makes them weak; the revision is the same.
TAG = re.compile(r'(?:W/)?"([^"]*)"')


def tagged(answer: dict[str, Any]) -> Response:
    """Return the response that carries its revision as an `ETag`; what has none goes without."""
    revision = answer["revision"]
    return Response(answer, headers=None if revision is None else {"ETag": f'"{revision}"'})


@contextmanager
def matching(request: Request, revision: int | None = None) -> Iterator[int | None]:
    """Lead in with the revision that was read, by the body or by `If-Match`; None where neither names one.

    Raise ValidationError for a header that is no entity tag, or another one than the body's, and PreconditionFailed
    instead of StaleRevision where `If-Match` named it.
    """
    header = request.headers.get("If-Match", "*").strip()
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
