"""Keys: under which digests subjects, predicates and values are known, in whatever spelling (docs/spec.md §4)."""

from conflicts.keys.aliases import PRESENT, USER, USER_NAMES, USERS, names_user, subject_key
from conflicts.keys.names import (
    CLAIMED,
    NAMES,
    Naming,
    digests_of,
    names_from,
    naming,
    rule_of,
    spelling_digests,
)
from conflicts.keys.normalization import canonical_key, digest_of, digests_of_pairs, says_something, visible
from conflicts.keys.predicates import SEEDS, Rule, canonical_predicate, rule_for, spellings_of
from conflicts.keys.values import CURRENCIES, canonical_value

__all__ = [
    "canonical_key",
    "canonical_predicate",
    "canonical_value",
    "CLAIMED",
    "CURRENCIES",
    "digest_of",
    "digests_of",
    "digests_of_pairs",
    "names_from",
    "NAMES",
    "names_user",
    "Naming",
    "naming",
    "PRESENT",
    "Rule",
    "rule_for",
    "rule_of",
    "says_something",
    "SEEDS",
    "spelling_digests",
    "spellings_of",
    "subject_key",
    "USER",
    "USER_NAMES",
    "USERS",
    "visible",
]
