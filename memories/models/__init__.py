"""Rows: what is stored, with named querysets, one-row behaviour and the constraints the database keeps."""

from memories.models.backups import Backup
from memories.models.branch import Origin
from memories.models.claim import Claim
from memories.models.connections import (
    Cluster,
    ClusterLabel,
    ClusterMember,
    Connected,
    Episode,
    EpisodeMember,
    Link,
    PendingConnection,
)
from memories.models.console import SEARCH_BOUNDS, SavedView, SearchDay
from memories.models.containment import Containment
from memories.models.entities import NAME_LIMIT, Entity, Mention, Relation
from memories.models.exchange import Exchange
from memories.models.fragment import (
    CONTENT_LIMIT,
    KEY_LIMIT,
    Access,
    Fragment,
    Revision,
)
from memories.models.governance import LlmCall, PendingReading, Proposal, Task
from memories.models.key import ApiKey, Authorization, Grant, KeyText
from memories.models.limits import LoginEvent, RateBudget, Seat
from memories.models.namespace import Namespace
from memories.models.operation import AuditHorizon, Heartbeat, Operation, Receipt, RepeatedRequest, Seal
from memories.models.project import AccountEvent, Membership, Owner, Project
from memories.models.recall import RecallCheck, RecallRun
from memories.models.recall_notices import RecallNotice, Webhook
from memories.models.scoring import days_between
from memories.models.search import (
    DocumentFrequency,
    Embedding,
    EmbeddingModel,
    Keywords,
    KeywordStatistics,
    PendingEmbedding,
    vector_text,
)
from memories.models.table_spec import TableSpec
from memories.models.tenant import TenantModel, TenantQuerySet
from memories.models.tombstones import Archive, Erasure, Tombstone
from memories.models.upkeep import HeardPair, PlanStep, RunChange

__all__ = [
    "NAME_LIMIT",
    "Cluster",
    "ClusterLabel",
    "ClusterMember",
    "Connected",
    "Entity",
    "Episode",
    "EpisodeMember",
    "Mention",
    "PendingConnection",
    "Relation",
    "CONTENT_LIMIT",
    "Containment",
    "KEY_LIMIT",
    "SEARCH_BOUNDS",
    "SavedView",
    "SearchDay",
    "Access",
    "AccountEvent",
    "ApiKey",
    "Authorization",
    "Archive",
    "Backup",
    "Claim",
    "DocumentFrequency",
    "Embedding",
    "EmbeddingModel",
    "Erasure",
    "Exchange",
    "Fragment",
    "Grant",
    "HeardPair",
    "Heartbeat",
    "KeyText",
    "KeywordStatistics",
    "Keywords",
    "Link",
    "LlmCall",
    "LoginEvent",
    "Membership",
    "Namespace",
    "Operation",
    "Origin",
    "Owner",
    "PendingEmbedding",
    "PendingReading",
    "PlanStep",
    "Project",
    "Proposal",
    "RateBudget",
    "RecallCheck",
    "RecallNotice",
    "RecallRun",
    "Receipt",
    "RepeatedRequest",
    "Revision",
    "RunChange",
    "AuditHorizon",
    "Seal",
    "Seat",
    "Task",
    "TableSpec",
    "TenantModel",
    "TenantQuerySet",
    "Tombstone",
    "Webhook",
    "days_between",
    "vector_text",
]
