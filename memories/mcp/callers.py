"""Who calls a tool, and which namespace they mean when they name none."""

import datetime
from dataclasses import dataclass, replace

from rest_framework.exceptions import Throttled, ValidationError

from memories.access import Principal, rate_limits
from memories.models.namespace import BadUser
from memories.rest.authentication import bearer_of


@dataclass(frozen=True, slots=True)
class Caller:
    """A principal, the namespace and the user that their connection names (an empty string, None), and the server's
    address as they know it, without a slash at the end."""

    principal: Principal
    namespace: str = ""
    user: str | None = None
    site: str = ""

    @property
    def default(self) -> str:
        """The namespace of calls that name none: the connection's, or the only one that the key is for."""
        patterns = self.principal.namespaces
        return self.namespace or (patterns[0] if len(patterns) == 1 and "*" not in patterns[0] else "")

    def place(self, named: str | None) -> str:
        """Return the namespace of a call: the named one, the connection's, or the only one that the key is for.

        Raise ValidationError when there is none of these.
        """
        found = named or self.default
        if not found:
            covered = ", ".join(self.principal.namespaces)
            raise ValidationError({"namespace": [f"Name one as project:agent; this key covers {covered}."]})
        return found

    def about(self, user: str | None) -> "Caller":
        """The same caller in a call about a user: the named one, or the connection's. Raise what `of_user` raises."""
        named = self.user if user is None else user
        try:
            return replace(self, principal=self.principal.of_user(named))
        except BadUser as error:
            raise ValidationError({"user": [str(error)]}) from error


def admit(authorization: bytes, *, namespace: str, user: str | None = None, now: datetime.datetime) -> Caller:
    """Return the caller behind an Authorization header. Raise AuthenticationFailed, Throttled."""
    principal = bearer_of(authorization, now=now)
    if seconds := rate_limits.wait(principal):
        raise Throttled(wait=seconds)
    return Caller(principal, namespace, user)
