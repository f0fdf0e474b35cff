"""Erasure: every copy of what memories said goes, of one, of all that a filter finds, of a user; fingerprints stay."""

from memories.erasure.backup_copies import check_purging, sees_backups
from memories.erasure.bulk import (
    FEW,
    CountDiffers,
    ErasureRequest,
    check_forgetting,
    check_right,
    erasure_options,
    forget_all,
    preview,
    run,
)
from memories.erasure.fragments import Erased, Forgotten, check_everywhere, erase, forget, lift
from memories.erasure.reinstatement import digests_of, reinstate, release_waiting, return_originals
from memories.erasure.users import ErasedUser, erase_user

__all__ = [
    "FEW",
    "CountDiffers",
    "Erased",
    "ErasedUser",
    "ErasureRequest",
    "Forgotten",
    "check_everywhere",
    "check_forgetting",
    "check_purging",
    "check_right",
    "digests_of",
    "erase",
    "erase_user",
    "forget",
    "forget_all",
    "lift",
    "preview",
    "reinstate",
    "release_waiting",
    "return_originals",
    "run",
    "sees_backups",
    "erasure_options",
]
