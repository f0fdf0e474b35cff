"""Branches: namespaces that fork, go their own way, merge back or end."""

from memories.namespaces.deletion import (
    check_namespace,
    check_project,
    count_project,
    delete_namespace,
    delete_project,
    permit_deletion,
    project_size,
    size,
    take_back_project,
)
from memories.namespaces.forks import (
    check_fork,
    copied,
    copy_namespace,
    fork,
    is_empty,
    refuse_taken,
)
from memories.namespaces.merges import check_merge, merge, permit_merge, refuse_unfit_merge, undo_merge
from memories.namespaces.properties import change_namespace, languages, make_namespace

__all__ = [
    "change_namespace",
    "check_fork",
    "check_merge",
    "check_namespace",
    "check_project",
    "copied",
    "copy_namespace",
    "count_project",
    "delete_namespace",
    "delete_project",
    "fork",
    "is_empty",
    "languages",
    "make_namespace",
    "merge",
    "permit_deletion",
    "permit_merge",
    "project_size",
    "refuse_unfit_merge",
    "refuse_taken",
    "size",
    "take_back_project",
    "undo_merge",
]
