"""Recall checks: questions with what a project expects among their answers, asked before its memory is changed."""

from memories.recall_checks.checks import CheckDraft, checks_of, keep, remove, runs_of
from memories.recall_checks.files import LARGEST, BadCheckFile, read_file, written_file
from memories.recall_checks.guard import RecallGuard, RecallLost, whole_project
from memories.recall_checks.runs import check_options, run

__all__ = [
    "BadCheckFile",
    "CheckDraft",
    "LARGEST",
    "RecallGuard",
    "RecallLost",
    "check_options",
    "checks_of",
    "keep",
    "read_file",
    "remove",
    "run",
    "runs_of",
    "whole_project",
    "written_file",
]
