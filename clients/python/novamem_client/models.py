"""Types of what the API takes and answers.

Made by clients/generate.py of the server's OpenAPI document. Not to be edited.
"""

from __future__ import annotations

from typing import Any, Dict, List, Literal, NotRequired, TypeAlias, TypedDict

ActionEnum: TypeAlias = Literal["supersede", "reject", "keep_both"]


AnnouncementAnswerKindEnum: TypeAlias = Literal[
    "supersede",
    "conflict_pending",
    "conflict_resolved",
    "dispute",
    "corroborate",
    "consolidate",
    "erase",
    "recall_notice",
]


ArchivePolicyEnum: TypeAlias = Literal["episodic", "all"]


BlankEnum: TypeAlias = Literal[""]


CapacityStatusEnum: TypeAlias = Literal["normal", "warning", "eviction_needed", "aggressive_eviction_needed"]


CardinalityEnum: TypeAlias = Literal["one", "many"]


CaseAnswerStatusEnum: TypeAlias = Literal["pending", "settled"]


CauseEnum: TypeAlias = Literal["asked", "consolidation", "merge", "model", "restore", "rollback"]


CompressionEnum: TypeAlias = Literal["full", "summary", "keywords", "hash"]


ConflictAnswerKindEnum: TypeAlias = Literal["claim", "text", "dispute", "restore"]


ConflictAnswerReasonEnum: TypeAlias = Literal[
    "authority_insufficient", "equal_authority_other_owner", "free_text", "disputed", "equal_time_other_content"
]


ContainmentAnswerKindEnum: TypeAlias = Literal["key", "owner", "source", "content"]


EmbedEnum: TypeAlias = Literal["now", "later"]


EmbeddingAnswerStateEnum: TypeAlias = Literal["ready", "pending"]


EntityLabelEnum: TypeAlias = Literal["person", "organization", "location", "misc"]


EntryAnswerKindEnum: TypeAlias = Literal[
    "decision",
    "consolidation",
    "restore",
    "merge",
    "fork",
    "backup",
    "eviction",
    "forgetting",
    "deletion",
    "containment",
    "rollback",
]


FormatEnum: TypeAlias = Literal["markdown", "xml"]


FoundByEnum: TypeAlias = Literal["words", "meaning", "neighbour", "claim", "instruction", "source", "part"]


KeepEnum: TypeAlias = Literal["pair", "period", "predicate"]


LinkAnswerKindEnum: TypeAlias = Literal["similar", "supersedes", "digest_of", "digested_into", "related"]


MethodEnum: TypeAlias = Literal["extractive", "llm"]


ModelStateEnum: TypeAlias = Literal["building", "ready", "active", "retired"]


NodeAnswerLabelEnum: TypeAlias = Literal["person", "organization", "location", "misc"]


NormaliserEnum: TypeAlias = Literal["text", "money", "date", "boolean", "number"]


NoteAnswerKindEnum: TypeAlias = Literal["vote", "conflict", "ruling"]


NoticeAnswerReasonEnum: TypeAlias = Literal["superseded", "ruled_out", "disputed", "contained", "restored"]


NullEnum: TypeAlias = Literal[None]


OperationInputKindEnum: TypeAlias = Literal[
    "archive",
    "backup",
    "compact",
    "consolidate",
    "drill",
    "evict",
    "evolve",
    "pack",
    "rebuild",
    "restore",
    "tier",
    "verify",
]


OperationStateEnum: TypeAlias = Literal["queued", "running", "succeeded", "failed", "cancelled"]


OriginEnum: TypeAlias = Literal["asked", "scheduled", "safety", "sync", "uploaded"]


OutcomeEnum: TypeAlias = Literal["positive", "negative", "neutral"]


PackingEnum: TypeAlias = Literal["density", "priority"]


PartEnum: TypeAlias = Literal["user", "ruling"]


PolicyEnum: TypeAlias = Literal["full", "identity"]


PredicatePolicyEnum: TypeAlias = Literal["review", "newest", "keep_both"]


ProfileEnum: TypeAlias = Literal["balanced", "hindsight", "relevance", "weighted"]


ProposalOutcomeEnum: TypeAlias = Literal[
    "allowed", "blocked", "reduction_error", "advisory_only", "skipped_no_reduction_client", "llm_returned_null"
]


ResolutionEnum: TypeAlias = Literal["supersede", "reject", "keep_both", "obsolete"]


RoleEnum: TypeAlias = Literal["user", "assistant", "tool", "system"]


RulingMarkAnswerDecisionEnum: TypeAlias = Literal["chosen", "ruled_out"]


ScopeEnum: TypeAlias = Literal["global", "session", "temporal"]


ShownProposalDecisionEnum: TypeAlias = Literal["accepted", "dismissed"]


ShownProposalKindEnum: TypeAlias = Literal["option", "claim", "digest", "supersession"]


SourceEnum: TypeAlias = Literal["user_explicit", "system", "tool_output", "user_implicit", "document", "inference"]


SourceTypeEnum: TypeAlias = Literal[
    "task",
    "atlas",
    "taste-vault",
    "retrospective",
    "manual",
    "conversation",
    "document",
    "bridge",
    "digest",
    "file",
    "web",
]


StageEnum: TypeAlias = Literal[
    "unknown",
    "namespace",
    "status",
    "reach",
    "filters",
    "candidates",
    "min_similarity",
    "relevance_score",
    "floor",
    "spoken",
    "rivals",
    "share",
    "top_k",
    "gone",
    "answered",
]


StatusEnum: TypeAlias = Literal["active", "superseded", "disputed", "quarantined", "archived"]


TagsEnum: TypeAlias = Literal[
    "api",
    "architecture",
    "atlas",
    "bug",
    "build",
    "configuration",
    "data",
    "dependency",
    "deployment",
    "documentation",
    "interface",
    "performance",
    "refactoring",
    "security",
    "testing",
    "tooling",
]


TaskStatusEnum: TypeAlias = Literal["active", "completed", "failed"]


TierEnum: TypeAlias = Literal["hot", "warm", "cold"]


TombstoneAnswerReasonEnum: TypeAlias = Literal["storage_pressure", "low_weight", "superseded", "manual_deletion"]


TypeEnum: TypeAlias = Literal["episodic", "semantic", "procedural"]


VoteAnswerReasonEnum: TypeAlias = Literal[
    "own_memory", "ceiling_below_authority", "source_heard_before", "owner_voted_before"
]


class AnnouncementAnswer(TypedDict):
    """One thing that happened."""

    id: str
    kind: AnnouncementAnswerKindEnum
    at: str
    namespace: str
    fragment_id: str | None
    conflict_id: str | None
    operation_id: str | None
    other_id: str | None
    receipt_id: str | None
    who: WhoAnswer
    why: str | None


class BackupAnswer(TypedDict):
    """A backup."""

    id: str
    policy: PolicyEnum
    policy_version: int
    namespaces: List[str]
    include_embeddings: bool
    base: str | None
    origin: OriginEnum
    encrypted: bool
    size: int
    sha256: str
    signer: str
    records: int
    counts: List[BucketAnswer]
    protected: bool
    verdict: str
    verified_at: str | None
    drill_verdict: str
    drilled_at: str | None
    exported_at: str | None
    created_at: str


class BackupInputRequest(TypedDict):
    """A backup to make."""

    project: NotRequired[str]
    namespaces: NotRequired[List[str]]
    policy: NotRequired[PolicyEnum]
    include_embeddings: NotRequired[bool]
    base: NotRequired[str | None]
    recipients: NotRequired[List[str]]


class BackupPage(TypedDict):
    next: str | None
    previous: str | None
    results: List[BackupAnswer]


class BatchAnswer(TypedDict):
    """What became of each item, in order."""

    results: List[StoredOrBlocked]


BeliefAnswer = TypedDict(
    "BeliefAnswer",
    {
        "from": "str",
        "until": "str | None",
        "status": "StatusEnum",
        "value": "str",
        "valid_from": "str | None",
        "valid_until": "str | None",
    },
)


class BelievedAnswer(TypedDict):
    """A claim, as it was believed."""

    subject: str
    predicate: str
    value: str
    exclusive: bool
    scope: ScopeEnum
    session_id: str | None
    valid_from: str | None
    valid_until: str | None
    authority: int
    fragment_id: str
    namespace: str
    user: str | None
    source: SourceEnum
    owner: str | None
    owner_id: str | None
    status: StatusEnum
    recorded_at: str
    ruling: RulingMarkAnswer | None


class BelievedPage(TypedDict):
    next: str | None
    previous: str | None
    results: List[BelievedAnswer]


class BlockedAnswer(TypedDict):
    """An item of a batch that was not stored, for its text was forgotten."""

    status: str
    code: str


class BranchAnswer(TypedDict):
    """The branch's namespace, or a user's scope in it, and how many memories it began with."""

    namespace: str
    forked_from: str
    copied: int


class BranchInputRequest(TypedDict):
    """A branch that begins."""

    branch_id: str
    source_namespace: str
    user: NotRequired[str]


class BranchMergeInputRequest(TypedDict):
    """A branch that ends in another namespace."""

    branch_id: str
    target_namespace: str
    user: NotRequired[str]


class BucketAnswer(TypedDict):
    """How many memories a backup holds for what reason."""

    bucket: str
    reason: str
    count: int


class BuildInputRequest(TypedDict):
    """A build that ATLAS logged."""

    user: NotRequired[str]
    all_users: NotRequired[bool]
    namespace: str
    provenance: NotRequired[ProvenanceRequest]
    project: str
    phase: Any
    log: LogInputRequest


class CallAnswer(TypedDict):
    """The provenance of a call of the language model: hashes are SHA-256 in hexadecimal."""

    id: str
    model: str
    host: str
    request_hash: str
    output_hash: str
    outcome: str
    tries: int
    latency_ms: int
    created_at: str


class CandidateAnswer(TypedDict):
    """Who would leave."""

    id: str
    namespace: str
    tier: TierEnum
    authority: int
    is_protected: bool
    effective_weight: float
    priority: float


class CapacityAnswer(TypedDict):
    """How full the whole project is, and each tier of it."""

    ratio: float
    status: CapacityStatusEnum
    fragments: int
    limit: int
    tiers: Dict[str, PlaceAnswer]


class CarriedAnswer(TypedDict):
    """Who was told so, as far as receipts are kept: "17 answers to 3 agents"."""

    answers: int
    agents: int
    last_at: str | None


class CaseAnswer(TypedDict):
    """A question that somebody has to answer: what stands, what is claimed against it, and what was decided."""

    id: str
    namespace: str
    user: str | None
    subject: str
    predicate: str
    scope: str
    session_id: str
    status: CaseAnswerStatusEnum
    revision: int
    waiting: int
    since: str
    last_at: str
    values: List[CaseValueAnswer]
    ruling: RulingAnswer | None


class CaseDecisionInputRequest(TypedDict):
    """A decision, on the revision of the case that was seen: values that hold, or what is true instead."""

    user: NotRequired[str]
    all_users: NotRequired[bool]
    revision: int
    choose: NotRequired[List[str]]
    keep: NotRequired[KeepEnum]
    correction: NotRequired[CorrectionInputRequest]
    note: NotRequired[str]
    ruling: NotRequired[bool]


class CaseGroupAnswer(TypedDict):
    """What waits of one source, owner, namespace or predicate."""

    id: str
    name: str
    cases: int
    waiting: int
    since: str
    last_at: str


class CaseGroupsAnswer(TypedDict):
    """Groups, the largest first."""

    results: List[CaseGroupAnswer]


class CasePage(TypedDict):
    next: str | None
    previous: str | None
    results: List[CaseAnswer]


class CaseValueAnswer(TypedDict):
    """A value that is claimed: whether it stands, who says so how often, and who was told."""

    id: str
    value: str
    negated: bool
    stands: bool
    waiting: int
    chosen: bool
    ruled_out: bool
    authority: int
    voices: int
    repetitions: int
    first_at: str
    last_at: str
    sources: List[str]
    owners: List[str]
    memories: List[str]
    conflicts: List[str]
    excerpt: ExcerptAnswer
    carried: CarriedAnswer


class ChangedAnswer(TypedDict):
    """A fragment just changed, and what that did to others."""

    id: str
    namespace: str
    user: str | None
    project: str
    agent_id: str
    type: TypeEnum
    content: str
    key: str | None
    category: str | None
    source_type: SourceTypeEnum
    source_id: str | None
    source_ids: List[str]
    workflow_id: str | None
    conversation_id: str | None
    sequence: int | None
    tags: List[str]
    entities: List[EntityAnswer]
    topics: List[str]
    outcome: OutcomeEnum | None
    importance: float
    emotional_valence: float
    is_pinned: bool
    is_anchor: bool
    status: StatusEnum
    archived_reason: str | None
    tier: TierEnum
    compression: CompressionEnum
    base_relevance: float
    relevance_score: float
    effective_weight: float
    access_count: int
    created_at: str
    updated_at: str
    event_at: str | None
    last_accessed_at: str | None
    revision: int
    extra: Dict[str, Any]
    claim: ClaimAnswer | None
    claims: List[ClaimAnswer]
    provenance: ProvenanceAnswer
    trust: float
    confidence: float
    reinforcements: int
    disputes: int
    superseded_by: str | None
    supersedes: List[str]
    links: List[LinkAnswer]
    contested: List[ContestAnswer]
    embedding: EmbeddingAnswer
    superseded: List[str]
    pending_conflicts: List[PendingConflictAnswer]


class ChangedNamespaceAnswer(TypedDict):
    """A namespace, and the operation that builds its keywords anew where its language is another one."""

    name: str
    agent: str
    language: str
    archive_policy: ArchivePolicyEnum
    created_at: str
    operation: str | None


class ClaimAnswer(TypedDict):
    """What the fragment says, structured."""

    subject: str
    predicate: str
    value: str
    exclusive: bool
    scope: ScopeEnum
    session_id: str | None
    valid_from: str | None
    valid_until: str | None
    authority: int
    id: str
    status: StatusEnum
    position: int
    span: List[int] | None
    superseded_by: str | None
    last_seen_at: str


class ClaimInputRequest(TypedDict):
    """What a fragment says, structured."""

    subject: str
    predicate: str
    value: str
    exclusive: NotRequired[bool | None]
    scope: NotRequired[ScopeEnum]
    session_id: NotRequired[str | None]
    valid_from: NotRequired[str | None]
    valid_until: NotRequired[str | None]


class ClearInputRequest(TypedDict):
    """Which challengers to reject: those that meet all conditions, of which there has to be one."""

    namespace: NotRequired[str]
    subject: NotRequired[str]
    predicate: NotRequired[str]
    source: NotRequired[str]
    owner: NotRequired[str]
    pattern: NotRequired[str]
    user: NotRequired[str]
    all_users: NotRequired[bool]
    note: NotRequired[str]
    dry_run: NotRequired[bool]
    after: NotRequired[str]


class ClearRefusal(TypedDict):
    """A challenger that could not be rejected, and why."""

    conflict_id: str
    code: str
    detail: str


class ClearingAnswer(TypedDict):
    """What became of it; with `dry_run` only what would be looked at."""

    dry_run: bool
    matched: int
    cleared: int
    refused: List[ClearRefusal]
    left: int
    next: str | None


class ClusterAnswer(TypedDict):
    """Memories that hang together by similar links, the oldest hundred of them first."""

    id: str
    namespace: str
    label: str | None
    topics: List[str]
    size: int
    members: List[str]
    created_at: str


class ClusterPage(TypedDict):
    next: str | None
    previous: str | None
    results: List[ClusterAnswer]


class CompactAnswer(TypedDict):
    """What the compaction did, and the fragment after it."""

    compacted_count: int
    skipped_high_weight: int
    already_compressed: int
    compacted_ids: List[str]
    fragment: FragmentAnswer


class CompactInputRequest(TypedDict):
    """How much of the text is to be left; `full` gives it back."""

    user: NotRequired[str]
    all_users: NotRequired[bool]
    level: CompressionEnum


class ComparedKeyAnswer(TypedDict):
    """A key of which two namespaces believe otherwise."""

    user: str | None
    subject: str
    predicate: str
    here: List[BelievedAnswer]
    there: List[BelievedAnswer]


class ComparisonAnswer(TypedDict):
    """Of which keys two namespaces believe otherwise."""

    namespace: str
    other: str
    keys: List[ComparedKeyAnswer]


class ConflictAnswer(TypedDict):
    """A newcomer in quarantine and the standing claim that it opposes; for a dispute only the latter."""

    id: str
    namespace: str
    user: str | None
    kind: ConflictAnswerKindEnum
    reason: ConflictAnswerReasonEnum
    status: str
    revision: int
    new_id: str | None
    existing_id: str | None
    newcomer: SideAnswer | None
    existing: SideAnswer | None
    new_claim: ClaimAnswer | None
    existing_claim: ClaimAnswer | None
    statement: StatementAnswer | None
    new_authority: int | None
    existing_authority: int | None
    new_trust: float | None
    existing_trust: float | None
    created_at: str
    resolved_at: str | None
    resolution: ResolutionEnum | None
    keep: str | None
    resolved_by: str | None
    note: str
    ruling: RulingAnswer | None


class ConflictPage(TypedDict):
    next: str | None
    previous: str | None
    results: List[ConflictAnswer]


class ConsideredAnswer(TypedDict):
    """A candidate's way, and the words that found it."""

    id: str
    stage: StageEnum
    reason: str
    found_by: List[FoundByEnum]
    words_rank: int | None
    meaning_rank: int | None
    rank: int | None
    contradicts: str | None
    on_record: str | None
    bm25: float | None
    cosine: float | None
    rerank: float | None
    relevance: float | None
    terms: List[TermAnswer]


class ConsolidationAnswer(TypedDict):
    """A run, or a dry one."""

    id: str
    kind: str
    namespace: str | None
    options: Dict[str, Any]
    dry_run: bool
    state: OperationStateEnum
    stage: str
    done: int
    total: int | None
    progress: float | None
    report: Dict[str, Any] | None
    error: Dict[str, Any] | None
    cancel_requested: bool
    created_at: str
    started_at: str | None
    heartbeat_at: str | None
    finished_at: str | None


class ConsolidationInputRequest(TypedDict):
    """A consolidation to start; what is left out takes the default."""

    user: NotRequired[str]
    all_users: NotRequired[bool]
    namespace: str
    dry_run: NotRequired[bool]
    dedup_threshold: NotRequired[float]
    corroborate_threshold: NotRequired[float]
    compress_age_days: NotRequired[int]
    prune_superseded: NotRequired[bool]
    prune_age_days: NotRequired[int]
    method: NotRequired[MethodEnum]
    max_memories: NotRequired[int | None]
    plan_id: NotRequired[str | None]
    accept_recall_loss: NotRequired[bool]
    confirm: NotRequired[bool]


class ConsolidationPage(TypedDict):
    next: str | None
    previous: str | None
    results: List[ConsolidationAnswer]


class ContainmentAnswer(TypedDict):
    """A containment; without an id one that was only looked at."""

    id: str | None
    dry_run: bool
    kind: ContainmentAnswerKindEnum
    target_id: str | None
    since: str | None
    count: int
    extent: ExtentAnswer
    note: str
    applied_by: str | None
    applied_at: str | None
    undone_by: str | None
    undone_at: str | None


class ContainmentInputRequest(TypedDict):
    """What is to be set aside: all that a key or an owner wrote, or that comes from a source, or that is a text."""

    key_id: NotRequired[str]
    owner: NotRequired[str]
    source_id: NotRequired[str]
    content: NotRequired[str]
    since: NotRequired[str]
    note: NotRequired[str]
    expected_count: NotRequired[int]
    dry_run: NotRequired[bool]


class ContainmentPage(TypedDict):
    next: str | None
    previous: str | None
    results: List[ContainmentAnswer]


class ContestAnswer(TypedDict):
    """A memory that this one contradicts: one is what a person ruled, the other what the user said since."""

    id: str
    part: PartEnum


class ContextAnswer(TypedDict):
    """The block and how it came about."""

    prompt_prefix: str
    memories_used: int
    tokens_used: int
    truncated: bool
    included: List[str]
    excluded: List[ExcludedAnswer]
    receipt_id: str | None
    degraded: List[str]
    nothing_relevant: bool


class ContextInputRequest(TypedDict):
    """A context block for a prompt. Without a `query`, `events`, `goals` and `emotion` make one."""

    user: NotRequired[str]
    all_users: NotRequired[bool]
    query: NotRequired[str]
    namespace: NotRequired[str]
    namespaces: NotRequired[List[str]]
    project_wide: NotRequired[bool]
    filters: NotRequired[FilterInputRequest]
    min_similarity: NotRequired[float]
    floor: NotRequired[Literal["auto"] | float]
    rerank: NotRequired[bool | Dict[str, Any]]
    profile: NotRequired[ProfileEnum]
    session_id: NotRequired[str]
    as_of: NotRequired[str]
    model: NotRequired[str]
    events: NotRequired[List[str]]
    goals: NotRequired[List[str]]
    emotion: NotRequired[str]
    max_tokens: NotRequired[int | None]
    max_memories: NotRequired[int]
    packing: NotRequired[PackingEnum]
    ratios: NotRequired[Dict[str, float]]
    format: NotRequired[FormatEnum]
    include_tombstones: NotRequired[bool]
    include_tasks: NotRequired[int]


class ContradictedAnswer(TypedDict):
    """The stronger claim of which a text states another value, or may, and how far that may be believed."""

    fragment_id: str
    subject: str
    predicate: str
    value: str
    authority: int


class CorrectionInputRequest(TypedDict):
    """What is true instead of what the newcomer says."""

    content: str
    value: NotRequired[str]


class CorroborateInputRequest(TypedDict):
    """Which source says so too."""

    user: NotRequired[str]
    all_users: NotRequired[bool]
    source_id: NotRequired[str]


class CountAnswer(TypedDict):
    """How many there are."""

    count: int


class DifferenceAnswer(TypedDict):
    """What two points differ in."""

    since: str
    until: str
    keys: List[KeyDifferenceAnswer]
    memories: List[StatusChangeAnswer]


class DigestInputRequest(TypedDict):
    """Which memories become one."""

    user: NotRequired[str]
    all_users: NotRequired[bool]
    ids: List[str]
    method: NotRequired[MethodEnum]


class DisputeInputRequest(TypedDict):
    """Why it is wrong."""

    user: NotRequired[str]
    all_users: NotRequired[bool]
    reason: NotRequired[str]


class EdgeAnswer(TypedDict):
    """A claim that its namespace believes: source – predicate → target."""

    source: str
    predicate: str
    target: str
    fragment_id: str
    namespace: str
    valid_from: str | None
    valid_until: str | None


class EmbeddingAnswer(TypedDict):
    """Which model embeds the fragment, and whether it has."""

    model: str
    dim: int
    state: EmbeddingAnswerStateEnum
    vector: NotRequired[List[float] | None]


class EnrichInputRequest(TypedDict):
    """A question of ATLAS."""

    user: NotRequired[str]
    all_users: NotRequired[bool]
    namespace: str
    query: str
    top_k: NotRequired[int]
    floor: NotRequired[Literal["auto"] | float]
    project_wide: NotRequired[bool]


class EntitiesAnswer(TypedDict):
    """Entities, those with the most mentions first."""

    results: List[NodeAnswer]


class EntityAnswer(TypedDict):
    """A named thing in the text."""

    text: str
    label: str
    confidence: float


class EntityRequest(TypedDict):
    """A named thing in a text."""

    text: str
    label: EntityLabelEnum
    confidence: NotRequired[float]


class EntryAnswer(TypedDict):
    """Something that was decided or done."""

    kind: EntryAnswerKindEnum
    at: str
    id: str
    namespace: str | None
    user: str | None
    owner_id: str | None
    action: str
    undoes: str | None


class EntryPage(TypedDict):
    next: str | None
    previous: str | None
    results: List[EntryAnswer]


class EpisodeAnswer(TypedDict):
    """What belongs together in time."""

    id: str
    namespace: str
    conversation_id: str | None
    title: str
    size: int
    began_at: str
    ended_at: str


class EpisodeInputRequest(TypedDict):
    """An episode to make."""

    user: NotRequired[str]
    all_users: NotRequired[bool]
    namespace: str
    title: NotRequired[str]
    ids: List[str]


class EpisodePage(TypedDict):
    next: str | None
    previous: str | None
    results: List[EpisodeAnswer]


class EventAnswer(TypedDict):
    """A change: when, by whom, what the fragment was after it."""

    at: str
    kind: str
    who: Dict[str, Any] | None
    revision: int
    status: str
    importance: float
    base_relevance: float
    is_pinned: bool


class ExcerptAnswer(TypedDict):
    """Some words of the strongest memory that says a value."""

    fragment_id: str
    text: str


class ExcludedAnswer(TypedDict):
    """A memory that was left out, and why: `budget`, `max_memories`, `rival` or `contradicts` (of a stronger claim)."""

    id: str
    reason: str
    value: float


class ExpectedAnswer(TypedDict):
    """Where the way of the expected fragment ended, and why."""

    id: str
    stage: StageEnum
    reason: str
    found_by: List[FoundByEnum]
    words_rank: int | None
    meaning_rank: int | None
    rank: int | None
    contradicts: str | None
    on_record: str | None
    bm25: float | None
    cosine: float | None
    rerank: float | None
    relevance: float | None
    status: NotRequired[str]
    filters: NotRequired[List[str]]
    embedding: NotRequired[str]


class ExplanationAnswer(TypedDict):
    """What the question was read as, how each namespace was searched, and every candidate's way."""

    query: str
    query_keys: List[str]
    search_types: List[str]
    phrases: List[str]
    parts: List[str]
    speakers: List[str]
    period: List[str] | None
    ways: Dict[str, str]
    floor: float | None
    candidates: List[ConsideredAnswer]


class ExtentAnswer(TypedDict):
    """What a containment reaches."""

    written: ReachedAnswer
    derived: ReachedAnswer
    upheld: ReachedAnswer
    repeated: ReachedAnswer
    restored: ReachedAnswer
    released: ReachedAnswer
    votes: int
    decisions: List[str]
    keys: List[str]
    answers: CarriedAnswer


class FetchAnswer(TypedDict):
    """Where the tasks of an answer come from: `source` is database, or none when nobody knows of any."""

    source: str
    fetched_at: str
    latency_ms: float
    cache_hit: bool


class FilterInputRequest(TypedDict):
    """Conditions: within one "one of these", all of them together."""

    type: NotRequired[List[TypeEnum]]
    source_type: NotRequired[List[SourceTypeEnum]]
    tier: NotRequired[List[TierEnum]]
    outcome: NotRequired[List[OutcomeEnum]]
    status_filter: NotRequired[List[StatusEnum]]
    agent: NotRequired[List[str]]
    tags: NotRequired[List[str]]
    conversation_id: NotRequired[str]
    workflow_id: NotRequired[str]
    since: NotRequired[str]
    until: NotRequired[str]
    event_since: NotRequired[str]
    event_until: NotRequired[str]
    min_relevance: NotRequired[float]
    min_weight: NotRequired[float]
    include_all: NotRequired[bool]


class ForgetAnswer(TypedDict):
    """What was forgotten, or would be."""

    count: int
    ids: List[str]
    digests: int
    restored_ids: List[str]
    backups: List[Dict[str, Any]]
    dry_run: bool
    operation: OperationAnswer | None


class ForgetInputRequest(TypedDict):
    """What is to be forgotten: the filters of a search, here or under `filters`, and ids; how many that are."""

    type: NotRequired[List[TypeEnum]]
    source_type: NotRequired[List[SourceTypeEnum]]
    tier: NotRequired[List[TierEnum]]
    outcome: NotRequired[List[OutcomeEnum]]
    status_filter: NotRequired[List[StatusEnum]]
    agent: NotRequired[List[str]]
    tags: NotRequired[List[str]]
    conversation_id: NotRequired[str]
    workflow_id: NotRequired[str]
    since: NotRequired[str]
    until: NotRequired[str]
    event_since: NotRequired[str]
    event_until: NotRequired[str]
    min_relevance: NotRequired[float]
    min_weight: NotRequired[float]
    include_all: NotRequired[bool]
    user: NotRequired[str]
    all_users: NotRequired[bool]
    namespace: str
    ids: NotRequired[List[str]]
    filters: NotRequired[FilterInputRequest]
    content: NotRequired[str]
    expected_count: NotRequired[int]
    dry_run: NotRequired[bool]
    purge_backups: NotRequired[bool]
    everywhere: NotRequired[bool]


class ForkInputRequest(TypedDict):
    """The branch that begins; without a user it takes along all of them."""

    user: NotRequired[str]
    all_users: NotRequired[bool]
    target: str


class FormerTextAnswer(TypedDict):
    """A former text of a memory."""

    revision: int
    content: str
    recorded_at: str
    fragment_id: str


class FragmentAnswer(TypedDict):
    """A fragment as the API shows it (docs/spec.md §3)."""

    id: str
    namespace: str
    user: str | None
    project: str
    agent_id: str
    type: TypeEnum
    content: str
    key: str | None
    category: str | None
    source_type: SourceTypeEnum
    source_id: str | None
    source_ids: List[str]
    workflow_id: str | None
    conversation_id: str | None
    sequence: int | None
    tags: List[str]
    entities: List[EntityAnswer]
    topics: List[str]
    outcome: OutcomeEnum | None
    importance: float
    emotional_valence: float
    is_pinned: bool
    is_anchor: bool
    status: StatusEnum
    archived_reason: str | None
    tier: TierEnum
    compression: CompressionEnum
    base_relevance: float
    relevance_score: float
    effective_weight: float
    access_count: int
    created_at: str
    updated_at: str
    event_at: str | None
    last_accessed_at: str | None
    revision: int
    extra: Dict[str, Any]
    claim: ClaimAnswer | None
    claims: List[ClaimAnswer]
    provenance: ProvenanceAnswer
    trust: float
    confidence: float
    reinforcements: int
    disputes: int
    superseded_by: str | None
    supersedes: List[str]
    links: List[LinkAnswer]
    contested: List[ContestAnswer]
    embedding: EmbeddingAnswer


class FragmentBatchRequest(TypedDict):
    """Up to a thousand fragments, stored together or not at all."""

    user: NotRequired[str]
    all_users: NotRequired[bool]
    fragments: List[FragmentInputRequest]
    embed: NotRequired[EmbedEnum]


class FragmentInputRequest(TypedDict):
    """One fragment to store."""

    type: NotRequired[TypeEnum]
    category: NotRequired[str]
    tags: NotRequired[List[str]]
    topics: NotRequired[List[str]]
    entities: NotRequired[List[EntityRequest]]
    outcome: NotRequired[OutcomeEnum | NullEnum | None]
    importance: NotRequired[float]
    emotional_valence: NotRequired[float]
    is_pinned: NotRequired[bool]
    is_anchor: NotRequired[bool]
    workflow_id: NotRequired[str]
    event_at: NotRequired[str | None]
    extra: NotRequired[Any]
    namespace: NotRequired[str]
    user: NotRequired[str]
    project_id: NotRequired[str]
    agent_id: NotRequired[str]
    content: str
    key: NotRequired[str]
    source_type: NotRequired[SourceTypeEnum]
    source_id: NotRequired[str]
    conversation_id: NotRequired[str]
    sequence: NotRequired[int | None]
    provenance: NotRequired[ProvenanceRequest]
    claim: NotRequired[ClaimInputRequest | None]
    claims: NotRequired[List[ClaimInputRequest]]
    extract_claim: NotRequired[bool]


class FragmentPage(TypedDict):
    next: str | None
    previous: str | None
    results: List[FragmentAnswer]


FragmentPageOrCount: TypeAlias = "FragmentPage | CountAnswer"


class GraphAnswer(TypedDict):
    """What surrounds an entity."""

    entity: str
    nodes: List[NodeAnswer]
    edges: List[EdgeAnswer]
    fragments: List[str]
    truncated: bool


class HealthReportAnswer(TypedDict):
    """How well the memory does its work."""

    claims: ShareAnswer
    protected: ShareAnswer
    digested: ShareAnswer
    digests: int
    nothing_found: ShareAnswer
    superseded: int
    supersessions: List[SilentSupersessionAnswer]
    conflicts_by_age: Dict[str, int]
    last_drill_at: str | None
    are_backups_proven: bool


class HistoryAnswer(TypedDict):
    """What happened to a fragment, oldest first."""

    revisions: List[RevisionAnswer]
    events: List[EventAnswer]
    rulings: List[RulingMarkAnswer]


class HitAnswer(TypedDict):
    """A fragment that answers, with its score and what the score is made of."""

    id: str
    namespace: str
    user: str | None
    project: str
    agent_id: str
    type: TypeEnum
    content: str
    key: str | None
    category: str | None
    source_type: SourceTypeEnum
    source_id: str | None
    source_ids: List[str]
    workflow_id: str | None
    conversation_id: str | None
    sequence: int | None
    tags: List[str]
    entities: List[EntityAnswer]
    topics: List[str]
    outcome: OutcomeEnum | None
    importance: float
    emotional_valence: float
    is_pinned: bool
    is_anchor: bool
    status: StatusEnum
    archived_reason: str | None
    tier: TierEnum
    compression: CompressionEnum
    base_relevance: float
    relevance_score: float
    effective_weight: float
    access_count: int
    created_at: str
    updated_at: str
    event_at: str | None
    last_accessed_at: str | None
    revision: int
    extra: Dict[str, Any]
    claim: ClaimAnswer | None
    claims: List[ClaimAnswer]
    provenance: ProvenanceAnswer
    trust: float
    confidence: float
    reinforcements: int
    disputes: int
    superseded_by: str | None
    supersedes: List[str]
    links: List[LinkAnswer]
    contested: List[ContestAnswer]
    embedding: EmbeddingAnswer
    score: float
    ranking_signals: Dict[str, float]
    contradicts: ContradictedAnswer | None
    on_record: ContradictedAnswer | None


class IngestAnswer(TypedDict):
    """What was stored and what was skipped."""

    stored: List[StoredAnswer]
    skipped: List[SkippedAnswer]


class IngestInputRequest(TypedDict):
    """A conversation or a text."""

    user: NotRequired[str]
    all_users: NotRequired[bool]
    namespace: str
    messages: NotRequired[List[MessageInputRequest]]
    text: NotRequired[str]
    source: NotRequired[str]
    conversation_id: NotRequired[str]


class KeptCheckAnswer(TypedDict):
    """A check that was kept."""

    id: str
    namespace: str
    name: str
    question: str
    memory: str | None
    text: str | None
    value: str | None
    top_k: int
    note: str
    passed: bool | None
    place: int | None
    run_at: str | None
    created_at: str
    updated_at: str
    replaced: bool


class KeptTaskAnswer(TypedDict):
    """A task as it was reported last."""

    id: str
    namespace: str
    title: str
    status: TaskStatusEnum
    summary: str
    updated_at: str


class KeyDifferenceAnswer(TypedDict):
    """A key of which something else is believed."""

    namespace: str
    user: str | None
    subject: str
    predicate: str
    before: List[BelievedAnswer]
    after: List[BelievedAnswer]


class LifeAnswer(TypedDict):
    """A claim on a key and all that was ever believed of it."""

    subject: str
    predicate: str
    value: str
    exclusive: bool
    scope: ScopeEnum
    session_id: str | None
    valid_from: str | None
    valid_until: str | None
    authority: int
    fragment_id: str
    namespace: str
    user: str | None
    source: SourceEnum
    owner: str | None
    owner_id: str | None
    status: StatusEnum
    recorded_at: str
    ruling: RulingMarkAnswer | None
    superseded_by: str | None
    moved: bool
    beliefs: List[BeliefAnswer]
    rulings: List[RulingMarkAnswer]


class LifePage(TypedDict):
    next: str | None
    previous: str | None
    results: List[LifeAnswer]


class LiftAnswer(TypedDict):
    """What was lifted."""

    lifted: int


class LiftInputRequest(TypedDict):
    """Which text may be said again, and where."""

    user: NotRequired[str]
    all_users: NotRequired[bool]
    content: str
    namespace: NotRequired[str]


class LinkAnswer(TypedDict):
    """A link to another fragment."""

    id: str
    kind: LinkAnswerKindEnum
    similarity: float


class LogInputRequest(TypedDict):
    """A build's log entry."""

    id: str
    summary: str
    status: str
    agent: NotRequired[str]
    tags: NotRequired[List[str]]
    at: NotRequired[str]


class MergeInputRequest(TypedDict):
    """Where the branch's writes go; without a user those of all its users."""

    user: NotRequired[str]
    all_users: NotRequired[bool]
    target: str
    dry_run: NotRequired[bool]
    plan_id: NotRequired[str]
    only: NotRequired[List[str]]
    accept_recall_loss: NotRequired[bool]


class MessageInputRequest(TypedDict):
    """One turn of a conversation."""

    role: RoleEnum
    content: str
    at: NotRequired[str | None]
    id: NotRequired[str]


class ModelAnswer(TypedDict):
    """A model; `embedder` says whether this process has it at hand."""

    id: str
    name: str
    provider: str
    dim: int
    state: ModelStateEnum
    floor: float | None
    embedder: str
    created_at: str


class ModelDetails(TypedDict):
    """With how many of the project's fragments have a vector of it."""

    id: str
    name: str
    provider: str
    dim: int
    state: ModelStateEnum
    floor: float | None
    embedder: str
    created_at: str
    fragments: int
    missing: int


class ModelPage(TypedDict):
    next: str | None
    previous: str | None
    results: List[ModelAnswer]


class NamedInputRequest(TypedDict):
    """A memory by its caller's own name for it."""

    user: NotRequired[str]
    all_users: NotRequired[bool]
    namespace: str
    key: str


class NamespaceAnswer(TypedDict):
    """A namespace."""

    name: str
    agent: str
    language: str
    archive_policy: ArchivePolicyEnum
    created_at: str


class NamespaceInputRequest(TypedDict):
    """A namespace to make."""

    name: str
    language: NotRequired[str]


class NamespacePage(TypedDict):
    next: str | None
    previous: str | None
    results: List[NamespaceAnswer]


class NewWebhookAnswer(TypedDict):
    """A webhook that was made."""

    id: str
    url: str
    kinds: List[AnnouncementAnswerKindEnum]
    namespace: NotRequired[str | None]
    enabled: bool
    failures: int
    failing_since: str | None
    last_error: str
    delivered_at: str | None
    created_at: str
    secret: str


class NewsAnswer(TypedDict):
    """What happened, oldest first, and the cursor to read on from."""

    next: str
    previous: str | None
    results: List[AnnouncementAnswer]


class NodeAnswer(TypedDict):
    """An entity: its most frequent spelling and kind, and how many memories mention it."""

    id: str
    name: str
    label: NodeAnswerLabelEnum
    mentions: int


class NodeInputRequest(TypedDict):
    """A pattern of the vault."""

    id: str
    content: str
    confidence: float
    tags: NotRequired[List[str]]


class NoteAnswer(TypedDict):
    """What was written on a memory, or on a decision about it; not by whom."""

    kind: NoteAnswerKindEnum
    fragment_id: str | None
    note: str
    at: str


class NothingRequest(TypedDict):
    """A body without fields."""

    user: NotRequired[str]
    all_users: NotRequired[bool]


class NoticeAnswer(TypedDict):
    """That an answer carried a memory which is not any more, or is again, what it was then."""

    id: str
    reason: NoticeAnswerReasonEnum
    fragment_id: str
    claim_id: str | None
    superseded_by: str | None
    status: StatusEnum | NullEnum | None
    receipt_id: str
    namespace: str
    user: str | None
    key_id: str | None
    told_at: str
    created_at: str


class NoticePage(TypedDict):
    """A page of notices, and what to ask with for those that come after all of its pages."""

    next: str | None
    previous: str | None
    bookmark: str
    results: List[NoticeAnswer]


class OperationAnswer(TypedDict):
    """A long job."""

    id: str
    kind: str
    namespace: str | None
    options: Dict[str, Any]
    dry_run: bool
    state: OperationStateEnum
    stage: str
    done: int
    total: int | None
    progress: float | None
    report: Dict[str, Any] | None
    error: Dict[str, Any] | None
    cancel_requested: bool
    created_at: str
    started_at: str | None
    heartbeat_at: str | None
    finished_at: str | None


class OperationInputRequest(TypedDict):
    """A job to start."""

    user: NotRequired[str]
    all_users: NotRequired[bool]
    kind: OperationInputKindEnum
    namespace: NotRequired[str]
    options: NotRequired[Any]
    dry_run: NotRequired[bool]


class OperationPage(TypedDict):
    next: str | None
    previous: str | None
    results: List[OperationAnswer]


class OriginAnswer(TypedDict):
    """Where a proposal comes from: who judged it, and the calls that it was made by."""

    judge: str
    calls: List[CallAnswer]


class PackInputRequest(TypedDict):
    """What is to be packed."""

    user: NotRequired[str]
    all_users: NotRequired[bool]
    namespace: str
    recipients: NotRequired[List[str]]


class PatchedFragmentChangeRequest(TypedDict):
    """What is to change; `revision` is the one that was read."""

    type: NotRequired[TypeEnum]
    category: NotRequired[str]
    tags: NotRequired[List[str]]
    topics: NotRequired[List[str]]
    entities: NotRequired[List[EntityRequest]]
    outcome: NotRequired[OutcomeEnum | NullEnum | None]
    importance: NotRequired[float]
    emotional_valence: NotRequired[float]
    is_pinned: NotRequired[bool]
    is_anchor: NotRequired[bool]
    workflow_id: NotRequired[str]
    event_at: NotRequired[str | None]
    extra: NotRequired[Any]
    user: NotRequired[str]
    all_users: NotRequired[bool]
    content: NotRequired[str]
    claim: NotRequired[ClaimInputRequest | None]
    claims: NotRequired[List[ClaimInputRequest]]
    revision: NotRequired[int]


class PatchedLabelInputRequest(TypedDict):
    """What to call a cluster; null takes the label away."""

    user: NotRequired[str]
    all_users: NotRequired[bool]
    label: NotRequired[str | None]


class PatchedNamespaceChangeRequest(TypedDict):
    """What is to change of a namespace."""

    name: NotRequired[str]
    archive_policy: NotRequired[ArchivePolicyEnum]
    language: NotRequired[str]


class PatchedPredicateChangeRequest(TypedDict):
    """What is to change of the predicate of that name."""

    exclusive: NotRequired[bool]
    cardinality: NotRequired[CardinalityEnum]
    aliases: NotRequired[List[str]]
    normaliser: NotRequired[NormaliserEnum]
    policy: NotRequired[PredicatePolicyEnum]
    newer_wins: NotRequired[bool]
    revision: NotRequired[int]
    namespace: NotRequired[str]
    name: NotRequired[str]


class PatchedRuleChangeRequest(TypedDict):
    """What is to change; `revision` is the one that was read."""

    exclusive: NotRequired[bool]
    cardinality: NotRequired[CardinalityEnum]
    aliases: NotRequired[List[str]]
    normaliser: NotRequired[NormaliserEnum]
    policy: NotRequired[PredicatePolicyEnum]
    newer_wins: NotRequired[bool]
    revision: NotRequired[int]


class PatchedWebhookChangeRequest(TypedDict):
    """Whether to send."""

    enabled: NotRequired[bool]


class PatternInputRequest(TypedDict):
    """A pattern that was learnt."""

    user: NotRequired[str]
    all_users: NotRequired[bool]
    namespace: str
    provenance: NotRequired[ProvenanceRequest]
    node: NodeInputRequest


class PendingConflictAnswer(TypedDict):
    """A conflict that a new fragment opened."""

    id: str
    existing_id: str | None
    reason: str
    new_authority: int | None
    existing_authority: int | None
    new_trust: float | None
    existing_trust: float | None


class PlaceAnswer(TypedDict):
    """How full a project or a tier is; a limit of 0 is none."""

    ratio: float
    status: CapacityStatusEnum
    fragments: int
    limit: int


class PredicateAnswer(TypedDict):
    """A predicate's rule; a built-in one has no id, namespace, revision or times."""

    id: str | None
    namespace: str | None
    name: str
    cardinality: CardinalityEnum
    exclusive: bool
    aliases: List[str]
    normaliser: NormaliserEnum
    policy: PredicatePolicyEnum
    newer_wins: bool
    revision: int | None
    created_at: str | None
    updated_at: str | None


class PredicateInputRequest(TypedDict):
    """A predicate to register."""

    exclusive: NotRequired[bool]
    cardinality: NotRequired[CardinalityEnum]
    aliases: NotRequired[List[str]]
    normaliser: NotRequired[NormaliserEnum]
    policy: NotRequired[PredicatePolicyEnum]
    newer_wins: NotRequired[bool]
    namespace: str
    name: str


class PredicatePage(TypedDict):
    next: str | None
    previous: str | None
    results: List[PredicateAnswer]


class PreviewAnswer(TypedDict):
    """How full it is, how many would leave now, and who would be the first."""

    capacity: CapacityAnswer
    would_evict: int
    results: List[CandidateAnswer]


class ProofsAnswer(TypedDict):
    """How many backups there are, and how old the last that was proven by a drill is."""

    count: int
    bytes: int
    last_backup_at: str | None
    last_drill_at: str | None
    last_drill_age_seconds: int | None


class ProposalInputRequest(TypedDict):
    """A task that somebody is stuck with."""

    user: NotRequired[str]
    all_users: NotRequired[bool]
    namespace: str
    task_id: str
    context: str | Dict[str, Any]


class ProposalStatsAnswer(TypedDict):
    """How much history is kept."""

    total_entries: int
    task_count: int
    reduction_client: str | None


class ProtectInputRequest(TypedDict):
    """Whether it stays."""

    protected: NotRequired[bool]


class ProvenanceAnswer(TypedDict):
    """Where the fragment comes from and how far that may be believed."""

    source: SourceEnum
    source_id: str | None
    authority: int
    owner: str | None
    corroboration: int
    trust: float
    parents: List[str]


class ProvenanceRequest(TypedDict):
    """Where a fragment comes from."""

    source: SourceEnum
    source_id: NotRequired[str]
    parents: NotRequired[List[str]]


class ReachedAnswer(TypedDict):
    """Memories, by their number and the first hundred."""

    count: int
    ids: List[str]


class RecallCheckAnswer(TypedDict):
    """A check, and how its last run went."""

    id: str
    namespace: str
    name: str
    question: str
    memory: str | None
    text: str | None
    value: str | None
    top_k: int
    note: str
    passed: bool | None
    place: int | None
    run_at: str | None
    created_at: str
    updated_at: str


class RecallCheckInputRequest(TypedDict):
    """A check to keep: a question, and one of memory, text and value."""

    user: NotRequired[str]
    all_users: NotRequired[bool]
    namespace: str
    name: NotRequired[str]
    question: str
    memory: NotRequired[str]
    text: NotRequired[str]
    value: NotRequired[str]
    top_k: NotRequired[int]
    note: NotRequired[str]


class RecallCheckPage(TypedDict):
    next: str | None
    previous: str | None
    results: List[RecallCheckAnswer]


class RecallFileAnswer(TypedDict):
    """All checks as a file."""

    yaml: str


class RecallFileInputRequest(TypedDict):
    """A file of checks."""

    user: NotRequired[str]
    all_users: NotRequired[bool]
    yaml: str


class RecallKeptAnswer(TypedDict):
    """How many checks a file added, and how many it replaced."""

    added: int
    replaced: int


class RecallRunAnswer(TypedDict):
    """A run: why, how many passed, which failed, and which of these had passed before."""

    id: str
    namespace: str | None
    cause: CauseEnum
    operation_id: str | None
    created_at: str
    took_ms: int
    passed: int
    failed: List[str]
    lost: List[str]


class RecallRunInputRequest(TypedDict):
    """What to run: the checks of a namespace, or all."""

    user: NotRequired[str]
    all_users: NotRequired[bool]
    namespace: NotRequired[str]


class RecallRunPage(TypedDict):
    next: str | None
    previous: str | None
    results: List[RecallRunAnswer]


class RecentTaskAnswer(TypedDict):
    """A task: a title of at most 120 characters, a summary of at most 200."""

    id: str
    namespace: str
    title: str
    status: TaskStatusEnum
    summary: str
    updated_at: str


class RecentTasksAnswer(TypedDict):
    """Recent tasks, the latest first."""

    tasks: List[RecentTaskAnswer]
    provenance: FetchAnswer


class ReinforcementInputRequest(TypedDict):
    """A pattern that proved itself."""

    user: NotRequired[str]
    all_users: NotRequired[bool]
    namespace: str
    node_id: str


class ReinstateInputRequest(TypedDict):
    """Why."""

    user: NotRequired[str]
    all_users: NotRequired[bool]
    note: NotRequired[str]


class ReinstatedAnswer(TypedDict):
    """The decisions, one for each claim that had lost."""

    conflicts: List[ConflictAnswer]


class ResolutionBodyRequest(TypedDict):
    """How a conflict of tastes was resolved."""

    id: str
    content: str
    steps: NotRequired[List[str]]
    confidence: float


class ResolutionInputRequest(TypedDict):
    """A resolution."""

    user: NotRequired[str]
    all_users: NotRequired[bool]
    namespace: str
    provenance: NotRequired[ProvenanceRequest]
    resolution: ResolutionBodyRequest


class ResolveInputRequest(TypedDict):
    """A decision, on the revision that was seen."""

    user: NotRequired[str]
    all_users: NotRequired[bool]
    action: ActionEnum
    revision: int
    keep: NotRequired[KeepEnum]
    note: NotRequired[str]
    ruling: NotRequired[bool]
    protect: NotRequired[bool]
    correction: NotRequired[CorrectionInputRequest]


class RestoreAnswer(TypedDict):
    """A restore, or the plan of one."""

    id: str
    kind: str
    namespace: str | None
    options: Dict[str, Any]
    dry_run: bool
    state: OperationStateEnum
    stage: str
    done: int
    total: int | None
    progress: float | None
    report: Dict[str, Any] | None
    error: Dict[str, Any] | None
    cancel_requested: bool
    created_at: str
    started_at: str | None
    heartbeat_at: str | None
    finished_at: str | None


class RestoreInputRequest(TypedDict):
    """A restore to start: of a backup that is here."""

    backup_id: str
    dry_run: NotRequired[bool]
    trust_signer: NotRequired[str]
    allow_version: NotRequired[bool]
    plan_id: NotRequired[str]
    into: NotRequired[str]
    namespace: NotRequired[str]
    accept_recall_loss: NotRequired[bool]


class RestorePage(TypedDict):
    next: str | None
    previous: str | None
    results: List[RestoreAnswer]


class RetrospectiveInputRequest(TypedDict):
    """What was learnt."""

    user: NotRequired[str]
    all_users: NotRequired[bool]
    namespace: str
    provenance: NotRequired[ProvenanceRequest]
    insights: List[str]


class RevisionAnswer(TypedDict):
    """A former text."""

    revision: int
    content: str
    recorded_at: str


class RollbackInputRequest(TypedDict):
    """Which namespace, and to when."""

    user: NotRequired[str]
    all_users: NotRequired[bool]
    namespace: str
    to: str
    dry_run: NotRequired[bool]
    plan_id: NotRequired[str]
    accept_recall_loss: NotRequired[bool]


class RuledAnswer(TypedDict):
    """A value that was chosen or ruled out, by the memory that says it."""

    fragment_id: str
    value: str | None


class RulingAnswer(TypedDict):
    """What a decision left: the values it chose and ruled out, who decided, when and why."""

    id: str
    namespace: str
    user: str | None
    conflict_id: str | None
    fragment_id: str | None
    scope: str
    session_id: str
    valid_from: str | None
    valid_until: str | None
    chosen: List[RuledAnswer]
    ruled_out: List[RuledAnswer]
    authority: int
    by: str | None
    decided_by: str | None
    at: str
    note: str
    edited: bool
    repeats: int
    repeated_at: str | None


class RulingMarkAnswer(TypedDict):
    """A ruling as one memory sees it: whether it chose what that says; `until` null means that it is in force."""

    id: str
    conflict_id: str | None
    decision: RulingMarkAnswerDecisionEnum
    authority: int
    by: str | None
    decided_by: str | None
    at: str
    until: str | None
    note: str


class RulingPage(TypedDict):
    next: str | None
    previous: str | None
    results: List[RulingAnswer]


class SearchAnswer(TypedDict):
    """The hits, best first."""

    results: List[HitAnswer]
    took_ms: Dict[str, float]
    degraded: List[str]
    nothing_relevant: bool
    explanation: NotRequired[ExplanationAnswer]
    expected: NotRequired[ExpectedAnswer]


class SearchBatchAnswer(TypedDict):
    """An answer per search, in order."""

    answers: List[SearchAnswer]


class SearchBatchInputRequest(TypedDict):
    """Several searches."""

    user: NotRequired[str]
    all_users: NotRequired[bool]
    searches: List[SearchInputRequest]


class SearchInputRequest(TypedDict):
    """A search."""

    user: NotRequired[str]
    all_users: NotRequired[bool]
    query: str
    namespace: NotRequired[str]
    namespaces: NotRequired[List[str]]
    project_wide: NotRequired[bool]
    filters: NotRequired[FilterInputRequest]
    min_similarity: NotRequired[float]
    floor: NotRequired[Literal["auto"] | float]
    rerank: NotRequired[bool | Dict[str, Any]]
    profile: NotRequired[ProfileEnum]
    session_id: NotRequired[str]
    as_of: NotRequired[str]
    model: NotRequired[str]
    top_k: NotRequired[int]
    explain: NotRequired[bool]
    expect: NotRequired[str]


class ShareAnswer(TypedDict):
    """So many of so many."""

    number: int
    of: int
    share: float | None


class ShownProposal(TypedDict):
    """With its provenance."""

    id: str
    namespace: str
    task_id: str
    kind: ShownProposalKindEnum
    outcome: ProposalOutcomeEnum
    reasons: List[str]
    proposal: Dict[str, Any] | None
    about: List[str]
    fragment_id: str | None
    waiting: bool
    decision: ShownProposalDecisionEnum | BlankEnum
    decided_at: str | None
    created_at: str
    provenance: OriginAnswer


class ShownProposalPage(TypedDict):
    next: str | None
    previous: str | None
    results: List[ShownProposal]


class SideAnswer(TypedDict):
    """One side of a conflict."""

    id: str
    content: str
    status: str
    source: str
    agent_id: str
    owner: str | None
    created_at: str
    corroboration: int
    reinforcements: int
    disputes: int
    claim: ClaimAnswer | None


class SilentSupersessionAnswer(TypedDict):
    """A memory that yielded to another one without a person."""

    id: str
    superseded_by: str
    at: str
    can_be_undone: bool


class SkippedAnswer(TypedDict):
    """A message that was not kept."""

    index: int
    reason: str


class StatementAnswer(TypedDict):
    """What a free text was read as."""

    subject: str
    predicate: str
    value: str
    negated: bool


class StatsAnswer(TypedDict):
    """Counts of fragments."""

    total: int
    users: int
    by_status: Dict[str, int]
    by_tier: Dict[str, int]
    by_type: Dict[str, int]
    pending_embeddings: int
    pending_conflicts: int
    storage_bytes: int
    tier_bytes: Dict[str, int]
    capacity: CapacityAnswer
    backups: ProofsAnswer


class StatusChangeAnswer(TypedDict):
    """How many memories went from a status to another."""

    before: StatusEnum | NullEnum | None
    after: StatusEnum | NullEnum | None
    count: int


class StoredAnswer(TypedDict):
    """A fragment just stored, and what that did to others."""

    id: str
    namespace: str
    user: str | None
    project: str
    agent_id: str
    type: TypeEnum
    content: str
    key: str | None
    category: str | None
    source_type: SourceTypeEnum
    source_id: str | None
    source_ids: List[str]
    workflow_id: str | None
    conversation_id: str | None
    sequence: int | None
    tags: List[str]
    entities: List[EntityAnswer]
    topics: List[str]
    outcome: OutcomeEnum | None
    importance: float
    emotional_valence: float
    is_pinned: bool
    is_anchor: bool
    status: StatusEnum
    archived_reason: str | None
    tier: TierEnum
    compression: CompressionEnum
    base_relevance: float
    relevance_score: float
    effective_weight: float
    access_count: int
    created_at: str
    updated_at: str
    event_at: str | None
    last_accessed_at: str | None
    revision: int
    extra: Dict[str, Any]
    claim: ClaimAnswer | None
    claims: List[ClaimAnswer]
    provenance: ProvenanceAnswer
    trust: float
    confidence: float
    reinforcements: int
    disputes: int
    superseded_by: str | None
    supersedes: List[str]
    links: List[LinkAnswer]
    contested: List[ContestAnswer]
    embedding: EmbeddingAnswer
    superseded: List[str]
    pending_conflicts: List[PendingConflictAnswer]
    deduplicated: bool
    replaced: bool


class StoredList(TypedDict):
    """A stored fragment for each part of an event."""

    results: List[StoredAnswer]


StoredOrBlocked: TypeAlias = "StoredAnswer | BlockedAnswer"


class SupplementInputRequest(TypedDict):
    """What the vault is working on."""

    user: NotRequired[str]
    all_users: NotRequired[bool]
    namespace: str
    context: str
    limit: NotRequired[int]
    floor: NotRequired[Literal["auto"] | float]
    project_wide: NotRequired[bool]


class TagsAnswer(TypedDict):
    """What they mean here; never empty."""

    tags: List[TagsEnum]


class TagsInputRequest(TypedDict):
    """Semantic tags of a code node."""

    tags: List[str]


class TaskAnswer(TypedDict):
    """A reported task; `proposing`: it failed so often that a proposal was queued."""

    id: str
    namespace: str
    title: str
    status: TaskStatusEnum
    summary: str
    updated_at: str
    fragment_id: str | None
    proposing: bool


class TaskInputRequest(TypedDict):
    """A task as it stands."""

    user: NotRequired[str]
    all_users: NotRequired[bool]
    namespace: NotRequired[str]
    id: str
    title: str
    status: TaskStatusEnum
    summary: NotRequired[str]
    updated_at: NotRequired[str]


class TermAnswer(TypedDict):
    """A word of the question in a candidate: how often, its part of the BM25, the candidate's rank by it."""

    term: str
    times: int
    bm25: float
    rank: int


TierChangeRequest = TypedDict(
    "TierChangeRequest",
    {"user": "NotRequired[str]", "all_users": "NotRequired[bool]", "from": "TierEnum", "to": "TierEnum"},
)


class TitleAnswer(TypedDict):
    """What somebody called memories that belong together."""

    title: str
    fragment_ids: List[str]


class TombstoneAnswer(TypedDict):
    """What remains of a memory that left; never its text."""

    id: str
    namespace: str
    original_id: str
    evicted_at: str
    topics: List[str]
    participants: List[str]
    approximate_date: str | None
    reason: TombstoneAnswerReasonEnum
    reason_details: Dict[str, Any]
    sentence: str
    restorable: bool


class TombstonePage(TypedDict):
    next: str | None
    previous: str | None
    results: List[TombstoneAnswer]


class UploadInputRequest(TypedDict):
    """A restore to start: of a file that is sent along."""

    upload: str
    dry_run: NotRequired[bool]
    trust_signer: NotRequired[str]
    allow_version: NotRequired[bool]
    into: NotRequired[str]
    namespace: NotRequired[str]
    accept_recall_loss: NotRequired[bool]


class UserAnswer(TypedDict):
    """A user, and what is kept of them."""

    user: str
    address: str
    namespaces: List[str]
    memories: int
    since: str


class UserErased(TypedDict):
    """What was erased, or would be."""

    user: str
    namespaces: List[str]
    count: int
    backups: List[Dict[str, Any]]
    dry_run: bool


class UserExport(TypedDict):
    """All that is kept of a user."""

    user: str
    namespaces: List[str]
    exported_at: str
    memories: List[FragmentAnswer]
    tombstones: List[TombstoneAnswer]
    former_texts: List[FormerTextAnswer]
    tasks: List[KeptTaskAnswer]
    titles: List[TitleAnswer]
    notes: List[NoteAnswer]


class UserPage(TypedDict):
    next: str | None
    previous: str | None
    results: List[UserAnswer]


class VoteAnswer(TypedDict):
    """What the vote did."""

    id: str
    counted: bool
    reason: VoteAnswerReasonEnum | NullEnum | None
    trust: float
    confidence: float
    status: StatusEnum
    reinforcements: int
    disputes: int
    corroboration: int
    conflict_id: str | None


class WebhookAnswer(TypedDict):
    """A webhook, and how it goes."""

    id: str
    url: str
    kinds: List[AnnouncementAnswerKindEnum]
    namespace: NotRequired[str | None]
    enabled: bool
    failures: int
    failing_since: str | None
    last_error: str
    delivered_at: str | None
    created_at: str


class WebhookInputRequest(TypedDict):
    """A webhook to make."""

    url: str
    kinds: NotRequired[List[AnnouncementAnswerKindEnum]]
    namespace: NotRequired[str]


class WebhookPage(TypedDict):
    next: str | None
    previous: str | None
    results: List[WebhookAnswer]


class WhoAnswer(TypedDict):
    """Who did it: a key, a person or the service itself."""

    kind: str | None
    owner: str | None
    key: str | None
    user: str | None


class WholeEpisodeAnswer(TypedDict):
    """An episode with its memories in order."""

    id: str
    namespace: str
    conversation_id: str | None
    title: str
    size: int
    began_at: str
    ended_at: str
    summary: str
    members: List[FragmentAnswer]
    truncated: bool


class Problem(TypedDict):
    """What went wrong (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    errors: List[Dict[str, Any]]
    request_id: str


class BackupsListQuery(TypedDict):
    cursor: NotRequired[str]
    limit: NotRequired[int]


class BackupsReadQuery(TypedDict):
    all_users: NotRequired[bool]
    user: NotRequired[str]


class BackupsDeleteQuery(TypedDict):
    all_users: NotRequired[bool]
    user: NotRequired[str]


class BackupsDownloadQuery(TypedDict):
    format: NotRequired[Literal["bundle", "json"]]


class BackupsDrillQuery(TypedDict):
    all_users: NotRequired[bool]
    user: NotRequired[str]


class BackupsVerifyQuery(TypedDict):
    all_users: NotRequired[bool]
    user: NotRequired[str]


class CasesListQuery(TypedDict):
    all_users: NotRequired[bool]
    cursor: NotRequired[str]
    limit: NotRequired[int]
    namespace: NotRequired[str]
    owner: NotRequired[str]
    pattern: NotRequired[str]
    predicate: NotRequired[str]
    sort: NotRequired[Literal["oldest", "newest", "most"]]
    source: NotRequired[str]
    status: NotRequired[Literal["pending", "settled", "all"]]
    subject: NotRequired[str]
    user: NotRequired[str]


class CasesReadQuery(TypedDict):
    all_users: NotRequired[bool]
    user: NotRequired[str]


class CasesGroupsQuery(TypedDict):
    all_users: NotRequired[bool]
    by: Literal["source", "owner", "namespace", "predicate"]
    namespace: NotRequired[str]
    owner: NotRequired[str]
    pattern: NotRequired[str]
    predicate: NotRequired[str]
    source: NotRequired[str]
    subject: NotRequired[str]
    user: NotRequired[str]


class ClaimsListQuery(TypedDict):
    all_users: NotRequired[bool]
    as_of: NotRequired[str]
    cursor: NotRequired[str]
    known_at: NotRequired[str]
    limit: NotRequired[int]
    namespace: NotRequired[str]
    predicate: NotRequired[str]
    session_id: NotRequired[str]
    status: NotRequired[Literal["active", "superseded", "disputed", "quarantined", "archived", "all"]]
    subject: NotRequired[str]
    user: NotRequired[str]


class ClaimsTimelineQuery(TypedDict):
    all_users: NotRequired[bool]
    cursor: NotRequired[str]
    limit: NotRequired[int]
    namespace: NotRequired[str]
    predicate: str
    session_id: NotRequired[str]
    subject: str
    user: NotRequired[str]


class ClustersListQuery(TypedDict):
    all_users: NotRequired[bool]
    cursor: NotRequired[str]
    limit: NotRequired[int]
    min_size: NotRequired[int]
    namespace: NotRequired[str]
    user: NotRequired[str]


class ConflictsListQuery(TypedDict):
    all_users: NotRequired[bool]
    cursor: NotRequired[str]
    kind: NotRequired[Literal["claim", "text", "dispute", "restore"]]
    limit: NotRequired[int]
    namespace: NotRequired[str]
    predicate: NotRequired[str]
    status: NotRequired[Literal["pending", "resolved", "all"]]
    subject: NotRequired[str]
    user: NotRequired[str]


class ConflictsReadQuery(TypedDict):
    all_users: NotRequired[bool]
    user: NotRequired[str]


class ConsolidationsListQuery(TypedDict):
    all_users: NotRequired[bool]
    cursor: NotRequired[str]
    limit: NotRequired[int]
    namespace: NotRequired[str]
    state: NotRequired[Literal["queued", "running", "succeeded", "failed", "cancelled"]]
    user: NotRequired[str]


class ConsolidationsUndoQuery(TypedDict):
    all_users: NotRequired[bool]
    user: NotRequired[str]


class ContainmentsListQuery(TypedDict):
    cursor: NotRequired[str]
    limit: NotRequired[int]


class ContainmentsReadQuery(TypedDict):
    all_users: NotRequired[bool]
    user: NotRequired[str]


class EpisodesListQuery(TypedDict):
    agent: NotRequired[str]
    all_users: NotRequired[bool]
    cursor: NotRequired[str]
    limit: NotRequired[int]
    namespace: NotRequired[str]
    since: NotRequired[str]
    until: NotRequired[str]
    user: NotRequired[str]


class EpisodesReadQuery(TypedDict):
    all_users: NotRequired[bool]
    user: NotRequired[str]


class EventsListQuery(TypedDict):
    all_users: NotRequired[bool]
    kind: NotRequired[
        Literal[
            "supersede",
            "conflict_pending",
            "conflict_resolved",
            "dispute",
            "corroborate",
            "consolidate",
            "erase",
            "recall_notice",
        ]
    ]
    limit: NotRequired[int]
    namespace: NotRequired[str]
    since: NotRequired[str]
    user: NotRequired[str]


class EvictionsPreviewQuery(TypedDict):
    all_users: NotRequired[bool]
    limit: NotRequired[int]
    tier: NotRequired[Literal["hot", "warm", "cold"]]
    user: NotRequired[str]


class FragmentsListQuery(TypedDict):
    agent: NotRequired[str]
    all_users: NotRequired[bool]
    count: NotRequired[bool]
    cursor: NotRequired[str]
    ids: NotRequired[str]
    key: NotRequired[str]
    limit: NotRequired[int]
    namespace: NotRequired[str]
    owner: NotRequired[Literal["me"]]
    q: NotRequired[str]
    since: NotRequired[str]
    source_type: NotRequired[
        Literal[
            "task",
            "atlas",
            "taste-vault",
            "retrospective",
            "manual",
            "conversation",
            "document",
            "bridge",
            "digest",
            "file",
            "web",
        ]
    ]
    status: NotRequired[List[Literal["active", "superseded", "disputed", "quarantined", "archived", "all"]]]
    tag: NotRequired[str]
    tier: NotRequired[Literal["hot", "warm", "cold"]]
    type: NotRequired[Literal["episodic", "semantic", "procedural"]]
    until: NotRequired[str]
    user: NotRequired[str]


class FragmentsReadQuery(TypedDict):
    all_users: NotRequired[bool]
    include: NotRequired[Literal["embedding"]]
    user: NotRequired[str]


class FragmentsForgetQuery(TypedDict):
    all_users: NotRequired[bool]
    everywhere: NotRequired[bool]
    purge_backups: NotRequired[bool]
    user: NotRequired[str]


class FragmentsHistoryQuery(TypedDict):
    all_users: NotRequired[bool]
    user: NotRequired[str]


class GraphQuery(TypedDict):
    all_users: NotRequired[bool]
    depth: NotRequired[int]
    entity: str
    namespace: NotRequired[str]
    user: NotRequired[str]


class GraphEntitiesQuery(TypedDict):
    all_users: NotRequired[bool]
    label: NotRequired[Literal["person", "organization", "location", "misc"]]
    limit: NotRequired[int]
    namespace: NotRequired[str]
    q: str
    user: NotRequired[str]


class HealthReportQuery(TypedDict):
    all_users: NotRequired[bool]
    namespace: NotRequired[str]
    user: NotRequired[str]


class ModelsListQuery(TypedDict):
    cursor: NotRequired[str]
    limit: NotRequired[int]


class ModelsReadQuery(TypedDict):
    all_users: NotRequired[bool]
    user: NotRequired[str]


class NamespacesListQuery(TypedDict):
    cursor: NotRequired[str]
    limit: NotRequired[int]


class NamespacesDeleteQuery(TypedDict):
    all_users: NotRequired[bool]
    confirm: NotRequired[str]
    expected_count: NotRequired[int]
    user: NotRequired[str]


class NamespacesCompareQuery(TypedDict):
    all_users: NotRequired[bool]
    other: str
    user: NotRequired[str]


class NoticesListQuery(TypedDict):
    all_users: NotRequired[bool]
    cursor: NotRequired[str]
    fragment_id: NotRequired[str]
    limit: NotRequired[int]
    mine: NotRequired[bool]
    namespace: NotRequired[str]
    reason: NotRequired[Literal["superseded", "ruled_out", "disputed", "contained", "restored"]]
    receipt_id: NotRequired[str]
    since: NotRequired[str]
    user: NotRequired[str]


class OperationsListQuery(TypedDict):
    all_users: NotRequired[bool]
    cursor: NotRequired[str]
    kind: NotRequired[str]
    limit: NotRequired[int]
    state: NotRequired[Literal["queued", "running", "succeeded", "failed", "cancelled"]]
    user: NotRequired[str]


class OperationsReadQuery(TypedDict):
    all_users: NotRequired[bool]
    user: NotRequired[str]


class OperationsCancelQuery(TypedDict):
    all_users: NotRequired[bool]
    user: NotRequired[str]


class OperationsUndoQuery(TypedDict):
    all_users: NotRequired[bool]
    user: NotRequired[str]


class PacksDownloadQuery(TypedDict):
    all_users: NotRequired[bool]
    user: NotRequired[str]


class PredicatesListQuery(TypedDict):
    builtin: NotRequired[bool]
    cursor: NotRequired[str]
    limit: NotRequired[int]
    namespace: NotRequired[str]


class PredicatesReadQuery(TypedDict):
    all_users: NotRequired[bool]
    user: NotRequired[str]


class ProjectsDeleteQuery(TypedDict):
    confirm: NotRequired[str]
    expected_count: NotRequired[int]


class ProposalsListQuery(TypedDict):
    all_users: NotRequired[bool]
    cursor: NotRequired[str]
    kind: NotRequired[Literal["option", "claim", "digest", "supersession"]]
    limit: NotRequired[int]
    namespace: NotRequired[str]
    outcome: NotRequired[
        Literal[
            "allowed", "blocked", "reduction_error", "advisory_only", "skipped_no_reduction_client", "llm_returned_null"
        ]
    ]
    task_id: NotRequired[str]
    user: NotRequired[str]
    waiting: NotRequired[bool]


class ProposalsStatsQuery(TypedDict):
    all_users: NotRequired[bool]
    namespace: NotRequired[str]
    user: NotRequired[str]


class RecallChecksListQuery(TypedDict):
    all_users: NotRequired[bool]
    cursor: NotRequired[str]
    limit: NotRequired[int]
    namespace: NotRequired[str]
    state: NotRequired[Literal["passed", "failed", "never"]]
    user: NotRequired[str]


class RecallChecksReadQuery(TypedDict):
    all_users: NotRequired[bool]
    user: NotRequired[str]


class RecallChecksDeleteQuery(TypedDict):
    all_users: NotRequired[bool]
    user: NotRequired[str]


class RecallChecksExportQuery(TypedDict):
    all_users: NotRequired[bool]
    namespace: NotRequired[str]
    user: NotRequired[str]


class RecallRunsListQuery(TypedDict):
    all_users: NotRequired[bool]
    cause: NotRequired[Literal["asked", "consolidation", "merge", "model", "restore", "rollback"]]
    cursor: NotRequired[str]
    limit: NotRequired[int]
    namespace: NotRequired[str]
    user: NotRequired[str]


class RestoresListQuery(TypedDict):
    cursor: NotRequired[str]
    limit: NotRequired[int]


class RulingsListQuery(TypedDict):
    all_users: NotRequired[bool]
    cursor: NotRequired[str]
    limit: NotRequired[int]
    namespace: NotRequired[str]
    predicate: NotRequired[str]
    subject: NotRequired[str]
    user: NotRequired[str]


class StatsQuery(TypedDict):
    all_users: NotRequired[bool]
    namespace: NotRequired[str]
    user: NotRequired[str]


class TasksRecentQuery(TypedDict):
    all_users: NotRequired[bool]
    limit: NotRequired[int]
    namespace: NotRequired[str]
    user: NotRequired[str]


class TimelineQuery(TypedDict):
    all_users: NotRequired[bool]
    cursor: NotRequired[str]
    kind: NotRequired[
        Literal[
            "decision",
            "consolidation",
            "restore",
            "merge",
            "fork",
            "backup",
            "eviction",
            "forgetting",
            "deletion",
            "containment",
            "rollback",
        ]
    ]
    limit: NotRequired[int]
    namespace: NotRequired[str]
    since: NotRequired[str]
    until: NotRequired[str]
    user: NotRequired[str]


class TimelineDifferenceQuery(TypedDict):
    all_users: NotRequired[bool]
    namespace: NotRequired[str]
    since: str
    until: NotRequired[str]
    user: NotRequired[str]


class TombstonesListQuery(TypedDict):
    all_users: NotRequired[bool]
    cursor: NotRequired[str]
    limit: NotRequired[int]
    namespace: NotRequired[str]
    since: NotRequired[str]
    topic: NotRequired[str]
    user: NotRequired[str]


class TombstonesReadQuery(TypedDict):
    all_users: NotRequired[bool]
    user: NotRequired[str]


class TombstonesRestoreQuery(TypedDict):
    all_users: NotRequired[bool]
    user: NotRequired[str]


class UsersListQuery(TypedDict):
    cursor: NotRequired[str]
    limit: NotRequired[int]
    namespace: NotRequired[str]


class UsersEraseQuery(TypedDict):
    dry_run: NotRequired[bool]
    expected_count: NotRequired[int]
    namespace: NotRequired[str]
    purge_backups: NotRequired[bool]


class UsersExportQuery(TypedDict):
    namespace: NotRequired[str]


class WebhooksListQuery(TypedDict):
    cursor: NotRequired[str]
    limit: NotRequired[int]


class WebhooksReadQuery(TypedDict):
    all_users: NotRequired[bool]
    user: NotRequired[str]


class WebhooksDeleteQuery(TypedDict):
    all_users: NotRequired[bool]
    user: NotRequired[str]
