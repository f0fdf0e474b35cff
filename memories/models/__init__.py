"""Rows: what is stored, with named querysets, one-row behaviour and the constraints the database keeps."""

from memories.models.afterlife import Archive, Erasure, Tombstone
from memories.models.claim import Claim
from memories.models.fragment import (
    CONTENT_LIMIT,
    Access,
    Fragment,
    Link,
    Revision,
    days_between,
    decayed,
)
from memories.models.key import ApiKey, Grant, KeyText
from memories.models.namespace import Namespace
from memories.models.operation import Heartbeat, Operation, Receipt, RepeatedRequest, Seal
from memories.models.project import Membership, Owner, Project
from memories.models.search import (
    DocumentFrequency,
    Embedding,
    EmbeddingModel,
    Keywords,
    KeywordStatistics,
    PendingEmbedding,
)
from memories.models.tenant import Catalogue, TenantModel, TenantQuerySet

__all__ = [
    "CONTENT_LIMIT",
    "Access",
    "ApiKey",
    "Archive",
    "Catalogue",
    "Claim",
    "DocumentFrequency",
    "Embedding",
    "EmbeddingModel",
    "Erasure",
    "Fragment",
    "Grant",
    "Heartbeat",
    "KeyText",
    "KeywordStatistics",
    "Keywords",
    "Link",
    "Membership",
    "Namespace",
    "Operation",
    "Owner",
    "PendingEmbedding",
    "Project",
    "Receipt",
    "RepeatedRequest",
    "Revision",
    "Seal",
    "TenantModel",
    "TenantQuerySet",
    "Tombstone",
    "days_between",
    "decayed",
]
