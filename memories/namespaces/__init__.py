"""Branches: namespaces that fork, go their own way, merge back or end."""

from memories.namespaces.deletion import (
    check_namespace,
    check_project,
    delete_namespace,
    delete_project,
    permit_deletion,
    project_size,
    set_archive_policy,
    size,
)
from memories.namespaces.forks import (
    BranchTaken,
    check_fork,
    copied,
    copy_namespace,
    fork,
    is_empty,
    refuse_taken,
)
from memories.namespaces.merges import check_merge, merge, permit_merge, refuse_unfit_merge, undo_merge

__all__ = [
    "BranchTaken",
    "check_fork",
    "check_merge",
    "check_namespace",
    "check_project",
    "copied",
    "copy_namespace",
    "delete_namespace",
    "delete_project",
    "fork",
    "is_empty",
    "merge",
    "permit_deletion",
    "permit_merge",
    "project_size",
    "refuse_unfit_merge",
    "refuse_taken",
    "size",
    "undo_merge",
    "set_archive_policy",
]
