"""Errors: what a room refuses, told to a client by status, code and fields, to a person under a title."""

from typing import Any, ClassVar


class NovaError(Exception):
    """A refusal. Its text is for whoever asked, and names nothing that they may not see unless it is not public.

    `title` heads it on a page; without one no page catches it. `retry_after` is in seconds.
    """

    status: ClassVar[int] = 409
    code: ClassVar[str] = ""
    title: ClassVar[str] = ""
    retry_after: ClassVar[int | None] = None
    is_public: ClassVar[bool] = True
    # Whether an operation that ends by it keeps its text, which others read then, and which outlives what was erased.
    is_kept: ClassVar[bool] = False

    @property
    def fields(self) -> list[dict[str, str]]:
        """Return what is at fault, as `field` and `message`, for the problem document."""
        return []

    @property
    def summary(self) -> dict[str, Any]:
        """Return what an operation that ends by it says besides its code."""
        return {"detail": str(self)} if self.is_kept else {}


class NotPermitted(NovaError):
    """The principal sees the thing but lacks the right to do this with it."""

    status = 403
    code = "not_permitted"


class UserRequired(NovaError):
    """The key speaks for users only, and the request names none: failing open would mix people."""

    status = 400
    code = "user_required"

    def __init__(self) -> None:
        super().__init__("this key speaks for users: name the user of each request")


class StaleRevision(NovaError):
    """Somebody changed it since the caller read it; without `current`, its revision by now, it is gone."""

    code = "stale_revision"
    title = "It changed while you looked"

    def __init__(self, what: str, *, current: int | None) -> None:
        super().__init__(
            f"the {what} is at revision {current} now: read it again" if current else f"the {what} is gone"
        )
        self.current = current


class BranchTaken(NovaError):
    """There is a namespace of that name, and it is not empty."""

    code = "branch_taken"
    title = "This name is taken"


class PreconditionFailed(NovaError):
    """Something is not as the request's `If-Match` says."""

    status = 412
    code = "precondition_failed"
