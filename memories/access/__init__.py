"""Who may touch which rows: principals, keys, members, logins, users, limits of rates. The one gate to rows."""

from memories.access.principals import (
    ONE_OR_ALL,
    NotFound,
    NotPermitted,
    Principal,
    UserRequired,
    principal_of_key,
    principal_of_member,
    principal_of_row,
    system_principal,
)
from memories.access.scopes import (
    all_readable,
    chosen,
    find,
    readable,
    readable_scopes,
    require_readable,
    writable,
)
from memories.access.transactions import (
    asked_by,
    attributed,
    connect,
    enter,
    undisturbed,
)

__all__ = [
    "ONE_OR_ALL",
    "NotFound",
    "NotPermitted",
    "Principal",
    "UserRequired",
    "all_readable",
    "asked_by",
    "attributed",
    "chosen",
    "connect",
    "enter",
    "find",
    "principal_of_key",
    "principal_of_member",
    "principal_of_row",
    "readable",
    "readable_scopes",
    "require_readable",
    "system_principal",
    "undisturbed",
    "writable",
]
