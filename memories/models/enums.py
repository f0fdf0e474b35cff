"""The closed vocabularies (docs/spec.md §1–§4): one spelling for the API, the code and the CHECK constraints."""

from django.db.models import TextChoices


class FragmentType(TextChoices):
    """What kind of memory a fragment is."""

    EPISODIC = "episodic"
    SEMANTIC = "semantic"
    PROCEDURAL = "procedural"


# In a fragment's `extra`: said by a user in a turn that holds more than the user's plain word.
MATERIAL = "carries_material"
# Also there: the user tells the assistant what to do from then on.
INSTRUCTION = "standing_instruction"


class SourceType(TextChoices):
    """Through which door a fragment came in."""

    TASK = "task"
    ATLAS = "atlas"
    TASTE_VAULT = "taste-vault"
    RETROSPECTIVE = "retrospective"
    MANUAL = "manual"
    CONVERSATION = "conversation"
    DOCUMENT = "document"
    BRIDGE = "bridge"
    DIGEST = "digest"
    FILE = "file"
    WEB = "web"


class SourceClass(TextChoices):
    """Who said it: the class that decides authority and the base of trust."""

    USER_EXPLICIT = "user_explicit"
    SYSTEM = "system"
    TOOL_OUTPUT = "tool_output"
    USER_IMPLICIT = "user_implicit"
    DOCUMENT = "document"
    INFERENCE = "inference"


class LoginOutcome(TextChoices):
    """How a try to log in ended, or what became of somebody's second factor or password."""

    FAILURE = "failure"
    SUCCESS = "success"
    LOCKED = "locked"
    FACTOR_ADDED = "factor_added"
    FACTOR_REMOVED = "factor_removed"
    RECOVERED = "recovered"
    PASSWORD_RESET = "password_reset"


class Status(TextChoices):
    """Where a fragment stands; every acknowledged fragment is in exactly one of these, or a tombstone."""

    ACTIVE = "active"
    SUPERSEDED = "superseded"
    DISPUTED = "disputed"
    QUARANTINED = "quarantined"
    ARCHIVED = "archived"


STANDING = (Status.ACTIVE, Status.DISPUTED)
OPEN = (*STANDING, Status.QUARANTINED)


class ContainmentKind(TextChoices):
    """By what the memories of a containment are told."""

    KEY = "key"
    OWNER = "owner"
    SOURCE = "source"
    CONTENT = "content"


class Tier(TextChoices):
    """How close at hand a fragment is kept."""

    HOT = "hot"
    WARM = "warm"
    COLD = "cold"


class Compression(TextChoices):
    """How much of the text is left."""

    FULL = "full"
    SUMMARY = "summary"
    KEYWORDS = "keywords"
    HASH = "hash"


class Outcome(TextChoices):
    """How what is remembered went."""

    POSITIVE = "positive"
    NEGATIVE = "negative"
    NEUTRAL = "neutral"


class ClaimScope(TextChoices):
    """How far a claim reaches."""

    GLOBAL = "global"
    SESSION = "session"
    TEMPORAL = "temporal"


class LinkKind(TextChoices):
    """What joins two fragments."""

    SIMILAR = "similar"
    SUPERSEDES = "supersedes"
    DIGEST_OF = "digest_of"
    DIGESTED_INTO = "digested_into"
    RELATED = "related"


class EntityLabel(TextChoices):
    """What kind of thing a name stands for."""

    PERSON = "person"
    ORGANIZATION = "organization"
    LOCATION = "location"
    MISC = "misc"


class Verb(TextChoices):
    """What a grant may allow."""

    READ = "read"
    WRITE = "write"
    REVIEW = "review"
    ADMIN = "admin"


class Users(TextChoices):
    """Whether a key speaks for users: in each request, in some, or in none."""

    REQUIRED = "required"
    OPTIONAL = "optional"
    NONE = "none"


class Role(TextChoices):
    """What a member of a project may do in the console."""

    VIEWER = "viewer"
    REVIEWER = "reviewer"
    ADMIN = "admin"


class OwnerKind(TextChoices):
    """Who stands behind keys."""

    PERSON = "person"
    SERVICE = "service"


class ModelState(TextChoices):
    """How far an embedding model is."""

    BUILDING = "building"
    READY = "ready"
    ACTIVE = "active"
    RETIRED = "retired"


class ArchivePolicy(TextChoices):
    """Which faded memories a namespace archives: only told events of little weight, or all."""

    EPISODIC = "episodic"
    ALL = "all"


class OperationState(TextChoices):
    """How far a long job is."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class EvictionReason(TextChoices):
    """Why a tombstone stands where a fragment was."""

    STORAGE_PRESSURE = "storage_pressure"
    LOW_WEIGHT = "low_weight"
    SUPERSEDED = "superseded"
    MANUAL_DELETION = "manual_deletion"


class CopyReason(TextChoices):
    """Why the archive holds a copy of a fragment."""

    COMPACTED = "compacted"
    EVICTED = "evicted"
    PUT_AWAY = "put_away"


class CapacityStatus(TextChoices):
    """How full a project or a tier is."""

    NORMAL = "normal"
    WARNING = "warning"
    EVICTION_NEEDED = "eviction_needed"
    AGGRESSIVE_EVICTION_NEEDED = "aggressive_eviction_needed"


class ExportPolicy(TextChoices):
    """Which memories a backup holds: all, or those that make an agent who it is."""

    FULL = "full"
    IDENTITY = "identity"


class BackupOrigin(TextChoices):
    """Where a backup comes from: asked for, scheduled, before a restore, to be pushed elsewhere, from elsewhere."""

    ASKED = "asked"
    SCHEDULED = "scheduled"
    SAFETY = "safety"
    SYNC = "sync"
    UPLOADED = "uploaded"


class ProposalKind(TextChoices):
    """What a language model proposes: how to go about a task, a claim, a digest, that one memory outdates another."""

    OPTION = "option"
    CLAIM = "claim"
    DIGEST = "digest"
    SUPERSESSION = "supersession"


class Decision(TextChoices):
    """What a person made of a proposal that waited."""

    ACCEPTED = "accepted"
    DISMISSED = "dismissed"


class ProposalOutcome(TextChoices):
    """What became of a proposal."""

    ALLOWED = "allowed"
    BLOCKED = "blocked"
    REDUCTION_ERROR = "reduction_error"
    ADVISORY_ONLY = "advisory_only"
    SKIPPED = "skipped_no_reduction_client"
    NULL = "llm_returned_null"


class TaskStatus(TextChoices):
    """How far a task of an agent is."""

    ACTIVE = "active"
    COMPLETED = "completed"
    FAILED = "failed"


class Expectation(TextChoices):
    """What a recall check expects among the answers: a memory by its id, words of a text, or a claim's value."""

    MEMORY = "memory"
    TEXT = "text"
    VALUE = "value"


class RecallCause(TextChoices):
    """Why recall checks were asked."""

    ASKED = "asked"
    CONSOLIDATION = "consolidation"
    MERGE = "merge"
    MODEL = "model"
    RESTORE = "restore"
    ROLLBACK = "rollback"


class NoticeReason(TextChoices):
    """What became of a memory after an answer carried it."""

    SUPERSEDED = "superseded"
    RULED_OUT = "ruled_out"
    DISPUTED = "disputed"
    CONTAINED = "contained"
    RESTORED = "restored"
