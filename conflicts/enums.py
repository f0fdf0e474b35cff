"""The closed vocabularies of belief: one spelling for the API, the code and the CHECK constraints."""

from django.db.models import TextChoices


class Normaliser(TextChoices):
    """How the values of a predicate are read."""

    TEXT = "text"
    MONEY = "money"
    DATE = "date"
    BOOLEAN = "boolean"
    NUMBER = "number"


class Policy(TextChoices):
    """What a value of equal authority, of another owner, does to the one that stands."""

    REVIEW = "review"  # it waits for a person
    NEWEST = "newest"  # the newer replaces the older
    KEEP_BOTH = "keep_both"  # both stand


class Ballot(TextChoices):
    """What an owner says of a fragment."""

    REINFORCE = "reinforce"
    DISPUTE = "dispute"
    CORROBORATE = "corroborate"


class Uncounted(TextChoices):
    """Why a vote does not count."""

    OWN_MEMORY = "own_memory"
    CEILING_BELOW_AUTHORITY = "ceiling_below_authority"
    SOURCE_HEARD_BEFORE = "source_heard_before"
    OWNER_VOTED_BEFORE = "owner_voted_before"


class ConflictKind(TextChoices):
    """What a conflict is about."""

    CLAIM = "claim"
    TEXT = "text"
    DISPUTE = "dispute"
    RESTORE = "restore"


class ConflictReason(TextChoices):
    """Why it waits for a person."""

    AUTHORITY = "authority_insufficient"
    OTHER_OWNER = "equal_authority_other_owner"
    FREE_TEXT = "free_text"
    DISPUTED = "disputed"
    OTHER_VERSION = "equal_time_other_content"


class Resolution(TextChoices):
    """How a conflict ended: a person decided, or nothing was left to decide."""

    SUPERSEDE = "supersede"
    REJECT = "reject"
    KEEP_BOTH = "keep_both"
    OBSOLETE = "obsolete"


class Action(TextChoices):
    """What a person may decide."""

    SUPERSEDE = "supersede"
    REJECT = "reject"
    KEEP_BOTH = "keep_both"


class Keep(TextChoices):
    """How both sides of a conflict are kept."""

    PAIR = "pair"
    PERIOD = "period"
    PREDICATE = "predicate"


# Why a decision archived a memory: it was rejected, a person typed another one in its place, the like was rejected.
REJECTED, EDITED, PRECEDENT_REJECTED = "rejected", "edited", "precedent_rejected"
UNDONE = "undone"  # of what a person typed, once that decision is taken back
DECIDED_AGAINST = (REJECTED, EDITED, PRECEDENT_REJECTED)
