"""Who may touch which rows: principals, keys, members, logins, users, limits of rates. The one gate to rows."""

from memories.access.principals import (
    ONE_OR_ALL,
    NotFound,
    Principal,
    admit_key,
    principal_of_key,
    principal_of_member,
    principal_of_row,
    system_principal,
)
from memories.access.scopes import (
    all_readable,
    believed_scopes,
    find,
    readable,
    readable_scopes,
    requested_scopes,
    require_reach,
    writable,
)
from memories.access.transactions import (
    GoneMeanwhile,
    attribute_to,
    attributed_transaction,
    connect,
    enter,
    hold_writers,
    is_cut_off,
    retry_on_contention,
    showing_all_users,
)
from memories.errors import NotPermitted

__all__ = [
    "ONE_OR_ALL",
    "GoneMeanwhile",
    "NotFound",
    "NotPermitted",
    "Principal",
    "all_readable",
    "attribute_to",
    "attributed_transaction",
    "believed_scopes",
    "requested_scopes",
    "connect",
    "enter",
    "find",
    "hold_writers",
    "is_cut_off",
    "admit_key",
    "principal_of_key",
    "principal_of_member",
    "principal_of_row",
    "readable",
    "readable_scopes",
    "require_reach",
    "system_principal",
    "retry_on_contention",
    "showing_all_users",
    "writable",
]
