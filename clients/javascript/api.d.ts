// Made by clients/generate.py of the server's OpenAPI document. Not to be edited.

export interface CallOptions { ifMatch?: string; idempotencyKey?: string; signal?: AbortSignal }

export type ActionEnum = "supersede" | "reject" | "keep_both";

/** One thing that happened. */
export interface AnnouncementAnswer {
  id: string;
  kind: AnnouncementAnswerKindEnum;
  at: string;
  namespace: string;
  fragment_id: string | null;
  conflict_id: string | null;
  operation_id: string | null;
  other_id: string | null;
  receipt_id: string | null;
  who: WhoAnswer;
  why: string | null;
}

export type AnnouncementAnswerKindEnum = "supersede" | "conflict_pending" | "conflict_resolved" | "dispute" | "corroborate" | "consolidate" | "erase" | "recall_notice";

export type ArchivePolicyEnum = "episodic" | "all";

/** A backup. */
export interface BackupAnswer {
  id: string;
  policy: PolicyEnum;
  policy_version: number;
  namespaces: Array<string>;
  include_embeddings: boolean;
  base: string | null;
  origin: OriginEnum;
  encrypted: boolean;
  size: number;
  sha256: string;
  signer: string;
  records: number;
  counts: Array<BucketAnswer>;
  protected: boolean;
  verdict: string;
  verified_at: string | null;
  drill_verdict: string;
  drilled_at: string | null;
  exported_at: string | null;
  created_at: string;
}

/** A backup to make. */
export interface BackupInputRequest {
  project?: string;
  namespaces?: Array<string>;
  policy?: PolicyEnum;
  include_embeddings?: boolean;
  base?: string | null;
  recipients?: Array<string>;
}

export interface BackupPage {
  next: string | null;
  previous: string | null;
  results: Array<BackupAnswer>;
}

/** What became of each item, in order. */
export interface BatchAnswer {
  results: Array<StoredOrBlocked>;
}

/** What was believed of a claim for a time; `until` null means still. */
export interface BeliefAnswer {
  from: string;
  until: string | null;
  status: StatusEnum;
  value: string;
  valid_from: string | null;
  valid_until: string | null;
}

/** A claim, as it was believed. */
export interface BelievedAnswer {
  subject: string;
  predicate: string;
  value: string;
  exclusive: boolean;
  scope: ScopeEnum;
  session_id: string | null;
  valid_from: string | null;
  valid_until: string | null;
  authority: number;
  fragment_id: string;
  namespace: string;
  user: string | null;
  source: SourceEnum;
  owner: string | null;
  owner_id: string | null;
  status: StatusEnum;
  recorded_at: string;
  ruling: RulingMarkAnswer | null;
}

export interface BelievedPage {
  next: string | null;
  previous: string | null;
  results: Array<BelievedAnswer>;
}

export type BlankEnum = "";

/** An item of a batch that was not stored, for its text was forgotten. */
export interface BlockedAnswer {
  status: string;
  code: string;
}

/** The branch's namespace, or a user's scope in it, and how many memories it began with. */
export interface BranchAnswer {
  namespace: string;
  forked_from: string;
  copied: number;
}

/** A branch that begins. */
export interface BranchInputRequest {
  branch_id: string;
  source_namespace: string;
  user?: string;
}

/** A branch that ends in another namespace. */
export interface BranchMergeInputRequest {
  branch_id: string;
  target_namespace: string;
  user?: string;
}

/** How many memories a backup holds for what reason. */
export interface BucketAnswer {
  bucket: string;
  reason: string;
  count: number;
}

/** A build that ATLAS logged. */
export interface BuildInputRequest {
  user?: string;
  all_users?: boolean;
  namespace: string;
  provenance?: ProvenanceRequest;
  project: string;
  phase: unknown;
  log: LogInputRequest;
}

/** The provenance of a call of the language model: hashes are SHA-256 in hexadecimal. */
export interface CallAnswer {
  id: string;
  model: string;
  host: string;
  request_hash: string;
  output_hash: string;
  outcome: string;
  tries: number;
  latency_ms: number;
  created_at: string;
}

/** Who would leave. */
export interface CandidateAnswer {
  id: string;
  namespace: string;
  tier: TierEnum;
  authority: number;
  is_protected: boolean;
  effective_weight: number;
  priority: number;
}

/** How full the whole project is, and each tier of it. */
export interface CapacityAnswer {
  ratio: number;
  status: CapacityStatusEnum;
  fragments: number;
  limit: number;
  tiers: Record<string, PlaceAnswer>;
}

export type CapacityStatusEnum = "normal" | "warning" | "eviction_needed" | "aggressive_eviction_needed";

export type CardinalityEnum = "one" | "many";

/** Who was told so, as far as receipts are kept: "17 answers to 3 agents". */
export interface CarriedAnswer {
  answers: number;
  agents: number;
  last_at: string | null;
}

/** A question that somebody has to answer: what stands, what is claimed against it, and what was decided. */
export interface CaseAnswer {
  id: string;
  namespace: string;
  user: string | null;
  subject: string;
  predicate: string;
  scope: string;
  session_id: string;
  status: CaseAnswerStatusEnum;
  revision: number;
  waiting: number;
  since: string;
  last_at: string;
  values: Array<CaseValueAnswer>;
  ruling: RulingAnswer | null;
}

export type CaseAnswerStatusEnum = "pending" | "settled";

/** A decision, on the revision of the case that was seen: values that hold, or what is true instead. */
export interface CaseDecisionInputRequest {
  user?: string;
  all_users?: boolean;
  revision: number;
  choose?: Array<string>;
  keep?: KeepEnum;
  correction?: CorrectionInputRequest;
  note?: string;
  ruling?: boolean;
}

/** What waits of one source, owner, namespace or predicate. */
export interface CaseGroupAnswer {
  id: string;
  name: string;
  cases: number;
  waiting: number;
  since: string;
  last_at: string;
}

/** Groups, the largest first. */
export interface CaseGroupsAnswer {
  results: Array<CaseGroupAnswer>;
}

export interface CasePage {
  next: string | null;
  previous: string | null;
  results: Array<CaseAnswer>;
}

/** A value that is claimed: whether it stands, who says so how often, and who was told. */
export interface CaseValueAnswer {
  id: string;
  value: string;
  negated: boolean;
  stands: boolean;
  waiting: number;
  chosen: boolean;
  ruled_out: boolean;
  authority: number;
  voices: number;
  repetitions: number;
  first_at: string;
  last_at: string;
  sources: Array<string>;
  owners: Array<string>;
  memories: Array<string>;
  conflicts: Array<string>;
  excerpt: ExcerptAnswer;
  carried: CarriedAnswer;
}

export type CauseEnum = "asked" | "consolidation" | "merge" | "model" | "restore" | "rollback";

/** A fragment just changed, and what that did to others. */
export interface ChangedAnswer {
  id: string;
  namespace: string;
  user: string | null;
  project: string;
  agent_id: string;
  type: TypeEnum;
  content: string;
  key: string | null;
  category: string | null;
  source_type: SourceTypeEnum;
  source_id: string | null;
  source_ids: Array<string>;
  workflow_id: string | null;
  conversation_id: string | null;
  sequence: number | null;
  tags: Array<string>;
  entities: Array<EntityAnswer>;
  topics: Array<string>;
  outcome: OutcomeEnum | null;
  importance: number;
  emotional_valence: number;
  is_pinned: boolean;
  is_anchor: boolean;
  status: StatusEnum;
  archived_reason: string | null;
  tier: TierEnum;
  compression: CompressionEnum;
  base_relevance: number;
  relevance_score: number;
  effective_weight: number;
  access_count: number;
  created_at: string;
  updated_at: string;
  event_at: string | null;
  last_accessed_at: string | null;
  revision: number;
  extra: Record<string, unknown>;
  claim: ClaimAnswer | null;
  claims: Array<ClaimAnswer>;
  provenance: ProvenanceAnswer;
  trust: number;
  confidence: number;
  reinforcements: number;
  disputes: number;
  superseded_by: string | null;
  supersedes: Array<string>;
  links: Array<LinkAnswer>;
  contested: Array<ContestAnswer>;
  embedding: EmbeddingAnswer;
  superseded: Array<string>;
  pending_conflicts: Array<PendingConflictAnswer>;
}

/** A namespace, and the operation that builds its keywords anew where its language is another one. */
export interface ChangedNamespaceAnswer {
  name: string;
  agent: string;
  language: string;
  archive_policy: ArchivePolicyEnum;
  created_at: string;
  operation: string | null;
}

/** What the fragment says, structured. */
export interface ClaimAnswer {
  subject: string;
  predicate: string;
  value: string;
  exclusive: boolean;
  scope: ScopeEnum;
  session_id: string | null;
  valid_from: string | null;
  valid_until: string | null;
  authority: number;
  id: string;
  status: StatusEnum;
  position: number;
  span: Array<number> | null;
  superseded_by: string | null;
  last_seen_at: string;
}

/** What a fragment says, structured. */
export interface ClaimInputRequest {
  subject: string;
  predicate: string;
  value: string;
  exclusive?: boolean | null;
  scope?: ScopeEnum;
  session_id?: string | null;
  valid_from?: string | null;
  valid_until?: string | null;
}

/** Which challengers to reject: those that meet all conditions, of which there has to be one. */
export interface ClearInputRequest {
  namespace?: string;
  subject?: string;
  predicate?: string;
  source?: string;
  owner?: string;
  pattern?: string;
  user?: string;
  all_users?: boolean;
  note?: string;
  dry_run?: boolean;
  after?: string;
}

/** A challenger that could not be rejected, and why. */
export interface ClearRefusal {
  conflict_id: string;
  code: string;
  detail: string;
}

/** What became of it; with `dry_run` only what would be looked at. */
export interface ClearingAnswer {
  dry_run: boolean;
  matched: number;
  cleared: number;
  refused: Array<ClearRefusal>;
  left: number;
  next: string | null;
}

/** Memories that hang together by similar links, the oldest hundred of them first. */
export interface ClusterAnswer {
  id: string;
  namespace: string;
  label: string | null;
  topics: Array<string>;
  size: number;
  members: Array<string>;
  created_at: string;
}

export interface ClusterPage {
  next: string | null;
  previous: string | null;
  results: Array<ClusterAnswer>;
}

/** What the compaction did, and the fragment after it. */
export interface CompactAnswer {
  compacted_count: number;
  skipped_high_weight: number;
  already_compressed: number;
  compacted_ids: Array<string>;
  fragment: FragmentAnswer;
}

/** How much of the text is to be left; `full` gives it back. */
export interface CompactInputRequest {
  user?: string;
  all_users?: boolean;
  level: CompressionEnum;
}

/** A key of which two namespaces believe otherwise. */
export interface ComparedKeyAnswer {
  user: string | null;
  subject: string;
  predicate: string;
  here: Array<BelievedAnswer>;
  there: Array<BelievedAnswer>;
}

/** Of which keys two namespaces believe otherwise. */
export interface ComparisonAnswer {
  namespace: string;
  other: string;
  keys: Array<ComparedKeyAnswer>;
}

export type CompressionEnum = "full" | "summary" | "keywords" | "hash";

/** A newcomer in quarantine and the standing claim that it opposes; for a dispute only the latter. */
export interface ConflictAnswer {
  id: string;
  namespace: string;
  user: string | null;
  kind: ConflictAnswerKindEnum;
  reason: ConflictAnswerReasonEnum;
  status: string;
  revision: number;
  new_id: string | null;
  existing_id: string | null;
  newcomer: SideAnswer | null;
  existing: SideAnswer | null;
  new_claim: ClaimAnswer | null;
  existing_claim: ClaimAnswer | null;
  statement: StatementAnswer | null;
  new_authority: number | null;
  existing_authority: number | null;
  new_trust: number | null;
  existing_trust: number | null;
  created_at: string;
  resolved_at: string | null;
  resolution: ResolutionEnum | null;
  keep: string | null;
  resolved_by: string | null;
  note: string;
  ruling: RulingAnswer | null;
}

export type ConflictAnswerKindEnum = "claim" | "text" | "dispute" | "restore";

export type ConflictAnswerReasonEnum = "authority_insufficient" | "equal_authority_other_owner" | "free_text" | "disputed" | "equal_time_other_content";

export interface ConflictPage {
  next: string | null;
  previous: string | null;
  results: Array<ConflictAnswer>;
}

/** A candidate's way, and the words that found it. */
export interface ConsideredAnswer {
  id: string;
  stage: StageEnum;
  reason: string;
  found_by: Array<FoundByEnum>;
  words_rank: number | null;
  meaning_rank: number | null;
  rank: number | null;
  contradicts: string | null;
  on_record: string | null;
  bm25: number | null;
  cosine: number | null;
  rerank: number | null;
  relevance: number | null;
  terms: Array<TermAnswer>;
}

/** A run, or a dry one. */
export interface ConsolidationAnswer {
  id: string;
  kind: string;
  namespace: string | null;
  options: Record<string, unknown>;
  dry_run: boolean;
  state: OperationStateEnum;
  stage: string;
  done: number;
  total: number | null;
  progress: number | null;
  report: Record<string, unknown> | null;
  error: Record<string, unknown> | null;
  cancel_requested: boolean;
  created_at: string;
  started_at: string | null;
  heartbeat_at: string | null;
  finished_at: string | null;
}

/** A consolidation to start; what is left out takes the default. */
export interface ConsolidationInputRequest {
  user?: string;
  all_users?: boolean;
  namespace: string;
  dry_run?: boolean;
  dedup_threshold?: number;
  corroborate_threshold?: number;
  compress_age_days?: number;
  prune_superseded?: boolean;
  prune_age_days?: number;
  method?: MethodEnum;
  max_memories?: number | null;
  plan_id?: string | null;
  accept_recall_loss?: boolean;
  confirm?: boolean;
}

export interface ConsolidationPage {
  next: string | null;
  previous: string | null;
  results: Array<ConsolidationAnswer>;
}

/** A containment; without an id one that was only looked at. */
export interface ContainmentAnswer {
  id: string | null;
  dry_run: boolean;
  kind: ContainmentAnswerKindEnum;
  target_id: string | null;
  since: string | null;
  count: number;
  extent: ExtentAnswer;
  note: string;
  applied_by: string | null;
  applied_at: string | null;
  undone_by: string | null;
  undone_at: string | null;
}

export type ContainmentAnswerKindEnum = "key" | "owner" | "source" | "content";

/** What is to be set aside: all that a key or an owner wrote, or that comes from a source, or that is a text. */
export interface ContainmentInputRequest {
  key_id?: string;
  owner?: string;
  source_id?: string;
  content?: string;
  since?: string;
  note?: string;
  expected_count?: number;
  dry_run?: boolean;
}

export interface ContainmentPage {
  next: string | null;
  previous: string | null;
  results: Array<ContainmentAnswer>;
}

/** A memory that this one contradicts: one is what a person ruled, the other what the user said since. */
export interface ContestAnswer {
  id: string;
  part: PartEnum;
}

/** The block and how it came about. */
export interface ContextAnswer {
  prompt_prefix: string;
  memories_used: number;
  tokens_used: number;
  truncated: boolean;
  included: Array<string>;
  excluded: Array<ExcludedAnswer>;
  receipt_id: string | null;
  degraded: Array<string>;
  nothing_relevant: boolean;
}

/** A context block for a prompt. Without a `query`, `events`, `goals` and `emotion` make one. */
export interface ContextInputRequest {
  user?: string;
  all_users?: boolean;
  query?: string;
  namespace?: string;
  namespaces?: Array<string>;
  project_wide?: boolean;
  filters?: FilterInputRequest;
  min_similarity?: number;
  floor?: "auto" | number;
  rerank?: boolean | Record<string, unknown>;
  profile?: ProfileEnum;
  session_id?: string;
  as_of?: string;
  model?: string;
  events?: Array<string>;
  goals?: Array<string>;
  emotion?: string;
  max_tokens?: number | null;
  max_memories?: number;
  packing?: PackingEnum;
  ratios?: Record<string, number>;
  format?: FormatEnum;
  include_tombstones?: boolean;
  include_tasks?: number;
}

/** The stronger claim of which a text states another value, or may, and how far that may be believed. */
export interface ContradictedAnswer {
  fragment_id: string;
  subject: string;
  predicate: string;
  value: string;
  authority: number;
}

/** What is true instead of what the newcomer says. */
export interface CorrectionInputRequest {
  content: string;
  value?: string;
}

/** Which source says so too. */
export interface CorroborateInputRequest {
  user?: string;
  all_users?: boolean;
  source_id?: string;
}

/** How many there are. */
export interface CountAnswer {
  count: number;
}

/** What two points differ in. */
export interface DifferenceAnswer {
  since: string;
  until: string;
  keys: Array<KeyDifferenceAnswer>;
  memories: Array<StatusChangeAnswer>;
}

/** Which memories become one. */
export interface DigestInputRequest {
  user?: string;
  all_users?: boolean;
  ids: Array<string>;
  method?: MethodEnum;
}

/** Why it is wrong. */
export interface DisputeInputRequest {
  user?: string;
  all_users?: boolean;
  reason?: string;
}

/** A claim that its namespace believes: source – predicate → target. */
export interface EdgeAnswer {
  source: string;
  predicate: string;
  target: string;
  fragment_id: string;
  namespace: string;
  valid_from: string | null;
  valid_until: string | null;
}

export type EmbedEnum = "now" | "later";

/** Which model embeds the fragment, and whether it has. */
export interface EmbeddingAnswer {
  model: string;
  dim: number;
  state: EmbeddingAnswerStateEnum;
  vector?: Array<number> | null;
}

export type EmbeddingAnswerStateEnum = "ready" | "pending";

/** A question of ATLAS. */
export interface EnrichInputRequest {
  user?: string;
  all_users?: boolean;
  namespace: string;
  query: string;
  top_k?: number;
  floor?: "auto" | number;
  project_wide?: boolean;
}

/** Entities, those with the most mentions first. */
export interface EntitiesAnswer {
  results: Array<NodeAnswer>;
}

/** A named thing in the text. */
export interface EntityAnswer {
  text: string;
  label: string;
  confidence: number;
}

export type EntityLabelEnum = "person" | "organization" | "location" | "misc";

/** A named thing in a text. */
export interface EntityRequest {
  text: string;
  label: EntityLabelEnum;
  confidence?: number;
}

/** Something that was decided or done. */
export interface EntryAnswer {
  kind: EntryAnswerKindEnum;
  at: string;
  id: string;
  namespace: string | null;
  user: string | null;
  owner_id: string | null;
  action: string;
  undoes: string | null;
}

export type EntryAnswerKindEnum = "decision" | "consolidation" | "restore" | "merge" | "fork" | "backup" | "eviction" | "forgetting" | "deletion" | "containment" | "rollback";

export interface EntryPage {
  next: string | null;
  previous: string | null;
  results: Array<EntryAnswer>;
}

/** What belongs together in time. */
export interface EpisodeAnswer {
  id: string;
  namespace: string;
  conversation_id: string | null;
  title: string;
  size: number;
  began_at: string;
  ended_at: string;
}

/** An episode to make. */
export interface EpisodeInputRequest {
  user?: string;
  all_users?: boolean;
  namespace: string;
  title?: string;
  ids: Array<string>;
}

export interface EpisodePage {
  next: string | null;
  previous: string | null;
  results: Array<EpisodeAnswer>;
}

/** A change: when, by whom, what the fragment was after it. */
export interface EventAnswer {
  at: string;
  kind: string;
  who: Record<string, unknown> | null;
  revision: number;
  status: string;
  importance: number;
  base_relevance: number;
  is_pinned: boolean;
}

/** Some words of the strongest memory that says a value. */
export interface ExcerptAnswer {
  fragment_id: string;
  text: string;
}

/** A memory that was left out, and why: `budget`, `max_memories`, `rival` or `contradicts` (of a stronger claim). */
export interface ExcludedAnswer {
  id: string;
  reason: string;
  value: number;
}

/** Where the way of the expected fragment ended, and why. */
export interface ExpectedAnswer {
  id: string;
  stage: StageEnum;
  reason: string;
  found_by: Array<FoundByEnum>;
  words_rank: number | null;
  meaning_rank: number | null;
  rank: number | null;
  contradicts: string | null;
  on_record: string | null;
  bm25: number | null;
  cosine: number | null;
  rerank: number | null;
  relevance: number | null;
  status?: string;
  filters?: Array<string>;
  embedding?: string;
}

/** What the question was read as, how each namespace was searched, and every candidate's way. */
export interface ExplanationAnswer {
  query: string;
  query_keys: Array<string>;
  search_types: Array<string>;
  phrases: Array<string>;
  parts: Array<string>;
  speakers: Array<string>;
  period: Array<string> | null;
  ways: Record<string, string>;
  floor: number | null;
  candidates: Array<ConsideredAnswer>;
}

/** What a containment reaches. */
export interface ExtentAnswer {
  written: ReachedAnswer;
  derived: ReachedAnswer;
  upheld: ReachedAnswer;
  repeated: ReachedAnswer;
  restored: ReachedAnswer;
  released: ReachedAnswer;
  votes: number;
  decisions: Array<string>;
  keys: Array<string>;
  answers: CarriedAnswer;
}

/** Where the tasks of an answer come from: `source` is database, or none when nobody knows of any. */
export interface FetchAnswer {
  source: string;
  fetched_at: string;
  latency_ms: number;
  cache_hit: boolean;
}

/** Conditions: within one "one of these", all of them together. */
export interface FilterInputRequest {
  type?: Array<TypeEnum>;
  source_type?: Array<SourceTypeEnum>;
  tier?: Array<TierEnum>;
  outcome?: Array<OutcomeEnum>;
  status_filter?: Array<StatusEnum>;
  agent?: Array<string>;
  tags?: Array<string>;
  conversation_id?: string;
  workflow_id?: string;
  since?: string;
  until?: string;
  event_since?: string;
  event_until?: string;
  min_relevance?: number;
  min_weight?: number;
  include_all?: boolean;
}

/** What was forgotten, or would be. */
export interface ForgetAnswer {
  count: number;
  ids: Array<string>;
  digests: number;
  restored_ids: Array<string>;
  backups: Array<Record<string, unknown>>;
  dry_run: boolean;
  operation: OperationAnswer | null;
}

/** What is to be forgotten: the filters of a search, here or under `filters`, and ids; how many that are. */
export interface ForgetInputRequest {
  type?: Array<TypeEnum>;
  source_type?: Array<SourceTypeEnum>;
  tier?: Array<TierEnum>;
  outcome?: Array<OutcomeEnum>;
  status_filter?: Array<StatusEnum>;
  agent?: Array<string>;
  tags?: Array<string>;
  conversation_id?: string;
  workflow_id?: string;
  since?: string;
  until?: string;
  event_since?: string;
  event_until?: string;
  min_relevance?: number;
  min_weight?: number;
  include_all?: boolean;
  user?: string;
  all_users?: boolean;
  namespace: string;
  ids?: Array<string>;
  filters?: FilterInputRequest;
  content?: string;
  expected_count?: number;
  dry_run?: boolean;
  purge_backups?: boolean;
  everywhere?: boolean;
}

/** The branch that begins; without a user it takes along all of them. */
export interface ForkInputRequest {
  user?: string;
  all_users?: boolean;
  target: string;
}

export type FormatEnum = "markdown" | "xml";

/** A former text of a memory. */
export interface FormerTextAnswer {
  revision: number;
  content: string;
  recorded_at: string;
  fragment_id: string;
}

export type FoundByEnum = "words" | "meaning" | "neighbour" | "claim" | "instruction" | "source" | "part";

/** A fragment as the API shows it (docs/spec.md §3). */
export interface FragmentAnswer {
  id: string;
  namespace: string;
  user: string | null;
  project: string;
  agent_id: string;
  type: TypeEnum;
  content: string;
  key: string | null;
  category: string | null;
  source_type: SourceTypeEnum;
  source_id: string | null;
  source_ids: Array<string>;
  workflow_id: string | null;
  conversation_id: string | null;
  sequence: number | null;
  tags: Array<string>;
  entities: Array<EntityAnswer>;
  topics: Array<string>;
  outcome: OutcomeEnum | null;
  importance: number;
  emotional_valence: number;
  is_pinned: boolean;
  is_anchor: boolean;
  status: StatusEnum;
  archived_reason: string | null;
  tier: TierEnum;
  compression: CompressionEnum;
  base_relevance: number;
  relevance_score: number;
  effective_weight: number;
  access_count: number;
  created_at: string;
  updated_at: string;
  event_at: string | null;
  last_accessed_at: string | null;
  revision: number;
  extra: Record<string, unknown>;
  claim: ClaimAnswer | null;
  claims: Array<ClaimAnswer>;
  provenance: ProvenanceAnswer;
  trust: number;
  confidence: number;
  reinforcements: number;
  disputes: number;
  superseded_by: string | null;
  supersedes: Array<string>;
  links: Array<LinkAnswer>;
  contested: Array<ContestAnswer>;
  embedding: EmbeddingAnswer;
}

/** Up to a thousand fragments, stored together or not at all. */
export interface FragmentBatchRequest {
  user?: string;
  all_users?: boolean;
  fragments: Array<FragmentInputRequest>;
  embed?: EmbedEnum;
}

/** One fragment to store. */
export interface FragmentInputRequest {
  type?: TypeEnum;
  category?: string;
  tags?: Array<string>;
  topics?: Array<string>;
  entities?: Array<EntityRequest>;
  outcome?: OutcomeEnum | NullEnum | null;
  importance?: number;
  emotional_valence?: number;
  is_pinned?: boolean;
  is_anchor?: boolean;
  workflow_id?: string;
  event_at?: string | null;
  extra?: unknown;
  namespace?: string;
  user?: string;
  project_id?: string;
  agent_id?: string;
  content: string;
  key?: string;
  source_type?: SourceTypeEnum;
  source_id?: string;
  conversation_id?: string;
  sequence?: number | null;
  provenance?: ProvenanceRequest;
  claim?: ClaimInputRequest | null;
  claims?: Array<ClaimInputRequest>;
  extract_claim?: boolean;
}

export interface FragmentPage {
  next: string | null;
  previous: string | null;
  results: Array<FragmentAnswer>;
}

export type FragmentPageOrCount = FragmentPage | CountAnswer;

/** What surrounds an entity. */
export interface GraphAnswer {
  entity: string;
  nodes: Array<NodeAnswer>;
  edges: Array<EdgeAnswer>;
  fragments: Array<string>;
  truncated: boolean;
}

/** How well the memory does its work. */
export interface HealthReportAnswer {
  claims: ShareAnswer;
  protected: ShareAnswer;
  digested: ShareAnswer;
  digests: number;
  nothing_found: ShareAnswer;
  superseded: number;
  supersessions: Array<SilentSupersessionAnswer>;
  conflicts_by_age: Record<string, number>;
  last_drill_at: string | null;
  are_backups_proven: boolean;
}

/** What happened to a fragment, oldest first. */
export interface HistoryAnswer {
  revisions: Array<RevisionAnswer>;
  events: Array<EventAnswer>;
  rulings: Array<RulingMarkAnswer>;
}

/** A fragment that answers, with its score and what the score is made of. */
export interface HitAnswer {
  id: string;
  namespace: string;
  user: string | null;
  project: string;
  agent_id: string;
  type: TypeEnum;
  content: string;
  key: string | null;
  category: string | null;
  source_type: SourceTypeEnum;
  source_id: string | null;
  source_ids: Array<string>;
  workflow_id: string | null;
  conversation_id: string | null;
  sequence: number | null;
  tags: Array<string>;
  entities: Array<EntityAnswer>;
  topics: Array<string>;
  outcome: OutcomeEnum | null;
  importance: number;
  emotional_valence: number;
  is_pinned: boolean;
  is_anchor: boolean;
  status: StatusEnum;
  archived_reason: string | null;
  tier: TierEnum;
  compression: CompressionEnum;
  base_relevance: number;
  relevance_score: number;
  effective_weight: number;
  access_count: number;
  created_at: string;
  updated_at: string;
  event_at: string | null;
  last_accessed_at: string | null;
  revision: number;
  extra: Record<string, unknown>;
  claim: ClaimAnswer | null;
  claims: Array<ClaimAnswer>;
  provenance: ProvenanceAnswer;
  trust: number;
  confidence: number;
  reinforcements: number;
  disputes: number;
  superseded_by: string | null;
  supersedes: Array<string>;
  links: Array<LinkAnswer>;
  contested: Array<ContestAnswer>;
  embedding: EmbeddingAnswer;
  score: number;
  ranking_signals: Record<string, number>;
  contradicts: ContradictedAnswer | null;
  on_record: ContradictedAnswer | null;
}

/** What was stored and what was skipped. */
export interface IngestAnswer {
  stored: Array<StoredAnswer>;
  skipped: Array<SkippedAnswer>;
}

/** A conversation or a text. */
export interface IngestInputRequest {
  user?: string;
  all_users?: boolean;
  namespace: string;
  messages?: Array<MessageInputRequest>;
  text?: string;
  source?: string;
  conversation_id?: string;
}

export type KeepEnum = "pair" | "period" | "predicate";

/** A check that was kept. */
export interface KeptCheckAnswer {
  id: string;
  namespace: string;
  name: string;
  question: string;
  memory: string | null;
  text: string | null;
  value: string | null;
  top_k: number;
  note: string;
  passed: boolean | null;
  place: number | null;
  run_at: string | null;
  created_at: string;
  updated_at: string;
  replaced: boolean;
}

/** A task as it was reported last. */
export interface KeptTaskAnswer {
  id: string;
  namespace: string;
  title: string;
  status: TaskStatusEnum;
  summary: string;
  updated_at: string;
}

/** A key of which something else is believed. */
export interface KeyDifferenceAnswer {
  namespace: string;
  user: string | null;
  subject: string;
  predicate: string;
  before: Array<BelievedAnswer>;
  after: Array<BelievedAnswer>;
}

/** A claim on a key and all that was ever believed of it. */
export interface LifeAnswer {
  subject: string;
  predicate: string;
  value: string;
  exclusive: boolean;
  scope: ScopeEnum;
  session_id: string | null;
  valid_from: string | null;
  valid_until: string | null;
  authority: number;
  fragment_id: string;
  namespace: string;
  user: string | null;
  source: SourceEnum;
  owner: string | null;
  owner_id: string | null;
  status: StatusEnum;
  recorded_at: string;
  ruling: RulingMarkAnswer | null;
  superseded_by: string | null;
  moved: boolean;
  beliefs: Array<BeliefAnswer>;
  rulings: Array<RulingMarkAnswer>;
}

export interface LifePage {
  next: string | null;
  previous: string | null;
  results: Array<LifeAnswer>;
}

/** What was lifted. */
export interface LiftAnswer {
  lifted: number;
}

/** Which text may be said again, and where. */
export interface LiftInputRequest {
  user?: string;
  all_users?: boolean;
  content: string;
  namespace?: string;
}

/** A link to another fragment. */
export interface LinkAnswer {
  id: string;
  kind: LinkAnswerKindEnum;
  similarity: number;
}

export type LinkAnswerKindEnum = "similar" | "supersedes" | "digest_of" | "digested_into" | "related";

/** A build's log entry. */
export interface LogInputRequest {
  id: string;
  summary: string;
  status: string;
  agent?: string;
  tags?: Array<string>;
  at?: string;
}

/** Where the branch's writes go; without a user those of all its users. */
export interface MergeInputRequest {
  user?: string;
  all_users?: boolean;
  target: string;
  dry_run?: boolean;
  plan_id?: string;
  only?: Array<string>;
  accept_recall_loss?: boolean;
}

/** One turn of a conversation. */
export interface MessageInputRequest {
  role: RoleEnum;
  content: string;
  at?: string | null;
  id?: string;
}

export type MethodEnum = "extractive" | "llm";

/** A model; `embedder` says whether this process has it at hand. */
export interface ModelAnswer {
  id: string;
  name: string;
  provider: string;
  dim: number;
  state: ModelStateEnum;
  floor: number | null;
  embedder: string;
  created_at: string;
}

/** With how many of the project's fragments have a vector of it. */
export interface ModelDetails {
  id: string;
  name: string;
  provider: string;
  dim: number;
  state: ModelStateEnum;
  floor: number | null;
  embedder: string;
  created_at: string;
  fragments: number;
  missing: number;
}

export interface ModelPage {
  next: string | null;
  previous: string | null;
  results: Array<ModelAnswer>;
}

export type ModelStateEnum = "building" | "ready" | "active" | "retired";

/** A memory by its caller's own name for it. */
export interface NamedInputRequest {
  user?: string;
  all_users?: boolean;
  namespace: string;
  key: string;
}

/** A namespace. */
export interface NamespaceAnswer {
  name: string;
  agent: string;
  language: string;
  archive_policy: ArchivePolicyEnum;
  created_at: string;
}

/** A namespace to make. */
export interface NamespaceInputRequest {
  name: string;
  language?: string;
}

export interface NamespacePage {
  next: string | null;
  previous: string | null;
  results: Array<NamespaceAnswer>;
}

/** A webhook that was made. */
export interface NewWebhookAnswer {
  id: string;
  url: string;
  kinds: Array<AnnouncementAnswerKindEnum>;
  namespace?: string | null;
  enabled: boolean;
  failures: number;
  failing_since: string | null;
  last_error: string;
  delivered_at: string | null;
  created_at: string;
  secret: string;
}

/** What happened, oldest first, and the cursor to read on from. */
export interface NewsAnswer {
  next: string;
  previous: string | null;
  results: Array<AnnouncementAnswer>;
}

/** An entity: its most frequent spelling and kind, and how many memories mention it. */
export interface NodeAnswer {
  id: string;
  name: string;
  label: NodeAnswerLabelEnum;
  mentions: number;
}

export type NodeAnswerLabelEnum = "person" | "organization" | "location" | "misc";

/** A pattern of the vault. */
export interface NodeInputRequest {
  id: string;
  content: string;
  confidence: number;
  tags?: Array<string>;
}

export type NormaliserEnum = "text" | "money" | "date" | "boolean" | "number";

/** What was written on a memory, or on a decision about it; not by whom. */
export interface NoteAnswer {
  kind: NoteAnswerKindEnum;
  fragment_id: string | null;
  note: string;
  at: string;
}

export type NoteAnswerKindEnum = "vote" | "conflict" | "ruling";

/** A body without fields. */
export interface NothingRequest {
  user?: string;
  all_users?: boolean;
}

/** That an answer carried a memory which is not any more, or is again, what it was then. */
export interface NoticeAnswer {
  id: string;
  reason: NoticeAnswerReasonEnum;
  fragment_id: string;
  claim_id: string | null;
  superseded_by: string | null;
  status: StatusEnum | NullEnum | null;
  receipt_id: string;
  namespace: string;
  user: string | null;
  key_id: string | null;
  told_at: string;
  created_at: string;
}

export type NoticeAnswerReasonEnum = "superseded" | "ruled_out" | "disputed" | "contained" | "restored";

/** A page of notices, and what to ask with for those that come after all of its pages. */
export interface NoticePage {
  next: string | null;
  previous: string | null;
  bookmark: string;
  results: Array<NoticeAnswer>;
}

export type NullEnum = null;

/** A long job. */
export interface OperationAnswer {
  id: string;
  kind: string;
  namespace: string | null;
  options: Record<string, unknown>;
  dry_run: boolean;
  state: OperationStateEnum;
  stage: string;
  done: number;
  total: number | null;
  progress: number | null;
  report: Record<string, unknown> | null;
  error: Record<string, unknown> | null;
  cancel_requested: boolean;
  created_at: string;
  started_at: string | null;
  heartbeat_at: string | null;
  finished_at: string | null;
}

export type OperationInputKindEnum = "archive" | "backup" | "compact" | "consolidate" | "drill" | "evict" | "evolve" | "pack" | "rebuild" | "restore" | "tier" | "verify";

/** A job to start. */
export interface OperationInputRequest {
  user?: string;
  all_users?: boolean;
  kind: OperationInputKindEnum;
  namespace?: string;
  options?: unknown;
  dry_run?: boolean;
}

export interface OperationPage {
  next: string | null;
  previous: string | null;
  results: Array<OperationAnswer>;
}

export type OperationStateEnum = "queued" | "running" | "succeeded" | "failed" | "cancelled";

/** Where a proposal comes from: who judged it, and the calls that it was made by. */
export interface OriginAnswer {
  judge: string;
  calls: Array<CallAnswer>;
}

export type OriginEnum = "asked" | "scheduled" | "safety" | "sync" | "uploaded";

export type OutcomeEnum = "positive" | "negative" | "neutral";

/** What is to be packed. */
export interface PackInputRequest {
  user?: string;
  all_users?: boolean;
  namespace: string;
  recipients?: Array<string>;
}

export type PackingEnum = "density" | "priority";

export type PartEnum = "user" | "ruling";

/** What is to change; `revision` is the one that was read. */
export interface PatchedFragmentChangeRequest {
  type?: TypeEnum;
  category?: string;
  tags?: Array<string>;
  topics?: Array<string>;
  entities?: Array<EntityRequest>;
  outcome?: OutcomeEnum | NullEnum | null;
  importance?: number;
  emotional_valence?: number;
  is_pinned?: boolean;
  is_anchor?: boolean;
  workflow_id?: string;
  event_at?: string | null;
  extra?: unknown;
  user?: string;
  all_users?: boolean;
  content?: string;
  claim?: ClaimInputRequest | null;
  claims?: Array<ClaimInputRequest>;
  revision?: number;
}

/** What to call a cluster; null takes the label away. */
export interface PatchedLabelInputRequest {
  user?: string;
  all_users?: boolean;
  label?: string | null;
}

/** What is to change of a namespace. */
export interface PatchedNamespaceChangeRequest {
  name?: string;
  archive_policy?: ArchivePolicyEnum;
  language?: string;
}

/** What is to change of the predicate of that name. */
export interface PatchedPredicateChangeRequest {
  exclusive?: boolean;
  cardinality?: CardinalityEnum;
  aliases?: Array<string>;
  normaliser?: NormaliserEnum;
  policy?: PredicatePolicyEnum;
  newer_wins?: boolean;
  revision?: number;
  namespace?: string;
  name?: string;
}

/** What is to change; `revision` is the one that was read. */
export interface PatchedRuleChangeRequest {
  exclusive?: boolean;
  cardinality?: CardinalityEnum;
  aliases?: Array<string>;
  normaliser?: NormaliserEnum;
  policy?: PredicatePolicyEnum;
  newer_wins?: boolean;
  revision?: number;
}

/** Whether to send. */
export interface PatchedWebhookChangeRequest {
  enabled?: boolean;
}

/** A pattern that was learnt. */
export interface PatternInputRequest {
  user?: string;
  all_users?: boolean;
  namespace: string;
  provenance?: ProvenanceRequest;
  node: NodeInputRequest;
}

/** A conflict that a new fragment opened. */
export interface PendingConflictAnswer {
  id: string;
  existing_id: string | null;
  reason: string;
  new_authority: number | null;
  existing_authority: number | null;
  new_trust: number | null;
  existing_trust: number | null;
}

/** How full a project or a tier is; a limit of 0 is none. */
export interface PlaceAnswer {
  ratio: number;
  status: CapacityStatusEnum;
  fragments: number;
  limit: number;
}

export type PolicyEnum = "full" | "identity";

/** A predicate's rule; a built-in one has no id, namespace, revision or times. */
export interface PredicateAnswer {
  id: string | null;
  namespace: string | null;
  name: string;
  cardinality: CardinalityEnum;
  exclusive: boolean;
  aliases: Array<string>;
  normaliser: NormaliserEnum;
  policy: PredicatePolicyEnum;
  newer_wins: boolean;
  revision: number | null;
  created_at: string | null;
  updated_at: string | null;
}

/** A predicate to register. */
export interface PredicateInputRequest {
  exclusive?: boolean;
  cardinality?: CardinalityEnum;
  aliases?: Array<string>;
  normaliser?: NormaliserEnum;
  policy?: PredicatePolicyEnum;
  newer_wins?: boolean;
  namespace: string;
  name: string;
}

export interface PredicatePage {
  next: string | null;
  previous: string | null;
  results: Array<PredicateAnswer>;
}

export type PredicatePolicyEnum = "review" | "newest" | "keep_both";

/** How full it is, how many would leave now, and who would be the first. */
export interface PreviewAnswer {
  capacity: CapacityAnswer;
  would_evict: number;
  results: Array<CandidateAnswer>;
}

/** What went wrong (RFC 9457). */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  code: string;
  errors: Array<Record<string, unknown>>;
  request_id: string;
}

export type ProfileEnum = "balanced" | "hindsight" | "relevance" | "weighted";

/** How many backups there are, and how old the last that was proven by a drill is. */
export interface ProofsAnswer {
  count: number;
  bytes: number;
  last_backup_at: string | null;
  last_drill_at: string | null;
  last_drill_age_seconds: number | null;
}

/** A task that somebody is stuck with. */
export interface ProposalInputRequest {
  user?: string;
  all_users?: boolean;
  namespace: string;
  task_id: string;
  context: string | Record<string, unknown>;
}

export type ProposalOutcomeEnum = "allowed" | "blocked" | "reduction_error" | "advisory_only" | "skipped_no_reduction_client" | "llm_returned_null";

/** How much history is kept. */
export interface ProposalStatsAnswer {
  total_entries: number;
  task_count: number;
  reduction_client: string | null;
}

/** Whether it stays. */
export interface ProtectInputRequest {
  protected?: boolean;
}

/** Where the fragment comes from and how far that may be believed. */
export interface ProvenanceAnswer {
  source: SourceEnum;
  source_id: string | null;
  authority: number;
  owner: string | null;
  corroboration: number;
  trust: number;
  parents: Array<string>;
}

/** Where a fragment comes from. */
export interface ProvenanceRequest {
  source: SourceEnum;
  source_id?: string;
  parents?: Array<string>;
}

/** Memories, by their number and the first hundred. */
export interface ReachedAnswer {
  count: number;
  ids: Array<string>;
}

/** A check, and how its last run went. */
export interface RecallCheckAnswer {
  id: string;
  namespace: string;
  name: string;
  question: string;
  memory: string | null;
  text: string | null;
  value: string | null;
  top_k: number;
  note: string;
  passed: boolean | null;
  place: number | null;
  run_at: string | null;
  created_at: string;
  updated_at: string;
}

/** A check to keep: a question, and one of memory, text and value. */
export interface RecallCheckInputRequest {
  user?: string;
  all_users?: boolean;
  namespace: string;
  name?: string;
  question: string;
  memory?: string;
  text?: string;
  value?: string;
  top_k?: number;
  note?: string;
}

export interface RecallCheckPage {
  next: string | null;
  previous: string | null;
  results: Array<RecallCheckAnswer>;
}

/** All checks as a file. */
export interface RecallFileAnswer {
  yaml: string;
}

/** A file of checks. */
export interface RecallFileInputRequest {
  user?: string;
  all_users?: boolean;
  yaml: string;
}

/** How many checks a file added, and how many it replaced. */
export interface RecallKeptAnswer {
  added: number;
  replaced: number;
}

/** A run: why, how many passed, which failed, and which of these had passed before. */
export interface RecallRunAnswer {
  id: string;
  namespace: string | null;
  cause: CauseEnum;
  operation_id: string | null;
  created_at: string;
  took_ms: number;
  passed: number;
  failed: Array<string>;
  lost: Array<string>;
}

/** What to run: the checks of a namespace, or all. */
export interface RecallRunInputRequest {
  user?: string;
  all_users?: boolean;
  namespace?: string;
}

export interface RecallRunPage {
  next: string | null;
  previous: string | null;
  results: Array<RecallRunAnswer>;
}

/** A task: a title of at most 120 characters, a summary of at most 200. */
export interface RecentTaskAnswer {
  id: string;
  namespace: string;
  title: string;
  status: TaskStatusEnum;
  summary: string;
  updated_at: string;
}

/** Recent tasks, the latest first. */
export interface RecentTasksAnswer {
  tasks: Array<RecentTaskAnswer>;
  provenance: FetchAnswer;
}

/** A pattern that proved itself. */
export interface ReinforcementInputRequest {
  user?: string;
  all_users?: boolean;
  namespace: string;
  node_id: string;
}

/** Why. */
export interface ReinstateInputRequest {
  user?: string;
  all_users?: boolean;
  note?: string;
}

/** The decisions, one for each claim that had lost. */
export interface ReinstatedAnswer {
  conflicts: Array<ConflictAnswer>;
}

/** How a conflict of tastes was resolved. */
export interface ResolutionBodyRequest {
  id: string;
  content: string;
  steps?: Array<string>;
  confidence: number;
}

export type ResolutionEnum = "supersede" | "reject" | "keep_both" | "obsolete";

/** A resolution. */
export interface ResolutionInputRequest {
  user?: string;
  all_users?: boolean;
  namespace: string;
  provenance?: ProvenanceRequest;
  resolution: ResolutionBodyRequest;
}

/** A decision, on the revision that was seen. */
export interface ResolveInputRequest {
  user?: string;
  all_users?: boolean;
  action: ActionEnum;
  revision: number;
  keep?: KeepEnum;
  note?: string;
  ruling?: boolean;
  protect?: boolean;
  correction?: CorrectionInputRequest;
}

/** A restore, or the plan of one. */
export interface RestoreAnswer {
  id: string;
  kind: string;
  namespace: string | null;
  options: Record<string, unknown>;
  dry_run: boolean;
  state: OperationStateEnum;
  stage: string;
  done: number;
  total: number | null;
  progress: number | null;
  report: Record<string, unknown> | null;
  error: Record<string, unknown> | null;
  cancel_requested: boolean;
  created_at: string;
  started_at: string | null;
  heartbeat_at: string | null;
  finished_at: string | null;
}

/** A restore to start: of a backup that is here. */
export interface RestoreInputRequest {
  backup_id: string;
  dry_run?: boolean;
  trust_signer?: string;
  allow_version?: boolean;
  plan_id?: string;
  into?: string;
  namespace?: string;
  accept_recall_loss?: boolean;
}

export interface RestorePage {
  next: string | null;
  previous: string | null;
  results: Array<RestoreAnswer>;
}

/** What was learnt. */
export interface RetrospectiveInputRequest {
  user?: string;
  all_users?: boolean;
  namespace: string;
  provenance?: ProvenanceRequest;
  insights: Array<string>;
}

/** A former text. */
export interface RevisionAnswer {
  revision: number;
  content: string;
  recorded_at: string;
}

export type RoleEnum = "user" | "assistant" | "tool" | "system";

/** Which namespace, and to when. */
export interface RollbackInputRequest {
  user?: string;
  all_users?: boolean;
  namespace: string;
  to: string;
  dry_run?: boolean;
  plan_id?: string;
  accept_recall_loss?: boolean;
}

/** A value that was chosen or ruled out, by the memory that says it. */
export interface RuledAnswer {
  fragment_id: string;
  value: string | null;
}

/** What a decision left: the values it chose and ruled out, who decided, when and why. */
export interface RulingAnswer {
  id: string;
  namespace: string;
  user: string | null;
  conflict_id: string | null;
  fragment_id: string | null;
  scope: string;
  session_id: string;
  valid_from: string | null;
  valid_until: string | null;
  chosen: Array<RuledAnswer>;
  ruled_out: Array<RuledAnswer>;
  authority: number;
  by: string | null;
  decided_by: string | null;
  at: string;
  note: string;
  edited: boolean;
  repeats: number;
  repeated_at: string | null;
}

/** A ruling as one memory sees it: whether it chose what that says; `until` null means that it is in force. */
export interface RulingMarkAnswer {
  id: string;
  conflict_id: string | null;
  decision: RulingMarkAnswerDecisionEnum;
  authority: number;
  by: string | null;
  decided_by: string | null;
  at: string;
  until: string | null;
  note: string;
}

export type RulingMarkAnswerDecisionEnum = "chosen" | "ruled_out";

export interface RulingPage {
  next: string | null;
  previous: string | null;
  results: Array<RulingAnswer>;
}

export type ScopeEnum = "global" | "session" | "temporal";

/** The hits, best first. */
export interface SearchAnswer {
  results: Array<HitAnswer>;
  took_ms: Record<string, number>;
  degraded: Array<string>;
  nothing_relevant: boolean;
  explanation?: ExplanationAnswer;
  expected?: ExpectedAnswer;
}

/** An answer per search, in order. */
export interface SearchBatchAnswer {
  answers: Array<SearchAnswer>;
}

/** Several searches. */
export interface SearchBatchInputRequest {
  user?: string;
  all_users?: boolean;
  searches: Array<SearchInputRequest>;
}

/** A search. */
export interface SearchInputRequest {
  user?: string;
  all_users?: boolean;
  query: string;
  namespace?: string;
  namespaces?: Array<string>;
  project_wide?: boolean;
  filters?: FilterInputRequest;
  min_similarity?: number;
  floor?: "auto" | number;
  rerank?: boolean | Record<string, unknown>;
  profile?: ProfileEnum;
  session_id?: string;
  as_of?: string;
  model?: string;
  top_k?: number;
  explain?: boolean;
  expect?: string;
}

/** So many of so many. */
export interface ShareAnswer {
  number: number;
  of: number;
  share: number | null;
}

/** With its provenance. */
export interface ShownProposal {
  id: string;
  namespace: string;
  task_id: string;
  kind: ShownProposalKindEnum;
  outcome: ProposalOutcomeEnum;
  reasons: Array<string>;
  proposal: Record<string, unknown> | null;
  about: Array<string>;
  fragment_id: string | null;
  waiting: boolean;
  decision: ShownProposalDecisionEnum | BlankEnum;
  decided_at: string | null;
  created_at: string;
  provenance: OriginAnswer;
}

export type ShownProposalDecisionEnum = "accepted" | "dismissed";

export type ShownProposalKindEnum = "option" | "claim" | "digest" | "supersession";

export interface ShownProposalPage {
  next: string | null;
  previous: string | null;
  results: Array<ShownProposal>;
}

/** One side of a conflict. */
export interface SideAnswer {
  id: string;
  content: string;
  status: string;
  source: string;
  agent_id: string;
  owner: string | null;
  created_at: string;
  corroboration: number;
  reinforcements: number;
  disputes: number;
  claim: ClaimAnswer | null;
}

/** A memory that yielded to another one without a person. */
export interface SilentSupersessionAnswer {
  id: string;
  superseded_by: string;
  at: string;
  can_be_undone: boolean;
}

/** A message that was not kept. */
export interface SkippedAnswer {
  index: number;
  reason: string;
}

export type SourceEnum = "user_explicit" | "system" | "tool_output" | "user_implicit" | "document" | "inference";

export type SourceTypeEnum = "task" | "atlas" | "taste-vault" | "retrospective" | "manual" | "conversation" | "document" | "bridge" | "digest" | "file" | "web";

export type StageEnum = "unknown" | "namespace" | "status" | "reach" | "filters" | "candidates" | "min_similarity" | "relevance_score" | "floor" | "spoken" | "rivals" | "share" | "top_k" | "gone" | "answered";

/** What a free text was read as. */
export interface StatementAnswer {
  subject: string;
  predicate: string;
  value: string;
  negated: boolean;
}

/** Counts of fragments. */
export interface StatsAnswer {
  total: number;
  users: number;
  by_status: Record<string, number>;
  by_tier: Record<string, number>;
  by_type: Record<string, number>;
  pending_embeddings: number;
  pending_conflicts: number;
  storage_bytes: number;
  tier_bytes: Record<string, number>;
  capacity: CapacityAnswer;
  backups: ProofsAnswer;
}

/** How many memories went from a status to another. */
export interface StatusChangeAnswer {
  before: StatusEnum | NullEnum | null;
  after: StatusEnum | NullEnum | null;
  count: number;
}

export type StatusEnum = "active" | "superseded" | "disputed" | "quarantined" | "archived";

/** A fragment just stored, and what that did to others. */
export interface StoredAnswer {
  id: string;
  namespace: string;
  user: string | null;
  project: string;
  agent_id: string;
  type: TypeEnum;
  content: string;
  key: string | null;
  category: string | null;
  source_type: SourceTypeEnum;
  source_id: string | null;
  source_ids: Array<string>;
  workflow_id: string | null;
  conversation_id: string | null;
  sequence: number | null;
  tags: Array<string>;
  entities: Array<EntityAnswer>;
  topics: Array<string>;
  outcome: OutcomeEnum | null;
  importance: number;
  emotional_valence: number;
  is_pinned: boolean;
  is_anchor: boolean;
  status: StatusEnum;
  archived_reason: string | null;
  tier: TierEnum;
  compression: CompressionEnum;
  base_relevance: number;
  relevance_score: number;
  effective_weight: number;
  access_count: number;
  created_at: string;
  updated_at: string;
  event_at: string | null;
  last_accessed_at: string | null;
  revision: number;
  extra: Record<string, unknown>;
  claim: ClaimAnswer | null;
  claims: Array<ClaimAnswer>;
  provenance: ProvenanceAnswer;
  trust: number;
  confidence: number;
  reinforcements: number;
  disputes: number;
  superseded_by: string | null;
  supersedes: Array<string>;
  links: Array<LinkAnswer>;
  contested: Array<ContestAnswer>;
  embedding: EmbeddingAnswer;
  superseded: Array<string>;
  pending_conflicts: Array<PendingConflictAnswer>;
  deduplicated: boolean;
  replaced: boolean;
}

/** A stored fragment for each part of an event. */
export interface StoredList {
  results: Array<StoredAnswer>;
}

export type StoredOrBlocked = StoredAnswer | BlockedAnswer;

/** What the vault is working on. */
export interface SupplementInputRequest {
  user?: string;
  all_users?: boolean;
  namespace: string;
  context: string;
  limit?: number;
  floor?: "auto" | number;
  project_wide?: boolean;
}

/** What they mean here; never empty. */
export interface TagsAnswer {
  tags: Array<TagsEnum>;
}

export type TagsEnum = "api" | "architecture" | "atlas" | "bug" | "build" | "configuration" | "data" | "dependency" | "deployment" | "documentation" | "interface" | "performance" | "refactoring" | "security" | "testing" | "tooling";

/** Semantic tags of a code node. */
export interface TagsInputRequest {
  tags: Array<string>;
}

/** A reported task; `proposing`: it failed so often that a proposal was queued. */
export interface TaskAnswer {
  id: string;
  namespace: string;
  title: string;
  status: TaskStatusEnum;
  summary: string;
  updated_at: string;
  fragment_id: string | null;
  proposing: boolean;
}

/** A task as it stands. */
export interface TaskInputRequest {
  user?: string;
  all_users?: boolean;
  namespace?: string;
  id: string;
  title: string;
  status: TaskStatusEnum;
  summary?: string;
  updated_at?: string;
}

export type TaskStatusEnum = "active" | "completed" | "failed";

/** A word of the question in a candidate: how often, its part of the BM25, the candidate's rank by it. */
export interface TermAnswer {
  term: string;
  times: number;
  bm25: number;
  rank: number;
}

/** Where the fragment is, and where it is to be. */
export interface TierChangeRequest {
  user?: string;
  all_users?: boolean;
  from: TierEnum;
  to: TierEnum;
}

export type TierEnum = "hot" | "warm" | "cold";

/** What somebody called memories that belong together. */
export interface TitleAnswer {
  title: string;
  fragment_ids: Array<string>;
}

/** What remains of a memory that left; never its text. */
export interface TombstoneAnswer {
  id: string;
  namespace: string;
  original_id: string;
  evicted_at: string;
  topics: Array<string>;
  participants: Array<string>;
  approximate_date: string | null;
  reason: TombstoneAnswerReasonEnum;
  reason_details: Record<string, unknown>;
  sentence: string;
  restorable: boolean;
}

export type TombstoneAnswerReasonEnum = "storage_pressure" | "low_weight" | "superseded" | "manual_deletion";

export interface TombstonePage {
  next: string | null;
  previous: string | null;
  results: Array<TombstoneAnswer>;
}

export type TypeEnum = "episodic" | "semantic" | "procedural";

/** A restore to start: of a file that is sent along. */
export interface UploadInputRequest {
  upload: string;
  dry_run?: boolean;
  trust_signer?: string;
  allow_version?: boolean;
  into?: string;
  namespace?: string;
  accept_recall_loss?: boolean;
}

/** A user, and what is kept of them. */
export interface UserAnswer {
  user: string;
  address: string;
  namespaces: Array<string>;
  memories: number;
  since: string;
}

/** What was erased, or would be. */
export interface UserErased {
  user: string;
  namespaces: Array<string>;
  count: number;
  backups: Array<Record<string, unknown>>;
  dry_run: boolean;
}

/** All that is kept of a user. */
export interface UserExport {
  user: string;
  namespaces: Array<string>;
  exported_at: string;
  memories: Array<FragmentAnswer>;
  tombstones: Array<TombstoneAnswer>;
  former_texts: Array<FormerTextAnswer>;
  tasks: Array<KeptTaskAnswer>;
  titles: Array<TitleAnswer>;
  notes: Array<NoteAnswer>;
}

export interface UserPage {
  next: string | null;
  previous: string | null;
  results: Array<UserAnswer>;
}

/** What the vote did. */
export interface VoteAnswer {
  id: string;
  counted: boolean;
  reason: VoteAnswerReasonEnum | NullEnum | null;
  trust: number;
  confidence: number;
  status: StatusEnum;
  reinforcements: number;
  disputes: number;
  corroboration: number;
  conflict_id: string | null;
}

export type VoteAnswerReasonEnum = "own_memory" | "ceiling_below_authority" | "source_heard_before" | "owner_voted_before";

/** A webhook, and how it goes. */
export interface WebhookAnswer {
  id: string;
  url: string;
  kinds: Array<AnnouncementAnswerKindEnum>;
  namespace?: string | null;
  enabled: boolean;
  failures: number;
  failing_since: string | null;
  last_error: string;
  delivered_at: string | null;
  created_at: string;
}

/** A webhook to make. */
export interface WebhookInputRequest {
  url: string;
  kinds?: Array<AnnouncementAnswerKindEnum>;
  namespace?: string;
}

export interface WebhookPage {
  next: string | null;
  previous: string | null;
  results: Array<WebhookAnswer>;
}

/** Who did it: a key, a person or the service itself. */
export interface WhoAnswer {
  kind: string | null;
  owner: string | null;
  key: string | null;
  user: string | null;
}

/** An episode with its memories in order. */
export interface WholeEpisodeAnswer {
  id: string;
  namespace: string;
  conversation_id: string | null;
  title: string;
  size: number;
  began_at: string;
  ended_at: string;
  summary: string;
  members: Array<FragmentAnswer>;
  truncated: boolean;
}

export interface Api {
  backups: BackupsCalls;
  bridges: BridgesCalls;
  cases: CasesCalls;
  claims: ClaimsCalls;
  clusters: ClustersCalls;
  conflicts: ConflictsCalls;
  consolidations: ConsolidationsCalls;
  containments: ContainmentsCalls;
  digests: DigestsCalls;
  episodes: EpisodesCalls;
  erasures: ErasuresCalls;
  events: EventsCalls;
  evictions: EvictionsCalls;
  fragments: FragmentsCalls;
  models: ModelsCalls;
  namespaces: NamespacesCalls;
  notices: NoticesCalls;
  operations: OperationsCalls;
  packs: PacksCalls;
  predicates: PredicatesCalls;
  projects: ProjectsCalls;
  proposals: ProposalsCalls;
  recallChecks: RecallChecksCalls;
  recallRuns: RecallRunsCalls;
  restores: RestoresCalls;
  rollbacks: RollbacksCalls;
  rulings: RulingsCalls;
  tasks: TasksCalls;
  tombstones: TombstonesCalls;
  users: UsersCalls;
  webhooks: WebhooksCalls;
  /** A block of memories for the front of a prompt, within its budget. */
  context(values?: ContextInputRequest, options?: CallOptions): Promise<ContextAnswer>;
  /**
   * Erases all that fits, every copy of it, if it is as many as expected; more than 1,000 as an operation.
   *
   * `dry_run` only counts; `everywhere` bars the texts in the whole project.
   */
  forget(values: ForgetInputRequest, options?: CallOptions): Promise<ForgetAnswer>;
  /**
   * Entities and claims up to `depth` claims away from `entity`, named in any spelling or by its id.
   *
   * Only what a default answer may show: active memories, claims that hold now, none of a session's. At most 200
   * entities and 500 claims; `truncated` says that there are more.
   */
  graph(values: { all_users?: boolean; depth?: number; entity: string; namespace?: string; user?: string }, options?: CallOptions): Promise<GraphAnswer>;
  /**
   * The entities whose name holds `q` in any spelling.
   *
   * The most mentioned first.
   */
  graphEntities(values: { all_users?: boolean; label?: "person" | "organization" | "location" | "misc"; limit?: number; namespace?: string; q: string; user?: string }, options?: CallOptions): Promise<EntitiesAnswer>;
  /** How well the memory does its work: what it claims, spares, condenses, finds; what nobody looked at. */
  healthReport(values?: { all_users?: boolean; namespace?: string; user?: string }, options?: CallOptions): Promise<HealthReportAnswer>;
  /**
   * Keeps what is worth keeping of a conversation or a text.
   *
   * A conversation has `messages`, a document a `text`. The answer says what was skipped, and why.
   */
  ingest(values: IngestInputRequest, options?: CallOptions): Promise<IngestAnswer>;
  /**
   * The memories that answer a question, best first.
   *
   * Each has its score and signals.
   */
  search(values: SearchInputRequest, options?: CallOptions): Promise<SearchAnswer>;
  /**
   * Up to fifty searches in one request, an answer for each; one that is wrong refuses them all.
   *
   * Each counts as a request against the key's rate.
   */
  searchBatch(values: SearchBatchInputRequest, options?: CallOptions): Promise<SearchBatchAnswer>;
  /**
   * How many fragments there are, by status, tier and type; how many wait for their vector or for a person.
   *
   * Octets by tier too, and the `capacity` of the project and its tiers.
   */
  stats(values?: { all_users?: boolean; namespace?: string; user?: string }, options?: CallOptions): Promise<StatsAnswer>;
  /**
   * Decisions, consolidations, restores, merges, forks, backups, evictions, forgettings, deletions.
   *
   * Also containments, rollbacks, and what took one of them back. Newest first, of the namespaces that the key
   * covers; what concerns all of the project is told to a key for all of it, where no namespace is asked for.
   */
  timeline(values?: { all_users?: boolean; cursor?: string; kind?: "decision" | "consolidation" | "restore" | "merge" | "fork" | "backup" | "eviction" | "forgetting" | "deletion" | "containment" | "rollback"; limit?: number; namespace?: string; since?: string; until?: string; user?: string }, options?: CallOptions): Promise<EntryPage>;
  timelineAll(values?: { all_users?: boolean; cursor?: string; kind?: "decision" | "consolidation" | "restore" | "merge" | "fork" | "backup" | "eviction" | "forgetting" | "deletion" | "containment" | "rollback"; limit?: number; namespace?: string; since?: string; until?: string; user?: string }, options?: CallOptions): AsyncGenerator<EntryAnswer, void, undefined>;
  /**
   * What was believed at one point and at another, key by key, and how many memories changed their status.
   *
   * Of claims that hold at the later point. Up to 2,000 memories whose claims changed; 410 further back than history
   * is kept.
   */
  timelineDifference(values: { all_users?: boolean; namespace?: string; since: string; until?: string; user?: string }, options?: CallOptions): Promise<DifferenceAnswer>;
}

export interface BackupsCalls {
  /** A page of backups. */
  list(values?: { cursor?: string; limit?: number }, options?: CallOptions): Promise<BackupPage>;
  all(values?: { cursor?: string; limit?: number }, options?: CallOptions): AsyncGenerator<BackupAnswer, void, undefined>;
  /**
   * Starts a backup; the operation's report names it (`backup_id`).
   *
   * Takes a key for all of the project.
   */
  make(values?: BackupInputRequest, options?: CallOptions): Promise<OperationAnswer>;
  /** What it holds, and how far it was proven. */
  read(backupId: string, values?: { all_users?: boolean; user?: string }, options?: CallOptions): Promise<BackupAnswer>;
  /** Deletes it with its file; not while it is protected, or another goes on from it. */
  delete(backupId: string, values?: { all_users?: boolean; user?: string }, options?: CallOptions): Promise<void>;
  /** Streams the bundle; with `format=json` gives a small one as a V1 envelope. */
  download(backupId: string, values?: { format?: "bundle" | "json" }, options?: CallOptions): Promise<ArrayBuffer>;
  /**
   * Restores it into temporary tables and compares what comes out.
   *
   * Nobody sees them.
   */
  drill(backupId: string, values?: { all_users?: boolean; user?: string }, options?: CallOptions): Promise<OperationAnswer>;
  /** Keeps it from retention and deletion, or lets go of it. */
  protect(backupId: string, values?: ProtectInputRequest, options?: CallOptions): Promise<BackupAnswer>;
  /** Reads it to its end: checksums, signature, counts, order. */
  verify(backupId: string, values?: { all_users?: boolean; user?: string }, options?: CallOptions): Promise<OperationAnswer>;
}

export interface BridgesCalls {
  /** Remembers a build; told again under the same id, it changes what was told. */
  atlasBuilds(values: BuildInputRequest, options?: CallOptions): Promise<StoredAnswer>;
  /**
   * The memories that answer it: first what ATLAS told, as far as it answers, then others, best first.
   *
   * `project_wide`, `top_k` and `floor` as in a search.
   */
  atlasEnrich(values: EnrichInputRequest, options?: CallOptions): Promise<SearchAnswer>;
  /** Remembers each insight of a retrospective. */
  atlasRetrospectives(values: RetrospectiveInputRequest, options?: CallOptions): Promise<StoredList>;
  /** What semantic tags of ATLAS mean here: tags of a fixed vocabulary, never none. */
  atlasTags(values: TagsInputRequest, options?: CallOptions): Promise<TagsAnswer>;
  /** Remembers a pattern; told again under the same id, it changes what was told. */
  tasteVaultPatterns(values: PatternInputRequest, options?: CallOptions): Promise<StoredAnswer>;
  /**
   * The pattern's memory counts as fresher and weightier.
   *
   * The pattern is that of `node_id`.
   */
  tasteVaultReinforcements(values: ReinforcementInputRequest, options?: CallOptions): Promise<FragmentAnswer>;
  /** Remembers how a conflict was resolved, as a procedure. */
  tasteVaultResolutions(values: ResolutionInputRequest, options?: CallOptions): Promise<StoredAnswer>;
  /**
   * The memories that fit a context, at most `limit`: first the vault's own, as far as they fit, then others.
   *
   * `project_wide` and `floor` as in a search.
   */
  tasteVaultSupplement(values: SupplementInputRequest, options?: CallOptions): Promise<SearchAnswer>;
  /**
   * Forks the source into the branch's namespace; a large one as an operation: 202. Told twice it is one.
   *
   * With `user` only that user's scope.
   */
  universesBranches(values: BranchInputRequest, options?: CallOptions): Promise<BranchAnswer | OperationAnswer>;
  /** Merges the branch into the target; follow the operation under its id. */
  universesMerges(values: BranchMergeInputRequest, options?: CallOptions): Promise<OperationAnswer>;
}

export interface CasesCalls {
  /**
   * A page of cases, one for each key of which a value waits: what stands, and every challenger's value.
   *
   * Conflicts that are about no key, as disputes and versions of a backup, stand in `/conflicts` alone.
   */
  list(values?: { all_users?: boolean; cursor?: string; limit?: number; namespace?: string; owner?: string; pattern?: string; predicate?: string; sort?: "oldest" | "newest" | "most"; source?: string; status?: "pending" | "settled" | "all"; subject?: string; user?: string }, options?: CallOptions): Promise<CasePage>;
  all(values?: { all_users?: boolean; cursor?: string; limit?: number; namespace?: string; owner?: string; pattern?: string; predicate?: string; sort?: "oldest" | "newest" | "most"; source?: string; status?: "pending" | "settled" | "all"; subject?: string; user?: string }, options?: CallOptions): AsyncGenerator<CaseAnswer, void, undefined>;
  /** The case, also when it is settled. */
  read(caseId: string, values?: { all_users?: boolean; user?: string }, options?: CallOptions): Promise<CaseAnswer>;
  /**
   * Settles all that waits on the key at once: what is chosen holds, every other challenger is rejected.
   *
   * One value, several (`keep`: as a pair, one after the other, or the predicate takes many), or what you type.
   * Either all of it is decided or nothing. A text is decided as a whole, on every key that it speaks of.
   */
  resolve(caseId: string, values: CaseDecisionInputRequest, options?: CallOptions): Promise<CaseAnswer>;
  /** Takes the last decision of the case back, wholly, or says why it can't be. */
  undo(caseId: string, values?: NothingRequest, options?: CallOptions): Promise<CaseAnswer>;
  /**
   * Rejects every challenger that meets the conditions, oldest first, up to a hundred in one request.
   *
   * Each is a decision of its own, which can be undone; what can't be rejected stops no other. A text is rejected as
   * a whole, on every key that it speaks of.
   */
  clear(values?: ClearInputRequest, options?: CallOptions): Promise<ClearingAnswer>;
  /** How much waits by source, owner, namespace or predicate, the largest first, up to two hundred. */
  groups(values: { all_users?: boolean; by: "source" | "owner" | "namespace" | "predicate"; namespace?: string; owner?: string; pattern?: string; predicate?: string; source?: string; subject?: string; user?: string }, options?: CallOptions): Promise<CaseGroupsAnswer>;
}

export interface ClaimsCalls {
  /**
   * The claims that held at `as_of` (default now), as they were believed at `known_at` (default now).
   *
   * Subject and predicate in any spelling; `session_id` asks what is believed in that session. Newest first.
   */
  list(values?: { all_users?: boolean; as_of?: string; cursor?: string; known_at?: string; limit?: number; namespace?: string; predicate?: string; session_id?: string; status?: "active" | "superseded" | "disputed" | "quarantined" | "archived" | "all"; subject?: string; user?: string }, options?: CallOptions): Promise<BelievedPage>;
  all(values?: { all_users?: boolean; as_of?: string; cursor?: string; known_at?: string; limit?: number; namespace?: string; predicate?: string; session_id?: string; status?: "active" | "superseded" | "disputed" | "quarantined" | "archived" | "all"; subject?: string; user?: string }, options?: CallOptions): AsyncGenerator<BelievedAnswer, void, undefined>;
  /**
   * Every claim on a key that was not forgotten, in the order in which they begin to hold.
   *
   * `beliefs` says from when until when it was believed in which state, value and period.
   */
  timeline(values: { all_users?: boolean; cursor?: string; limit?: number; namespace?: string; predicate: string; session_id?: string; subject: string; user?: string }, options?: CallOptions): Promise<LifePage>;
  timelineAll(values: { all_users?: boolean; cursor?: string; limit?: number; namespace?: string; predicate: string; session_id?: string; subject: string; user?: string }, options?: CallOptions): AsyncGenerator<LifeAnswer, void, undefined>;
}

export interface ClustersCalls {
  /** A page of clusters of at least `min_size` members, those whose oldest memory is newest first. */
  list(values?: { all_users?: boolean; cursor?: string; limit?: number; min_size?: number; namespace?: string; user?: string }, options?: CallOptions): Promise<ClusterPage>;
  all(values?: { all_users?: boolean; cursor?: string; limit?: number; min_size?: number; namespace?: string; user?: string }, options?: CallOptions): AsyncGenerator<ClusterAnswer, void, undefined>;
  /**
   * Calls it something. The label outlives rebuilds and every single member.
   *
   * A `label` of null takes it away.
   */
  label(clusterId: string, values?: PatchedLabelInputRequest, options?: CallOptions): Promise<ClusterAnswer>;
}

export interface ConflictsCalls {
  /**
   * A page of conflicts, newest first; subject and predicate in any spelling.
   *
   * `status` is `pending` unless it is said: `resolved` or `all`.
   */
  list(values?: { all_users?: boolean; cursor?: string; kind?: "claim" | "text" | "dispute" | "restore"; limit?: number; namespace?: string; predicate?: string; status?: "pending" | "resolved" | "all"; subject?: string; user?: string }, options?: CallOptions): Promise<ConflictPage>;
  all(values?: { all_users?: boolean; cursor?: string; kind?: "claim" | "text" | "dispute" | "restore"; limit?: number; namespace?: string; predicate?: string; status?: "pending" | "resolved" | "all"; subject?: string; user?: string }, options?: CallOptions): AsyncGenerator<ConflictAnswer, void, undefined>;
  /**
   * The conflict with both sides.
   *
   * With their authorities and trusts.
   */
  read(conflictId: string, values?: { all_users?: boolean; user?: string }, options?: CallOptions): Promise<ConflictAnswer>;
  /**
   * Settles the conflict, with the others of the same newcomer. A key can't settle what its owner wrote.
   *
   * `action` is `supersede`, `reject` or `keep_both` (`keep`: `pair`, `period` or `predicate`), on the `revision`
   * that was read.
   */
  resolve(conflictId: string, values: ResolveInputRequest, options?: CallOptions): Promise<ConflictAnswer>;
  /** Takes the decision back: everything is as before it, or the answer says why it can't be. */
  undo(conflictId: string, values?: NothingRequest, options?: CallOptions): Promise<ConflictAnswer>;
}

export interface ConsolidationsCalls {
  /** A page of runs, dry ones too, with their reports. */
  list(values?: { all_users?: boolean; cursor?: string; limit?: number; namespace?: string; state?: "queued" | "running" | "succeeded" | "failed" | "cancelled"; user?: string }, options?: CallOptions): Promise<ConsolidationPage>;
  all(values?: { all_users?: boolean; cursor?: string; limit?: number; namespace?: string; state?: "queued" | "running" | "succeeded" | "failed" | "cancelled"; user?: string }, options?: CallOptions): AsyncGenerator<ConsolidationAnswer, void, undefined>;
  /**
   * Starts a consolidation, looks only (`dry_run`), or applies a plan that was looked at (`plan_id`).
   *
   * By `POST /operations` also `leave_out`: the numbers of steps that are not done.
   */
  start(values: ConsolidationInputRequest, options?: CallOptions): Promise<OperationAnswer>;
  /** Takes back what a run did; follow the undo under its own id. */
  undo(operationId: string, values?: { all_users?: boolean; user?: string }, options?: CallOptions): Promise<OperationAnswer>;
}

export interface ContainmentsCalls {
  /** A page of the containments of the project, newest first. */
  list(values?: { cursor?: string; limit?: number }, options?: CallOptions): Promise<ContainmentPage>;
  all(values?: { cursor?: string; limit?: number }, options?: CallOptions): AsyncGenerator<ContainmentAnswer, void, undefined>;
  /**
   * Sets aside what was written, and what came to be believed through it; `dry_run` says what that would be.
   *
   * Its memories and what was made of them are quarantined, its keys revoked, its votes count no more. What they had
   * taken the place of stands again, and what waited because of them is heard anew: belief is as if they had not
   * been written. What somebody else said too, or a person chose, stays. One `undo` takes all of it back.
   */
  create(values?: ContainmentInputRequest, options?: CallOptions): Promise<ContainmentAnswer>;
  /** What it set aside, and who took it back. */
  read(containmentId: string, values?: { all_users?: boolean; user?: string }, options?: CallOptions): Promise<ContainmentAnswer>;
  /** Lets everything be as before it, wholly, or says what stands in the way; its keys work again. */
  undo(containmentId: string, values?: NothingRequest, options?: CallOptions): Promise<ContainmentAnswer>;
}

export interface DigestsCalls {
  /**
   * Makes a digest of the memories' best sentences, believed as the weakest of them, and archives them.
   *
   * Of 3 to 50 `ids`, at once.
   */
  make(values: DigestInputRequest, options?: CallOptions): Promise<StoredAnswer>;
}

export interface EpisodesCalls {
  /** A page of episodes, those that began last first: conversations, and what somebody put together. */
  list(values?: { agent?: string; all_users?: boolean; cursor?: string; limit?: number; namespace?: string; since?: string; until?: string; user?: string }, options?: CallOptions): Promise<EpisodePage>;
  all(values?: { agent?: string; all_users?: boolean; cursor?: string; limit?: number; namespace?: string; since?: string; until?: string; user?: string }, options?: CallOptions): AsyncGenerator<EpisodeAnswer, void, undefined>;
  /** Puts memories of a namespace together, in the order given. */
  make(values: EpisodeInputRequest, options?: CallOptions): Promise<WholeEpisodeAnswer>;
  /**
   * The episode with up to 200 of its memories, in the order in which they were said or put.
   *
   * With a summary.
   */
  read(episodeId: string, values?: { all_users?: boolean; user?: string }, options?: CallOptions): Promise<WholeEpisodeAnswer>;
}

export interface ErasuresCalls {
  /**
   * Lets a forgotten text be said again; history keeps who did. 404 when it was not forgotten there.
   *
   * In all of the project, or in one `namespace`.
   */
  lift(values: LiftInputRequest, options?: CallOptions): Promise<LiftAnswer>;
}

export interface EventsCalls {
  /**
   * What happened to beliefs in the namespaces that the key covers: ids, never text.
   *
   * Ask again with `since` = `next`. With `Accept: text/event-stream` events are sent as they happen, from
   * `Last-Event-ID`, `since` or now on; a stream ends after five minutes, come back then. A key may have
   * EVENT_STREAMS_PER_KEY of them open.
   */
  list(values?: { all_users?: boolean; kind?: "supersede" | "conflict_pending" | "conflict_resolved" | "dispute" | "corroborate" | "consolidate" | "erase" | "recall_notice"; limit?: number; namespace?: string; since?: string; user?: string }, options?: CallOptions): Promise<NewsAnswer>;
}

export interface EvictionsCalls {
  /**
   * The first to leave of what the key covers: the weakest first, and of equals the lowest priority.
   *
   * It says how full the project is, and of each its `authority` and whether it `is_protected`.
   */
  preview(values?: { all_users?: boolean; limit?: number; tier?: "hot" | "warm" | "cold"; user?: string }, options?: CallOptions): Promise<PreviewAnswer>;
}

export interface FragmentsCalls {
  /**
   * A page of fragments, newest first.
   *
   * `status` several times: one of them. `ids` (comma-separated) answers those fragments in every status; `count`
   * how many there are instead.
   */
  list(values?: { agent?: string; all_users?: boolean; count?: boolean; cursor?: string; ids?: string; key?: string; limit?: number; namespace?: string; owner?: "me"; q?: string; since?: string; source_type?: "task" | "atlas" | "taste-vault" | "retrospective" | "manual" | "conversation" | "document" | "bridge" | "digest" | "file" | "web"; status?: Array<"active" | "superseded" | "disputed" | "quarantined" | "archived" | "all">; tag?: string; tier?: "hot" | "warm" | "cold"; type?: "episodic" | "semantic" | "procedural"; until?: string; user?: string }, options?: CallOptions): Promise<FragmentPageOrCount>;
  all(values?: { agent?: string; all_users?: boolean; count?: boolean; cursor?: string; ids?: string; key?: string; limit?: number; namespace?: string; owner?: "me"; q?: string; since?: string; source_type?: "task" | "atlas" | "taste-vault" | "retrospective" | "manual" | "conversation" | "document" | "bridge" | "digest" | "file" | "web"; status?: Array<"active" | "superseded" | "disputed" | "quarantined" | "archived" | "all">; tag?: string; tier?: "hot" | "warm" | "cold"; type?: "episodic" | "semantic" | "procedural"; until?: string; user?: string }, options?: CallOptions): AsyncGenerator<FragmentAnswer, void, undefined>;
  /**
   * Stores one fragment.
   *
   * Under a `key` of its own (at most 512 characters, once in a namespace) it replaces what stands there: 200,
   * `replaced: true`, the same id, a new revision through the gate. Only its owner may, and nobody with less
   * authority (403); it keeps the authority with which it was first stored.
   */
  store(values: FragmentInputRequest, options?: CallOptions): Promise<StoredAnswer>;
  /** The fragment; `include=embedding` adds its vector under the active model. */
  read(fragmentId: string, values?: { all_users?: boolean; include?: "embedding"; user?: string }, options?: CallOptions): Promise<FragmentAnswer>;
  /**
   * Changes fields; a new text keeps the old one in the history, and passes the gate as when it is stored.
   *
   * `revision` or `If-Match` guards against lost updates. The newest 500 former texts are kept; only its writer or a
   * person may give a new one.
   */
  change(fragmentId: string, values?: PatchedFragmentChangeRequest, options?: CallOptions): Promise<ChangedAnswer>;
  /**
   * Forgets the fragment for good; a keyed fingerprint stops the text from coming back to its namespace.
   *
   * To an admin of the project `X-NovaMem-Backups` names the backups that hold it still, and `purge_backups`
   * deletes those that are not protected. `everywhere=true` bars the text in the whole project;
   * `X-NovaMem-Restored` names what stands again.
   */
  forget(fragmentId: string, values?: { all_users?: boolean; everywhere?: boolean; purge_backups?: boolean; user?: string }, options?: CallOptions): Promise<void>;
  /**
   * Archives the fragment.
   *
   * It is out of all default answers, reversibly.
   */
  archive(fragmentId: string, values?: NothingRequest, options?: CallOptions): Promise<FragmentAnswer>;
  /**
   * Shortens the text whatever its age, or gives it back while the archive holds it.
   *
   * To the `level` `summary`, `keywords` or `hash`; `full` gives it back.
   */
  compact(fragmentId: string, values: CompactInputRequest, options?: CallOptions): Promise<CompactAnswer>;
  /**
   * Casts the caller's vote; the last one of an owner counts.
   *
   * `reinforce`: it helped; it is fresher, weightier, more trusted. `dispute`: it is wrong, with a `reason`; below
   * a trust of .4 it is disputed, and of a weaker owner it opens a review. `corroborate`: another source
   * (`source_id`) says so too.
   */
  corroborate(fragmentId: string, values?: CorroborateInputRequest, options?: CallOptions): Promise<VoteAnswer>;
  /**
   * Casts the caller's vote; the last one of an owner counts.
   *
   * `reinforce`: it helped; it is fresher, weightier, more trusted. `dispute`: it is wrong, with a `reason`; below
   * a trust of .4 it is disputed, and of a weaker owner it opens a review. `corroborate`: another source
   * (`source_id`) says so too.
   */
  dispute(fragmentId: string, values?: DisputeInputRequest, options?: CallOptions): Promise<VoteAnswer>;
  /**
   * Former texts, and every change with who made it and why.
   *
   * It has what people ruled on it, too.
   */
  history(fragmentId: string, values?: { all_users?: boolean; user?: string }, options?: CallOptions): Promise<HistoryAnswer>;
  /**
   * Casts the caller's vote; the last one of an owner counts.
   *
   * `reinforce`: it helped; it is fresher, weightier, more trusted. `dispute`: it is wrong, with a `reason`; below
   * a trust of .4 it is disputed, and of a weaker owner it opens a review. `corroborate`: another source
   * (`source_id`) says so too.
   */
  reinforce(fragmentId: string, values?: NothingRequest, options?: CallOptions): Promise<VoteAnswer>;
  /**
   * Lets a memory stand again that another one replaced without a person; what stands against it yields.
   *
   * The decisions hold as any other's, and each can be undone.
   */
  reinstate(fragmentId: string, values?: ReinstateInputRequest, options?: CallOptions): Promise<ReinstatedAnswer>;
  /**
   * Moves the fragment to another tier; 409 when it is not where the caller thinks.
   *
   * The tiers are `hot`, `warm` and `cold`.
   */
  tier(fragmentId: string, values: TierChangeRequest, options?: CallOptions): Promise<FragmentAnswer>;
  /**
   * Lets the fragment stand again.
   *
   * As far as the gate allows.
   */
  unarchive(fragmentId: string, values?: NothingRequest, options?: CallOptions): Promise<FragmentAnswer>;
  /** Archives the fragment under a key; stored under the key again, it stands again. */
  archiveByKey(values: NamedInputRequest, options?: CallOptions): Promise<FragmentAnswer>;
  /**
   * Stores up to a thousand fragments in one transaction; a result per item, in order.
   *
   * An item whose text was forgotten is reported by itself and the others are stored. It answers `{"status":
   * "blocked_by_erasure", "code": "blocked_by_erasure"}` in its place. `embed: "later"` leaves vectors to the
   * worker.
   */
  storeBatch(values: FragmentBatchRequest, options?: CallOptions): Promise<BatchAnswer>;
}

export interface ModelsCalls {
  /**
   * A page of models, newest first.
   *
   * Everything else about models belongs to the operator.
   */
  list(values?: { cursor?: string; limit?: number }, options?: CallOptions): Promise<ModelPage>;
  all(values?: { cursor?: string; limit?: number }, options?: CallOptions): AsyncGenerator<ModelAnswer, void, undefined>;
  /**
   * The model, with how far it is in this project.
   *
   * It says how many of the project's fragments have no vector of it yet.
   */
  read(modelId: string, values?: { all_users?: boolean; user?: string }, options?: CallOptions): Promise<ModelDetails>;
}

export interface NamespacesCalls {
  /** The namespaces that the key covers, by name. */
  list(values?: { cursor?: string; limit?: number }, options?: CallOptions): Promise<NamespacePage>;
  all(values?: { cursor?: string; limit?: number }, options?: CallOptions): AsyncGenerator<NamespaceAnswer, void, undefined>;
  /** Makes a namespace; one that exists is answered as it is. */
  make(values: NamespaceInputRequest, options?: CallOptions): Promise<NamespaceAnswer>;
  /**
   * Sets what a namespace archives of its faded memories, and the language of its words.
   *
   * `archive_policy` is `episodic` or `all`; `all` is refused (403) to a ceiling below what it holds. `language`
   * is a text search configuration of Postgres; another one starts an operation that builds the keywords anew.
   */
  set(values?: PatchedNamespaceChangeRequest, options?: CallOptions): Promise<ChangedNamespaceAnswer>;
  /**
   * Deletes the namespace with all that it holds; answers 202 with the operation that does.
   *
   * Only with `expected_count`, or its name as `confirm`. Asked again while it goes, it answers the same operation.
   */
  delete(name: string, values?: { all_users?: boolean; confirm?: string; expected_count?: number; user?: string }, options?: CallOptions): Promise<OperationAnswer>;
  /**
   * Of which keys this namespace believes otherwise than another one, and what: a branch beside what lives.
   *
   * Up to 2,000 memories that claim something of such keys, else 409 `too_much_changed`.
   */
  compare(name: string, values: { all_users?: boolean; other: string; user?: string }, options?: CallOptions): Promise<ComparisonAnswer>;
  /** Copies the namespace into a new or empty one; the report counts what was copied. */
  fork(name: string, values: ForkInputRequest, options?: CallOptions): Promise<OperationAnswer>;
  /**
   * Replays what the namespace wrote through the target's gate; the report lists what became of it.
   *
   * `dry_run` only plans; `plan_id` applies that plan.
   */
  merge(name: string, values: MergeInputRequest, options?: CallOptions): Promise<OperationAnswer>;
}

export interface NoticesCalls {
  /**
   * A page of recall notices, newest first: ids, never text.
   *
   * One for each answer, as long as its receipt is kept, and each memory in it that was superseded, ruled out,
   * disputed or contained since, or stands again. Of the namespaces and users that the key covers; `mine`: of the
   * answers that it got itself.
   */
  list(values?: { all_users?: boolean; cursor?: string; fragment_id?: string; limit?: number; mine?: boolean; namespace?: string; reason?: "superseded" | "ruled_out" | "disputed" | "contained" | "restored"; receipt_id?: string; since?: string; user?: string }, options?: CallOptions): Promise<NoticePage>;
  all(values?: { all_users?: boolean; cursor?: string; fragment_id?: string; limit?: number; mine?: boolean; namespace?: string; reason?: "superseded" | "ruled_out" | "disputed" | "contained" | "restored"; receipt_id?: string; since?: string; user?: string }, options?: CallOptions): AsyncGenerator<NoticeAnswer, void, undefined>;
}

export interface OperationsCalls {
  /** A page of operations. */
  list(values?: { all_users?: boolean; cursor?: string; kind?: string; limit?: number; state?: "queued" | "running" | "succeeded" | "failed" | "cancelled"; user?: string }, options?: CallOptions): Promise<OperationPage>;
  all(values?: { all_users?: boolean; cursor?: string; kind?: string; limit?: number; state?: "queued" | "running" | "succeeded" | "failed" | "cancelled"; user?: string }, options?: CallOptions): AsyncGenerator<OperationAnswer, void, undefined>;
  /**
   * Starts a job; follow it under its id.
   *
   * `rebuild` with `options.target`: `keywords embeddings entities links graph episodes clusters`; `consolidate`
   * with a `namespace`; `tier`, `compact`, `evict`, `archive`. `dry_run` tells what it would do.
   */
  start(values: OperationInputRequest, options?: CallOptions): Promise<OperationAnswer>;
  /** How far the job is. */
  read(operationId: string, values?: { all_users?: boolean; user?: string }, options?: CallOptions): Promise<OperationAnswer>;
  /** Asks the job to end between two batches; a queued one ends at once. */
  cancel(operationId: string, values?: { all_users?: boolean; user?: string }, options?: CallOptions): Promise<OperationAnswer>;
  /**
   * Takes back what a consolidation did; follow the undo under its own id.
   *
   * Or a merge, a rollback, a restore, a compaction, an eviction or a putting away.
   */
  undo(operationId: string, values?: { all_users?: boolean; user?: string }, options?: CallOptions): Promise<OperationAnswer>;
}

export interface PacksCalls {
  /** Packs a namespace; the operation's report names the pack (`pack_id`). */
  make(values: PackInputRequest, options?: CallOptions): Promise<OperationAnswer>;
  /** The SQLite file: `manage.py pack search` reads it offline, `pack import` brings it back. */
  download(operationId: string, values?: { all_users?: boolean; user?: string }, options?: CallOptions): Promise<ArrayBuffer>;
}

export interface PredicatesCalls {
  /** A page of registered predicates, newest first; with `builtin` all built-in ones instead. */
  list(values?: { builtin?: boolean; cursor?: string; limit?: number; namespace?: string }, options?: CallOptions): Promise<PredicatePage>;
  all(values?: { builtin?: boolean; cursor?: string; limit?: number; namespace?: string }, options?: CallOptions): AsyncGenerator<PredicateAnswer, void, undefined>;
  /** Registers a rule; what is not said is as in the built-in rule of that name, else one value, as text. */
  register(values: PredicateInputRequest, options?: CallOptions): Promise<PredicateAnswer>;
  /** Changes the rule of that namespace and name, in any spelling of the name; standing claims follow. */
  change(values?: PatchedPredicateChangeRequest, options?: CallOptions): Promise<PredicateAnswer>;
  /** The rule. */
  read(predicateId: string, values?: { all_users?: boolean; user?: string }, options?: CallOptions): Promise<PredicateAnswer>;
  /**
   * Changes the rule; standing claims follow.
   *
   * `revision` or `If-Match` guards against lost updates.
   */
  changeById(predicateId: string, values?: PatchedRuleChangeRequest, options?: CallOptions): Promise<PredicateAnswer>;
}

export interface ProjectsCalls {
  /**
   * Deletes the project with everything in it, this key too; answers 202 with the operation that does.
   *
   * Only with `expected_count`, or its name as `confirm`; of the key's own project.
   */
  delete(name: string, values?: { confirm?: string; expected_count?: number }, options?: CallOptions): Promise<OperationAnswer>;
}

export interface ProposalsCalls {
  /** What was proposed and became of it: 50 of a task at the most, and 30 minutes beyond its newest. */
  list(values?: { all_users?: boolean; cursor?: string; kind?: "option" | "claim" | "digest" | "supersession"; limit?: number; namespace?: string; outcome?: "allowed" | "blocked" | "reduction_error" | "advisory_only" | "skipped_no_reduction_client" | "llm_returned_null"; task_id?: string; user?: string; waiting?: boolean }, options?: CallOptions): Promise<ShownProposalPage>;
  all(values?: { all_users?: boolean; cursor?: string; kind?: "option" | "claim" | "digest" | "supersession"; limit?: number; namespace?: string; outcome?: "allowed" | "blocked" | "reduction_error" | "advisory_only" | "skipped_no_reduction_client" | "llm_returned_null"; task_id?: string; user?: string; waiting?: boolean }, options?: CallOptions): AsyncGenerator<ShownProposal, void, undefined>;
  /**
   * Asks the language model how to go about a task; the answer is judged before it may become a memory.
   *
   * `context` is a text or an object.
   */
  ask(values: ProposalInputRequest, options?: CallOptions): Promise<ShownProposal>;
  /**
   * The newer memory of a supersession that waits replaces the older one. A key can't decide on its owner's.
   *
   * 409 `already_resolved` or `not_applicable` when it can't, as when one was rewritten since it was proposed.
   */
  accept(proposalId: string, values?: NothingRequest, options?: CallOptions): Promise<ShownProposal>;
  /** Both memories stay as they are; it is not proposed again. */
  dismiss(proposalId: string, values?: NothingRequest, options?: CallOptions): Promise<ShownProposal>;
  /**
   * Takes the decision back: both memories are as before it, the proposal waits; or it says why it can't.
   *
   * 409 `cannot_undo` when something changed since.
   */
  undo(proposalId: string, values?: NothingRequest, options?: CallOptions): Promise<ShownProposal>;
  /**
   * How many entries of how many tasks, in the namespaces that the key covers.
   *
   * And who judges.
   */
  stats(values?: { all_users?: boolean; namespace?: string; user?: string }, options?: CallOptions): Promise<ProposalStatsAnswer>;
}

export interface RecallChecksCalls {
  /** A page of recall checks, newest first, each with how its last run went. */
  list(values?: { all_users?: boolean; cursor?: string; limit?: number; namespace?: string; state?: "passed" | "failed" | "never"; user?: string }, options?: CallOptions): Promise<RecallCheckPage>;
  all(values?: { all_users?: boolean; cursor?: string; limit?: number; namespace?: string; state?: "passed" | "failed" | "never"; user?: string }, options?: CallOptions): AsyncGenerator<RecallCheckAnswer, void, undefined>;
  /** Keeps a check: 201, or 200 and `replaced` where it stands instead of one of its namespace and name. */
  keep(values: RecallCheckInputRequest, options?: CallOptions): Promise<KeptCheckAnswer>;
  /** The check. */
  read(checkId: string, values?: { all_users?: boolean; user?: string }, options?: CallOptions): Promise<RecallCheckAnswer>;
  /** Deletes the check; runs keep its id. */
  delete(checkId: string, values?: { all_users?: boolean; user?: string }, options?: CallOptions): Promise<void>;
  /** All checks, or those of a namespace, as the text of a YAML file. */
  export(values?: { all_users?: boolean; namespace?: string; user?: string }, options?: CallOptions): Promise<RecallFileAnswer>;
  /** Keeps all checks of a YAML file, or none: the first fault is told with its line. */
  import(values: RecallFileInputRequest, options?: CallOptions): Promise<RecallKeptAnswer>;
}

export interface RecallRunsCalls {
  /** A page of runs, newest first: those on demand, and those around operations that change recall. */
  list(values?: { all_users?: boolean; cause?: "asked" | "consolidation" | "merge" | "model" | "restore" | "rollback"; cursor?: string; limit?: number; namespace?: string; user?: string }, options?: CallOptions): Promise<RecallRunPage>;
  all(values?: { all_users?: boolean; cause?: "asked" | "consolidation" | "merge" | "model" | "restore" | "rollback"; cursor?: string; limit?: number; namespace?: string; user?: string }, options?: CallOptions): AsyncGenerator<RecallRunAnswer, void, undefined>;
  /**
   * Starts a run of a namespace's checks, or of all; the operation's report counts and names what fails.
   *
   * One of yours that waits to begin is answered instead of another.
   */
  start(values?: RecallRunInputRequest, options?: CallOptions): Promise<OperationAnswer>;
}

export interface RestoresCalls {
  /** A page of restores, planned ones too, with their reports. */
  list(values?: { cursor?: string; limit?: number }, options?: CallOptions): Promise<RestorePage>;
  all(values?: { cursor?: string; limit?: number }, options?: CallOptions): AsyncGenerator<RestoreAnswer, void, undefined>;
  /**
   * Plans (`dry_run`) or does it; the report has the plan. A file that is sent along stays a week as a backup.
   *
   * Of a `backup_id`, or multipart with the file as `upload`. `into` a new namespace it becomes a branch, which can
   * be compared with what lives, and merged in part. `trust_signer` names a signer who has to be trusted
   * here already, else 403.
   */
  start(values: RestoreInputRequest, options?: CallOptions): Promise<OperationAnswer>;
}

export interface RollbacksCalls {
  /**
   * Lets memories, claims, rulings and statuses of a namespace be what they were at a time.
   *
   * What came since is archived, what was evicted since comes back while a copy is kept; what was forgotten stays
   * forgotten, and what is contained stays contained. `dry_run` only plans; `plan_id` applies that plan, or answers
   * `plan_changed`. `POST /operations/{id}/undo` takes it back.
   */
  start(values: RollbackInputRequest, options?: CallOptions): Promise<OperationAnswer>;
}

export interface RulingsCalls {
  /** A page of the rulings in force, newest first; subject and predicate in any spelling. */
  list(values?: { all_users?: boolean; cursor?: string; limit?: number; namespace?: string; predicate?: string; subject?: string; user?: string }, options?: CallOptions): Promise<RulingPage>;
  all(values?: { all_users?: boolean; cursor?: string; limit?: number; namespace?: string; predicate?: string; subject?: string; user?: string }, options?: CallOptions): AsyncGenerator<RulingAnswer, void, undefined>;
}

export interface TasksCalls {
  /**
   * Reports a task; what completed or failed is remembered too. Older reports than the last change nothing.
   *
   * 200 when it was known already.
   */
  report(values: TaskInputRequest, options?: CallOptions): Promise<TaskAnswer>;
  /**
   * The latest tasks of the namespaces that the key covers, short enough for a prompt.
   *
   * Ten unless `limit` says otherwise, at most 50.
   */
  recent(values?: { all_users?: boolean; limit?: number; namespace?: string; user?: string }, options?: CallOptions): Promise<RecentTasksAnswer>;
}

export interface TombstonesCalls {
  /** What was known and is gone, the last to leave first. */
  list(values?: { all_users?: boolean; cursor?: string; limit?: number; namespace?: string; since?: string; topic?: string; user?: string }, options?: CallOptions): Promise<TombstonePage>;
  all(values?: { all_users?: boolean; cursor?: string; limit?: number; namespace?: string; since?: string; topic?: string; user?: string }, options?: CallOptions): AsyncGenerator<TombstoneAnswer, void, undefined>;
  /**
   * The tombstone, by its own id or by the id of the fragment that was.
   *
   * `restorable` says whether the archive holds it still.
   */
  read(tombstoneId: string, values?: { all_users?: boolean; user?: string }, options?: CallOptions): Promise<TombstoneAnswer>;
  /** Brings the fragment back byte for byte; one that is opposed by now passes the gate at its own authority. */
  restore(tombstoneId: string, values?: { all_users?: boolean; user?: string }, options?: CallOptions): Promise<StoredAnswer>;
}

export interface UsersCalls {
  /** The users whom the key reaches, by name, and how many memories are kept of each. */
  list(values?: { cursor?: string; limit?: number; namespace?: string }, options?: CallOptions): Promise<UserPage>;
  all(values?: { cursor?: string; limit?: number; namespace?: string }, options?: CallOptions): AsyncGenerator<UserAnswer, void, undefined>;
  /** Erases all that is kept of a user, every copy of it, if it is as much as expected; all of it or nothing. */
  erase(user: string, values?: { dry_run?: boolean; expected_count?: number; namespace?: string; purge_backups?: boolean }, options?: CallOptions): Promise<UserErased>;
  /** All that is kept of a user, in every status, the oldest first; `address` is the user in base64url. */
  export(user: string, values?: { namespace?: string }, options?: CallOptions): Promise<UserExport>;
}

export interface WebhooksCalls {
  /** A page of the project's webhooks, newest first; none for a key that covers a part of it. */
  list(values?: { cursor?: string; limit?: number }, options?: CallOptions): Promise<WebhookPage>;
  all(values?: { cursor?: string; limit?: number }, options?: CallOptions): AsyncGenerator<WebhookAnswer, void, undefined>;
  /**
   * Makes a webhook: from now on events are sent there, each in a request of its own.
   *
   * In order and at least once, signed as Standard Webhooks has it, with the same `webhook-id` each time that an
   * event is sent again. Takes a key for all of the project. An Idempotency-Key is not heeded, since answers to
   * these are kept and the secret is not.
   */
  make(values: WebhookInputRequest, options?: CallOptions): Promise<NewWebhookAnswer>;
  /** The webhook, and how it goes. */
  read(webhookId: string, values?: { all_users?: boolean; user?: string }, options?: CallOptions): Promise<WebhookAnswer>;
  /** Stops it, or starts it again where it stopped. */
  change(webhookId: string, values?: PatchedWebhookChangeRequest, options?: CallOptions): Promise<WebhookAnswer>;
  /** Deletes it. */
  delete(webhookId: string, values?: { all_users?: boolean; user?: string }, options?: CallOptions): Promise<void>;
}
