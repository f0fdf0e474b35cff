"""Methods that wait for answers of the API, by what they are about.

Made by clients/generate.py of the server's OpenAPI document. Not to be edited.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Unpack

from novamem_client import models as m
from novamem_client.transport import AsyncTransport


class AsyncApi:
    """All of the API."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport
        self.backups = AsyncBackupsCalls(transport)
        self.bridges = AsyncBridgesCalls(transport)
        self.cases = AsyncCasesCalls(transport)
        self.claims = AsyncClaimsCalls(transport)
        self.clusters = AsyncClustersCalls(transport)
        self.conflicts = AsyncConflictsCalls(transport)
        self.consolidations = AsyncConsolidationsCalls(transport)
        self.containments = AsyncContainmentsCalls(transport)
        self.digests = AsyncDigestsCalls(transport)
        self.episodes = AsyncEpisodesCalls(transport)
        self.erasures = AsyncErasuresCalls(transport)
        self.events = AsyncEventsCalls(transport)
        self.evictions = AsyncEvictionsCalls(transport)
        self.fragments = AsyncFragmentsCalls(transport)
        self.models = AsyncModelsCalls(transport)
        self.namespaces = AsyncNamespacesCalls(transport)
        self.notices = AsyncNoticesCalls(transport)
        self.operations = AsyncOperationsCalls(transport)
        self.packs = AsyncPacksCalls(transport)
        self.predicates = AsyncPredicatesCalls(transport)
        self.projects = AsyncProjectsCalls(transport)
        self.proposals = AsyncProposalsCalls(transport)
        self.recall_checks = AsyncRecallChecksCalls(transport)
        self.recall_runs = AsyncRecallRunsCalls(transport)
        self.restores = AsyncRestoresCalls(transport)
        self.rollbacks = AsyncRollbacksCalls(transport)
        self.rulings = AsyncRulingsCalls(transport)
        self.tasks = AsyncTasksCalls(transport)
        self.tombstones = AsyncTombstonesCalls(transport)
        self.users = AsyncUsersCalls(transport)
        self.webhooks = AsyncWebhooksCalls(transport)

    async def context(self, **body: Unpack[m.ContextInputRequest]) -> m.ContextAnswer:
        """A block of memories for the front of a prompt, within its budget."""
        answer: m.ContextAnswer = await self._transport.request(
            "POST", "/api/v1/context", body=dict(body), repeatable=True
        )
        return answer

    async def forget(
        self, *, idempotency_key: str | None = None, **body: Unpack[m.ForgetInputRequest]
    ) -> m.ForgetAnswer:
        """Erases all that fits, every copy of it, if it is as many as expected; more than 1,000 as an operation.

        `dry_run` only counts; `everywhere` bars the texts in the whole project.
        """
        answer: m.ForgetAnswer = await self._transport.request(
            "POST", "/api/v1/forget", body=dict(body), idempotency_key=idempotency_key, once=True
        )
        return answer

    async def graph(self, **query: Unpack[m.GraphQuery]) -> m.GraphAnswer:
        """Entities and claims up to `depth` claims away from `entity`, named in any spelling or by its id.

        Only what a default answer may show: active memories, claims that hold now, none of a session's. At most 200
        entities and 500 claims; `truncated` says that there are more.
        """
        answer: m.GraphAnswer = await self._transport.request(
            "GET", "/api/v1/graph", query=dict(query), repeatable=True
        )
        return answer

    async def graph_entities(self, **query: Unpack[m.GraphEntitiesQuery]) -> m.EntitiesAnswer:
        """The entities whose name holds `q` in any spelling.

        The most mentioned first.
        """
        answer: m.EntitiesAnswer = await self._transport.request(
            "GET", "/api/v1/graph/entities", query=dict(query), repeatable=True
        )
        return answer

    async def health_report(self, **query: Unpack[m.HealthReportQuery]) -> m.HealthReportAnswer:
        """How well the memory does its work: what it claims, spares, condenses, finds; what nobody looked at."""
        answer: m.HealthReportAnswer = await self._transport.request(
            "GET", "/api/v1/health-report", query=dict(query), repeatable=True
        )
        return answer

    async def ingest(
        self, *, idempotency_key: str | None = None, **body: Unpack[m.IngestInputRequest]
    ) -> m.IngestAnswer:
        """Keeps what is worth keeping of a conversation or a text.

        A conversation has `messages`, a document a `text`. The answer says what was skipped, and why.
        """
        answer: m.IngestAnswer = await self._transport.request(
            "POST", "/api/v1/ingest", body=dict(body), idempotency_key=idempotency_key, once=True
        )
        return answer

    async def search(self, **body: Unpack[m.SearchInputRequest]) -> m.SearchAnswer:
        """The memories that answer a question, best first.

        Each has its score and signals.
        """
        answer: m.SearchAnswer = await self._transport.request(
            "POST", "/api/v1/search", body=dict(body), repeatable=True
        )
        return answer

    async def search_batch(self, **body: Unpack[m.SearchBatchInputRequest]) -> m.SearchBatchAnswer:
        """Up to fifty searches in one request, an answer for each; one that is wrong refuses them all.

        Each counts as a request against the key's rate.
        """
        answer: m.SearchBatchAnswer = await self._transport.request(
            "POST", "/api/v1/search/batch", body=dict(body), repeatable=True
        )
        return answer

    async def stats(self, **query: Unpack[m.StatsQuery]) -> m.StatsAnswer:
        """How many fragments there are, by status, tier and type; how many wait for their vector or for a person.

        Octets by tier too, and the `capacity` of the project and its tiers.
        """
        answer: m.StatsAnswer = await self._transport.request(
            "GET", "/api/v1/stats", query=dict(query), repeatable=True
        )
        return answer

    async def timeline(self, **query: Unpack[m.TimelineQuery]) -> m.EntryPage:
        """Decisions, consolidations, restores, merges, forks, backups, evictions, forgettings, deletions.

        Also containments, rollbacks, and what took one of them back. Newest first, of the namespaces that the key
        covers; what concerns all of the project is told to a key for all of it, where no namespace is asked for.
        """
        answer: m.EntryPage = await self._transport.request(
            "GET", "/api/v1/timeline", query=dict(query), repeatable=True
        )
        return answer

    async def timeline_all(self, **query: Unpack[m.TimelineQuery]) -> AsyncIterator[m.EntryAnswer]:
        """Each row of `timeline`, page after page."""
        async for row in self._transport.rows("/api/v1/timeline", dict(query)):
            yield row

    async def timeline_difference(self, **query: Unpack[m.TimelineDifferenceQuery]) -> m.DifferenceAnswer:
        """What was believed at one point and at another, key by key, and how many memories changed their status.

        Of claims that hold at the later point. Up to 2,000 memories whose claims changed; 410 further back than history
        is kept.
        """
        answer: m.DifferenceAnswer = await self._transport.request(
            "GET", "/api/v1/timeline/difference", query=dict(query), repeatable=True
        )
        return answer


class AsyncBackupsCalls:
    """What is asked of backups."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list(self, **query: Unpack[m.BackupsListQuery]) -> m.BackupPage:
        """A page of backups."""
        answer: m.BackupPage = await self._transport.request(
            "GET", "/api/v1/backups", query=dict(query), repeatable=True
        )
        return answer

    async def all(self, **query: Unpack[m.BackupsListQuery]) -> AsyncIterator[m.BackupAnswer]:
        """Each row of `list`, page after page."""
        async for row in self._transport.rows("/api/v1/backups", dict(query)):
            yield row

    async def make(
        self, *, idempotency_key: str | None = None, **body: Unpack[m.BackupInputRequest]
    ) -> m.OperationAnswer:
        """Starts a backup; the operation's report names it (`backup_id`).

        Takes a key for all of the project.
        """
        answer: m.OperationAnswer = await self._transport.request(
            "POST", "/api/v1/backups", body=dict(body), idempotency_key=idempotency_key, once=True
        )
        return answer

    async def read(self, backup_id: str, /, **query: Unpack[m.BackupsReadQuery]) -> m.BackupAnswer:
        """What it holds, and how far it was proven."""
        answer: m.BackupAnswer = await self._transport.request(
            "GET", "/api/v1/backups/{backup_id}", places={"backup_id": backup_id}, query=dict(query), repeatable=True
        )
        return answer

    async def delete(self, backup_id: str, /, **query: Unpack[m.BackupsDeleteQuery]) -> None:
        """Deletes it with its file; not while it is protected, or another goes on from it."""
        await self._transport.request(
            "DELETE", "/api/v1/backups/{backup_id}", places={"backup_id": backup_id}, query=dict(query)
        )

    async def download(self, backup_id: str, /, **query: Unpack[m.BackupsDownloadQuery]) -> bytes:
        """Streams the bundle; with `format=json` gives a small one as a V1 envelope."""
        answer: bytes = await self._transport.request(
            "GET",
            "/api/v1/backups/{backup_id}/download",
            places={"backup_id": backup_id},
            query=dict(query),
            repeatable=True,
            raw=True,
        )
        return answer

    async def drill(
        self, backup_id: str, /, *, idempotency_key: str | None = None, **query: Unpack[m.BackupsDrillQuery]
    ) -> m.OperationAnswer:
        """Restores it into temporary tables and compares what comes out.

        Nobody sees them.
        """
        answer: m.OperationAnswer = await self._transport.request(
            "POST",
            "/api/v1/backups/{backup_id}/drill",
            places={"backup_id": backup_id},
            query=dict(query),
            idempotency_key=idempotency_key,
            once=True,
        )
        return answer

    async def protect(
        self, backup_id: str, /, *, idempotency_key: str | None = None, **body: Unpack[m.ProtectInputRequest]
    ) -> m.BackupAnswer:
        """Keeps it from retention and deletion, or lets go of it."""
        answer: m.BackupAnswer = await self._transport.request(
            "POST",
            "/api/v1/backups/{backup_id}/protect",
            places={"backup_id": backup_id},
            body=dict(body),
            idempotency_key=idempotency_key,
            once=True,
        )
        return answer

    async def verify(
        self, backup_id: str, /, *, idempotency_key: str | None = None, **query: Unpack[m.BackupsVerifyQuery]
    ) -> m.OperationAnswer:
        """Reads it to its end: checksums, signature, counts, order."""
        answer: m.OperationAnswer = await self._transport.request(
            "POST",
            "/api/v1/backups/{backup_id}/verify",
            places={"backup_id": backup_id},
            query=dict(query),
            idempotency_key=idempotency_key,
            once=True,
        )
        return answer


class AsyncBridgesCalls:
    """What is asked of bridges."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def atlas_builds(
        self, *, idempotency_key: str | None = None, **body: Unpack[m.BuildInputRequest]
    ) -> m.StoredAnswer:
        """Remembers a build; told again under the same id, it changes what was told."""
        answer: m.StoredAnswer = await self._transport.request(
            "POST", "/api/v1/bridges/atlas/builds", body=dict(body), idempotency_key=idempotency_key, once=True
        )
        return answer

    async def atlas_enrich(self, **body: Unpack[m.EnrichInputRequest]) -> m.SearchAnswer:
        """The memories that answer it: first what ATLAS told, as far as it answers, then others, best first.

        `project_wide`, `top_k` and `floor` as in a search.
        """
        answer: m.SearchAnswer = await self._transport.request("POST", "/api/v1/bridges/atlas/enrich", body=dict(body))
        return answer

    async def atlas_retrospectives(
        self, *, idempotency_key: str | None = None, **body: Unpack[m.RetrospectiveInputRequest]
    ) -> m.StoredList:
        """Remembers each insight of a retrospective."""
        answer: m.StoredList = await self._transport.request(
            "POST", "/api/v1/bridges/atlas/retrospectives", body=dict(body), idempotency_key=idempotency_key, once=True
        )
        return answer

    async def atlas_tags(self, **body: Unpack[m.TagsInputRequest]) -> m.TagsAnswer:
        """What semantic tags of ATLAS mean here: tags of a fixed vocabulary, never none."""
        answer: m.TagsAnswer = await self._transport.request("POST", "/api/v1/bridges/atlas/tags", body=dict(body))
        return answer

    async def taste_vault_patterns(
        self, *, idempotency_key: str | None = None, **body: Unpack[m.PatternInputRequest]
    ) -> m.StoredAnswer:
        """Remembers a pattern; told again under the same id, it changes what was told."""
        answer: m.StoredAnswer = await self._transport.request(
            "POST", "/api/v1/bridges/taste-vault/patterns", body=dict(body), idempotency_key=idempotency_key, once=True
        )
        return answer

    async def taste_vault_reinforcements(
        self, *, idempotency_key: str | None = None, **body: Unpack[m.ReinforcementInputRequest]
    ) -> m.FragmentAnswer:
        """The pattern's memory counts as fresher and weightier.

        The pattern is that of `node_id`.
        """
        answer: m.FragmentAnswer = await self._transport.request(
            "POST",
            "/api/v1/bridges/taste-vault/reinforcements",
            body=dict(body),
            idempotency_key=idempotency_key,
            once=True,
        )
        return answer

    async def taste_vault_resolutions(
        self, *, idempotency_key: str | None = None, **body: Unpack[m.ResolutionInputRequest]
    ) -> m.StoredAnswer:
        """Remembers how a conflict was resolved, as a procedure."""
        answer: m.StoredAnswer = await self._transport.request(
            "POST",
            "/api/v1/bridges/taste-vault/resolutions",
            body=dict(body),
            idempotency_key=idempotency_key,
            once=True,
        )
        return answer

    async def taste_vault_supplement(self, **body: Unpack[m.SupplementInputRequest]) -> m.SearchAnswer:
        """The memories that fit a context, at most `limit`: first the vault's own, as far as they fit, then others.

        `project_wide` and `floor` as in a search.
        """
        answer: m.SearchAnswer = await self._transport.request(
            "POST", "/api/v1/bridges/taste-vault/supplement", body=dict(body)
        )
        return answer

    async def universes_branches(
        self, *, idempotency_key: str | None = None, **body: Unpack[m.BranchInputRequest]
    ) -> m.BranchAnswer | m.OperationAnswer:
        """Forks the source into the branch's namespace; a large one as an operation: 202. Told twice it is one.

        With `user` only that user's scope.
        """
        answer: m.BranchAnswer | m.OperationAnswer = await self._transport.request(
            "POST", "/api/v1/bridges/universes/branches", body=dict(body), idempotency_key=idempotency_key, once=True
        )
        return answer

    async def universes_merges(
        self, *, idempotency_key: str | None = None, **body: Unpack[m.BranchMergeInputRequest]
    ) -> m.OperationAnswer:
        """Merges the branch into the target; follow the operation under its id."""
        answer: m.OperationAnswer = await self._transport.request(
            "POST", "/api/v1/bridges/universes/merges", body=dict(body), idempotency_key=idempotency_key, once=True
        )
        return answer


class AsyncCasesCalls:
    """What is asked of cases."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list(self, **query: Unpack[m.CasesListQuery]) -> m.CasePage:
        """A page of cases, one for each key of which a value waits: what stands, and every challenger's value.

        Conflicts that are about no key, as disputes and versions of a backup, stand in `/conflicts` alone.
        """
        answer: m.CasePage = await self._transport.request("GET", "/api/v1/cases", query=dict(query), repeatable=True)
        return answer

    async def all(self, **query: Unpack[m.CasesListQuery]) -> AsyncIterator[m.CaseAnswer]:
        """Each row of `list`, page after page."""
        async for row in self._transport.rows("/api/v1/cases", dict(query)):
            yield row

    async def read(self, case_id: str, /, **query: Unpack[m.CasesReadQuery]) -> m.CaseAnswer:
        """The case, also when it is settled."""
        answer: m.CaseAnswer = await self._transport.request(
            "GET", "/api/v1/cases/{case_id}", places={"case_id": case_id}, query=dict(query), repeatable=True
        )
        return answer

    async def resolve(
        self, case_id: str, /, *, idempotency_key: str | None = None, **body: Unpack[m.CaseDecisionInputRequest]
    ) -> m.CaseAnswer:
        """Settles all that waits on the key at once: what is chosen holds, every other challenger is rejected.

        One value, several (`keep`: as a pair, one after the other, or the predicate takes many), or what you type.
        Either all of it is decided or nothing. A text is decided as a whole, on every key that it speaks of.
        """
        answer: m.CaseAnswer = await self._transport.request(
            "POST",
            "/api/v1/cases/{case_id}/resolve",
            places={"case_id": case_id},
            body=dict(body),
            idempotency_key=idempotency_key,
            once=True,
        )
        return answer

    async def undo(
        self, case_id: str, /, *, idempotency_key: str | None = None, **body: Unpack[m.NothingRequest]
    ) -> m.CaseAnswer:
        """Takes the last decision of the case back, wholly, or says why it can't be."""
        answer: m.CaseAnswer = await self._transport.request(
            "POST",
            "/api/v1/cases/{case_id}/undo",
            places={"case_id": case_id},
            body=dict(body),
            idempotency_key=idempotency_key,
            once=True,
        )
        return answer

    async def clear(
        self, *, idempotency_key: str | None = None, **body: Unpack[m.ClearInputRequest]
    ) -> m.ClearingAnswer:
        """Rejects every challenger that meets the conditions, oldest first, up to a hundred in one request.

        Each is a decision of its own, which can be undone; what can't be rejected stops no other. A text is rejected as
        a whole, on every key that it speaks of.
        """
        answer: m.ClearingAnswer = await self._transport.request(
            "POST", "/api/v1/cases/clear", body=dict(body), idempotency_key=idempotency_key, once=True
        )
        return answer

    async def groups(self, **query: Unpack[m.CasesGroupsQuery]) -> m.CaseGroupsAnswer:
        """How much waits by source, owner, namespace or predicate, the largest first, up to two hundred."""
        answer: m.CaseGroupsAnswer = await self._transport.request(
            "GET", "/api/v1/cases/groups", query=dict(query), repeatable=True
        )
        return answer


class AsyncClaimsCalls:
    """What is asked of claims."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list(self, **query: Unpack[m.ClaimsListQuery]) -> m.BelievedPage:
        """The claims that held at `as_of` (default now), as they were believed at `known_at` (default now).

        Subject and predicate in any spelling; `session_id` asks what is believed in that session. Newest first.
        """
        answer: m.BelievedPage = await self._transport.request(
            "GET", "/api/v1/claims", query=dict(query), repeatable=True
        )
        return answer

    async def all(self, **query: Unpack[m.ClaimsListQuery]) -> AsyncIterator[m.BelievedAnswer]:
        """Each row of `list`, page after page."""
        async for row in self._transport.rows("/api/v1/claims", dict(query)):
            yield row

    async def timeline(self, **query: Unpack[m.ClaimsTimelineQuery]) -> m.LifePage:
        """Every claim on a key that was not forgotten, in the order in which they begin to hold.

        `beliefs` says from when until when it was believed in which state, value and period.
        """
        answer: m.LifePage = await self._transport.request(
            "GET", "/api/v1/claims/timeline", query=dict(query), repeatable=True
        )
        return answer

    async def timeline_all(self, **query: Unpack[m.ClaimsTimelineQuery]) -> AsyncIterator[m.LifeAnswer]:
        """Each row of `timeline`, page after page."""
        async for row in self._transport.rows("/api/v1/claims/timeline", dict(query)):
            yield row


class AsyncClustersCalls:
    """What is asked of clusters."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list(self, **query: Unpack[m.ClustersListQuery]) -> m.ClusterPage:
        """A page of clusters of at least `min_size` members, those whose oldest memory is newest first."""
        answer: m.ClusterPage = await self._transport.request(
            "GET", "/api/v1/clusters", query=dict(query), repeatable=True
        )
        return answer

    async def all(self, **query: Unpack[m.ClustersListQuery]) -> AsyncIterator[m.ClusterAnswer]:
        """Each row of `list`, page after page."""
        async for row in self._transport.rows("/api/v1/clusters", dict(query)):
            yield row

    async def label(self, cluster_id: str, /, **body: Unpack[m.PatchedLabelInputRequest]) -> m.ClusterAnswer:
        """Calls it something. The label outlives rebuilds and every single member.

        A `label` of null takes it away.
        """
        answer: m.ClusterAnswer = await self._transport.request(
            "PATCH", "/api/v1/clusters/{cluster_id}", places={"cluster_id": cluster_id}, body=dict(body)
        )
        return answer


class AsyncConflictsCalls:
    """What is asked of conflicts."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list(self, **query: Unpack[m.ConflictsListQuery]) -> m.ConflictPage:
        """A page of conflicts, newest first; subject and predicate in any spelling.

        `status` is `pending` unless it is said: `resolved` or `all`.
        """
        answer: m.ConflictPage = await self._transport.request(
            "GET", "/api/v1/conflicts", query=dict(query), repeatable=True
        )
        return answer

    async def all(self, **query: Unpack[m.ConflictsListQuery]) -> AsyncIterator[m.ConflictAnswer]:
        """Each row of `list`, page after page."""
        async for row in self._transport.rows("/api/v1/conflicts", dict(query)):
            yield row

    async def read(self, conflict_id: str, /, **query: Unpack[m.ConflictsReadQuery]) -> m.ConflictAnswer:
        """The conflict with both sides.

        With their authorities and trusts.
        """
        answer: m.ConflictAnswer = await self._transport.request(
            "GET",
            "/api/v1/conflicts/{conflict_id}",
            places={"conflict_id": conflict_id},
            query=dict(query),
            repeatable=True,
        )
        return answer

    async def resolve(
        self, conflict_id: str, /, *, idempotency_key: str | None = None, **body: Unpack[m.ResolveInputRequest]
    ) -> m.ConflictAnswer:
        """Settles the conflict, with the others of the same newcomer. A key can't settle what its owner wrote.

        `action` is `supersede`, `reject` or `keep_both` (`keep`: `pair`, `period` or `predicate`), on the `revision`
        that was read.
        """
        answer: m.ConflictAnswer = await self._transport.request(
            "POST",
            "/api/v1/conflicts/{conflict_id}/resolve",
            places={"conflict_id": conflict_id},
            body=dict(body),
            idempotency_key=idempotency_key,
            once=True,
        )
        return answer

    async def undo(
        self, conflict_id: str, /, *, idempotency_key: str | None = None, **body: Unpack[m.NothingRequest]
    ) -> m.ConflictAnswer:
        """Takes the decision back: everything is as before it, or the answer says why it can't be."""
        answer: m.ConflictAnswer = await self._transport.request(
            "POST",
            "/api/v1/conflicts/{conflict_id}/undo",
            places={"conflict_id": conflict_id},
            body=dict(body),
            idempotency_key=idempotency_key,
            once=True,
        )
        return answer


class AsyncConsolidationsCalls:
    """What is asked of consolidations."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list(self, **query: Unpack[m.ConsolidationsListQuery]) -> m.ConsolidationPage:
        """A page of runs, dry ones too, with their reports."""
        answer: m.ConsolidationPage = await self._transport.request(
            "GET", "/api/v1/consolidations", query=dict(query), repeatable=True
        )
        return answer

    async def all(self, **query: Unpack[m.ConsolidationsListQuery]) -> AsyncIterator[m.ConsolidationAnswer]:
        """Each row of `list`, page after page."""
        async for row in self._transport.rows("/api/v1/consolidations", dict(query)):
            yield row

    async def start(
        self, *, idempotency_key: str | None = None, **body: Unpack[m.ConsolidationInputRequest]
    ) -> m.OperationAnswer:
        """Starts a consolidation, looks only (`dry_run`), or applies a plan that was looked at (`plan_id`).

        By `POST /operations` also `leave_out`: the numbers of steps that are not done.
        """
        answer: m.OperationAnswer = await self._transport.request(
            "POST", "/api/v1/consolidations", body=dict(body), idempotency_key=idempotency_key, once=True
        )
        return answer

    async def undo(
        self, operation_id: str, /, *, idempotency_key: str | None = None, **query: Unpack[m.ConsolidationsUndoQuery]
    ) -> m.OperationAnswer:
        """Takes back what a run did; follow the undo under its own id."""
        answer: m.OperationAnswer = await self._transport.request(
            "POST",
            "/api/v1/consolidations/{operation_id}/undo",
            places={"operation_id": operation_id},
            query=dict(query),
            idempotency_key=idempotency_key,
            once=True,
        )
        return answer


class AsyncContainmentsCalls:
    """What is asked of containments."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list(self, **query: Unpack[m.ContainmentsListQuery]) -> m.ContainmentPage:
        """A page of the containments of the project, newest first."""
        answer: m.ContainmentPage = await self._transport.request(
            "GET", "/api/v1/containments", query=dict(query), repeatable=True
        )
        return answer

    async def all(self, **query: Unpack[m.ContainmentsListQuery]) -> AsyncIterator[m.ContainmentAnswer]:
        """Each row of `list`, page after page."""
        async for row in self._transport.rows("/api/v1/containments", dict(query)):
            yield row

    async def create(
        self, *, idempotency_key: str | None = None, **body: Unpack[m.ContainmentInputRequest]
    ) -> m.ContainmentAnswer:
        """Sets aside what was written, and what came to be believed through it; `dry_run` says what that would be.

        Its memories and what was made of them are quarantined, its keys revoked, its votes count no more. What they had
        taken the place of stands again, and what waited because of them is heard anew: belief is as if they had not
        been written. What somebody else said too, or a person chose, stays. One `undo` takes all of it back.
        """
        answer: m.ContainmentAnswer = await self._transport.request(
            "POST", "/api/v1/containments", body=dict(body), idempotency_key=idempotency_key, once=True
        )
        return answer

    async def read(self, containment_id: str, /, **query: Unpack[m.ContainmentsReadQuery]) -> m.ContainmentAnswer:
        """What it set aside, and who took it back."""
        answer: m.ContainmentAnswer = await self._transport.request(
            "GET",
            "/api/v1/containments/{containment_id}",
            places={"containment_id": containment_id},
            query=dict(query),
            repeatable=True,
        )
        return answer

    async def undo(
        self, containment_id: str, /, *, idempotency_key: str | None = None, **body: Unpack[m.NothingRequest]
    ) -> m.ContainmentAnswer:
        """Lets everything be as before it, wholly, or says what stands in the way; its keys work again."""
        answer: m.ContainmentAnswer = await self._transport.request(
            "POST",
            "/api/v1/containments/{containment_id}/undo",
            places={"containment_id": containment_id},
            body=dict(body),
            idempotency_key=idempotency_key,
            once=True,
        )
        return answer


class AsyncDigestsCalls:
    """What is asked of digests."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def make(self, *, idempotency_key: str | None = None, **body: Unpack[m.DigestInputRequest]) -> m.StoredAnswer:
        """Makes a digest of the memories' best sentences, believed as the weakest of them, and archives them.

        Of 3 to 50 `ids`, at once.
        """
        answer: m.StoredAnswer = await self._transport.request(
            "POST", "/api/v1/digests", body=dict(body), idempotency_key=idempotency_key, once=True
        )
        return answer


class AsyncEpisodesCalls:
    """What is asked of episodes."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list(self, **query: Unpack[m.EpisodesListQuery]) -> m.EpisodePage:
        """A page of episodes, those that began last first: conversations, and what somebody put together."""
        answer: m.EpisodePage = await self._transport.request(
            "GET", "/api/v1/episodes", query=dict(query), repeatable=True
        )
        return answer

    async def all(self, **query: Unpack[m.EpisodesListQuery]) -> AsyncIterator[m.EpisodeAnswer]:
        """Each row of `list`, page after page."""
        async for row in self._transport.rows("/api/v1/episodes", dict(query)):
            yield row

    async def make(
        self, *, idempotency_key: str | None = None, **body: Unpack[m.EpisodeInputRequest]
    ) -> m.WholeEpisodeAnswer:
        """Puts memories of a namespace together, in the order given."""
        answer: m.WholeEpisodeAnswer = await self._transport.request(
            "POST", "/api/v1/episodes", body=dict(body), idempotency_key=idempotency_key, once=True
        )
        return answer

    async def read(self, episode_id: str, /, **query: Unpack[m.EpisodesReadQuery]) -> m.WholeEpisodeAnswer:
        """The episode with up to 200 of its memories, in the order in which they were said or put.

        With a summary.
        """
        answer: m.WholeEpisodeAnswer = await self._transport.request(
            "GET",
            "/api/v1/episodes/{episode_id}",
            places={"episode_id": episode_id},
            query=dict(query),
            repeatable=True,
        )
        return answer


class AsyncErasuresCalls:
    """What is asked of erasures."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def lift(self, **body: Unpack[m.LiftInputRequest]) -> m.LiftAnswer:
        """Lets a forgotten text be said again; history keeps who did. 404 when it was not forgotten there.

        In all of the project, or in one `namespace`.
        """
        answer: m.LiftAnswer = await self._transport.request("POST", "/api/v1/erasures/lift", body=dict(body))
        return answer


class AsyncEventsCalls:
    """What is asked of events."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list(self, **query: Unpack[m.EventsListQuery]) -> m.NewsAnswer:
        """What happened to beliefs in the namespaces that the key covers: ids, never text.

        Ask again with `since` = `next`. With `Accept: text/event-stream` events are sent as they happen, from
        `Last-Event-ID`, `since` or now on; a stream ends after five minutes, come back then. A key may have
        EVENT_STREAMS_PER_KEY of them open.
        """
        answer: m.NewsAnswer = await self._transport.request(
            "GET", "/api/v1/events", query=dict(query), repeatable=True
        )
        return answer


class AsyncEvictionsCalls:
    """What is asked of evictions."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def preview(self, **query: Unpack[m.EvictionsPreviewQuery]) -> m.PreviewAnswer:
        """The first to leave of what the key covers: the weakest first, and of equals the lowest priority.

        It says how full the project is, and of each its `authority` and whether it `is_protected`.
        """
        answer: m.PreviewAnswer = await self._transport.request(
            "GET", "/api/v1/evictions/preview", query=dict(query), repeatable=True
        )
        return answer


class AsyncFragmentsCalls:
    """What is asked of fragments."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list(self, **query: Unpack[m.FragmentsListQuery]) -> m.FragmentPageOrCount:
        """A page of fragments, newest first.

        `status` several times: one of them. `ids` (comma-separated) answers those fragments in every status; `count`
        how many there are instead.
        """
        answer: m.FragmentPageOrCount = await self._transport.request(
            "GET", "/api/v1/fragments", query=dict(query), repeatable=True
        )
        return answer

    async def all(self, **query: Unpack[m.FragmentsListQuery]) -> AsyncIterator[m.FragmentAnswer]:
        """Each row of `list`, page after page."""
        async for row in self._transport.rows("/api/v1/fragments", dict(query)):
            yield row

    async def store(
        self, *, idempotency_key: str | None = None, **body: Unpack[m.FragmentInputRequest]
    ) -> m.StoredAnswer:
        """Stores one fragment.

        Under a `key` of its own (at most 512 characters, once in a namespace) it replaces what stands there: 200,
        `replaced: true`, the same id, a new revision through the gate. Only its owner may, and nobody with less
        authority (403); it keeps the authority with which it was first stored.
        """
        answer: m.StoredAnswer = await self._transport.request(
            "POST", "/api/v1/fragments", body=dict(body), idempotency_key=idempotency_key, once=True
        )
        return answer

    async def read(self, fragment_id: str, /, **query: Unpack[m.FragmentsReadQuery]) -> m.FragmentAnswer:
        """The fragment; `include=embedding` adds its vector under the active model."""
        answer: m.FragmentAnswer = await self._transport.request(
            "GET",
            "/api/v1/fragments/{fragment_id}",
            places={"fragment_id": fragment_id},
            query=dict(query),
            repeatable=True,
        )
        return answer

    async def change(
        self, fragment_id: str, /, *, if_match: str | None = None, **body: Unpack[m.PatchedFragmentChangeRequest]
    ) -> m.ChangedAnswer:
        """Changes fields; a new text keeps the old one in the history, and passes the gate as when it is stored.

        `revision` or `If-Match` guards against lost updates. The newest 500 former texts are kept; only its writer or a
        person may give a new one.
        """
        answer: m.ChangedAnswer = await self._transport.request(
            "PATCH",
            "/api/v1/fragments/{fragment_id}",
            places={"fragment_id": fragment_id},
            body=dict(body),
            if_match=if_match,
        )
        return answer

    async def forget(
        self, fragment_id: str, /, *, if_match: str | None = None, **query: Unpack[m.FragmentsForgetQuery]
    ) -> None:
        """Forgets the fragment for good; a keyed fingerprint stops the text from coming back to its namespace.

        To an admin of the project `X-NovaMem-Backups` names the backups that hold it still, and `purge_backups`
        deletes those that are not protected. `everywhere=true` bars the text in the whole project;
        `X-NovaMem-Restored` names what stands again.
        """
        await self._transport.request(
            "DELETE",
            "/api/v1/fragments/{fragment_id}",
            places={"fragment_id": fragment_id},
            query=dict(query),
            if_match=if_match,
        )

    async def archive(
        self,
        fragment_id: str,
        /,
        *,
        idempotency_key: str | None = None,
        if_match: str | None = None,
        **body: Unpack[m.NothingRequest],
    ) -> m.FragmentAnswer:
        """Archives the fragment.

        It is out of all default answers, reversibly.
        """
        answer: m.FragmentAnswer = await self._transport.request(
            "POST",
            "/api/v1/fragments/{fragment_id}/archive",
            places={"fragment_id": fragment_id},
            body=dict(body),
            idempotency_key=idempotency_key,
            if_match=if_match,
            once=True,
        )
        return answer

    async def compact(
        self,
        fragment_id: str,
        /,
        *,
        idempotency_key: str | None = None,
        if_match: str | None = None,
        **body: Unpack[m.CompactInputRequest],
    ) -> m.CompactAnswer:
        """Shortens the text whatever its age, or gives it back while the archive holds it.

        To the `level` `summary`, `keywords` or `hash`; `full` gives it back.
        """
        answer: m.CompactAnswer = await self._transport.request(
            "POST",
            "/api/v1/fragments/{fragment_id}/compact",
            places={"fragment_id": fragment_id},
            body=dict(body),
            idempotency_key=idempotency_key,
            if_match=if_match,
            once=True,
        )
        return answer

    async def corroborate(
        self,
        fragment_id: str,
        /,
        *,
        idempotency_key: str | None = None,
        if_match: str | None = None,
        **body: Unpack[m.CorroborateInputRequest],
    ) -> m.VoteAnswer:
        """Casts the caller's vote; the last one of an owner counts.

        `reinforce`: it helped; it is fresher, weightier, more trusted. `dispute`: it is wrong, with a `reason`; below
        a trust of .4 it is disputed, and of a weaker owner it opens a review. `corroborate`: another source
        (`source_id`) says so too.
        """
        answer: m.VoteAnswer = await self._transport.request(
            "POST",
            "/api/v1/fragments/{fragment_id}/corroborate",
            places={"fragment_id": fragment_id},
            body=dict(body),
            idempotency_key=idempotency_key,
            if_match=if_match,
            once=True,
        )
        return answer

    async def dispute(
        self,
        fragment_id: str,
        /,
        *,
        idempotency_key: str | None = None,
        if_match: str | None = None,
        **body: Unpack[m.DisputeInputRequest],
    ) -> m.VoteAnswer:
        """Casts the caller's vote; the last one of an owner counts.

        `reinforce`: it helped; it is fresher, weightier, more trusted. `dispute`: it is wrong, with a `reason`; below
        a trust of .4 it is disputed, and of a weaker owner it opens a review. `corroborate`: another source
        (`source_id`) says so too.
        """
        answer: m.VoteAnswer = await self._transport.request(
            "POST",
            "/api/v1/fragments/{fragment_id}/dispute",
            places={"fragment_id": fragment_id},
            body=dict(body),
            idempotency_key=idempotency_key,
            if_match=if_match,
            once=True,
        )
        return answer

    async def history(self, fragment_id: str, /, **query: Unpack[m.FragmentsHistoryQuery]) -> m.HistoryAnswer:
        """Former texts, and every change with who made it and why.

        It has what people ruled on it, too.
        """
        answer: m.HistoryAnswer = await self._transport.request(
            "GET",
            "/api/v1/fragments/{fragment_id}/history",
            places={"fragment_id": fragment_id},
            query=dict(query),
            repeatable=True,
        )
        return answer

    async def reinforce(
        self,
        fragment_id: str,
        /,
        *,
        idempotency_key: str | None = None,
        if_match: str | None = None,
        **body: Unpack[m.NothingRequest],
    ) -> m.VoteAnswer:
        """Casts the caller's vote; the last one of an owner counts.

        `reinforce`: it helped; it is fresher, weightier, more trusted. `dispute`: it is wrong, with a `reason`; below
        a trust of .4 it is disputed, and of a weaker owner it opens a review. `corroborate`: another source
        (`source_id`) says so too.
        """
        answer: m.VoteAnswer = await self._transport.request(
            "POST",
            "/api/v1/fragments/{fragment_id}/reinforce",
            places={"fragment_id": fragment_id},
            body=dict(body),
            idempotency_key=idempotency_key,
            if_match=if_match,
            once=True,
        )
        return answer

    async def reinstate(
        self,
        fragment_id: str,
        /,
        *,
        idempotency_key: str | None = None,
        if_match: str | None = None,
        **body: Unpack[m.ReinstateInputRequest],
    ) -> m.ReinstatedAnswer:
        """Lets a memory stand again that another one replaced without a person; what stands against it yields.

        The decisions hold as any other's, and each can be undone.
        """
        answer: m.ReinstatedAnswer = await self._transport.request(
            "POST",
            "/api/v1/fragments/{fragment_id}/reinstate",
            places={"fragment_id": fragment_id},
            body=dict(body),
            idempotency_key=idempotency_key,
            if_match=if_match,
            once=True,
        )
        return answer

    async def tier(
        self,
        fragment_id: str,
        /,
        *,
        idempotency_key: str | None = None,
        if_match: str | None = None,
        **body: Unpack[m.TierChangeRequest],
    ) -> m.FragmentAnswer:
        """Moves the fragment to another tier; 409 when it is not where the caller thinks.

        The tiers are `hot`, `warm` and `cold`.
        """
        answer: m.FragmentAnswer = await self._transport.request(
            "POST",
            "/api/v1/fragments/{fragment_id}/tier",
            places={"fragment_id": fragment_id},
            body=dict(body),
            idempotency_key=idempotency_key,
            if_match=if_match,
            once=True,
        )
        return answer

    async def unarchive(
        self,
        fragment_id: str,
        /,
        *,
        idempotency_key: str | None = None,
        if_match: str | None = None,
        **body: Unpack[m.NothingRequest],
    ) -> m.FragmentAnswer:
        """Lets the fragment stand again.

        As far as the gate allows.
        """
        answer: m.FragmentAnswer = await self._transport.request(
            "POST",
            "/api/v1/fragments/{fragment_id}/unarchive",
            places={"fragment_id": fragment_id},
            body=dict(body),
            idempotency_key=idempotency_key,
            if_match=if_match,
            once=True,
        )
        return answer

    async def archive_by_key(
        self, *, idempotency_key: str | None = None, **body: Unpack[m.NamedInputRequest]
    ) -> m.FragmentAnswer:
        """Archives the fragment under a key; stored under the key again, it stands again."""
        answer: m.FragmentAnswer = await self._transport.request(
            "POST", "/api/v1/fragments/archive", body=dict(body), idempotency_key=idempotency_key, once=True
        )
        return answer

    async def store_batch(
        self, *, idempotency_key: str | None = None, **body: Unpack[m.FragmentBatchRequest]
    ) -> m.BatchAnswer:
        """Stores up to a thousand fragments in one transaction; a result per item, in order.

        An item whose text was forgotten is reported by itself and the others are stored. It answers `{"status":
        "blocked_by_erasure", "code": "blocked_by_erasure"}` in its place. `embed: "later"` leaves vectors to the
        worker.
        """
        answer: m.BatchAnswer = await self._transport.request(
            "POST", "/api/v1/fragments/batch", body=dict(body), idempotency_key=idempotency_key, once=True
        )
        return answer


class AsyncModelsCalls:
    """What is asked of models."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list(self, **query: Unpack[m.ModelsListQuery]) -> m.ModelPage:
        """A page of models, newest first.

        Everything else about models belongs to the operator.
        """
        answer: m.ModelPage = await self._transport.request("GET", "/api/v1/models", query=dict(query), repeatable=True)
        return answer

    async def all(self, **query: Unpack[m.ModelsListQuery]) -> AsyncIterator[m.ModelAnswer]:
        """Each row of `list`, page after page."""
        async for row in self._transport.rows("/api/v1/models", dict(query)):
            yield row

    async def read(self, model_id: str, /, **query: Unpack[m.ModelsReadQuery]) -> m.ModelDetails:
        """The model, with how far it is in this project.

        It says how many of the project's fragments have no vector of it yet.
        """
        answer: m.ModelDetails = await self._transport.request(
            "GET", "/api/v1/models/{model_id}", places={"model_id": model_id}, query=dict(query), repeatable=True
        )
        return answer


class AsyncNamespacesCalls:
    """What is asked of namespaces."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list(self, **query: Unpack[m.NamespacesListQuery]) -> m.NamespacePage:
        """The namespaces that the key covers, by name."""
        answer: m.NamespacePage = await self._transport.request(
            "GET", "/api/v1/namespaces", query=dict(query), repeatable=True
        )
        return answer

    async def all(self, **query: Unpack[m.NamespacesListQuery]) -> AsyncIterator[m.NamespaceAnswer]:
        """Each row of `list`, page after page."""
        async for row in self._transport.rows("/api/v1/namespaces", dict(query)):
            yield row

    async def make(
        self, *, idempotency_key: str | None = None, **body: Unpack[m.NamespaceInputRequest]
    ) -> m.NamespaceAnswer:
        """Makes a namespace; one that exists is answered as it is."""
        answer: m.NamespaceAnswer = await self._transport.request(
            "POST", "/api/v1/namespaces", body=dict(body), idempotency_key=idempotency_key, once=True
        )
        return answer

    async def set(self, **body: Unpack[m.PatchedNamespaceChangeRequest]) -> m.ChangedNamespaceAnswer:
        """Sets what a namespace archives of its faded memories, and the language of its words.

        `archive_policy` is `episodic` or `all`; `all` is refused (403) to a ceiling below what it holds. `language`
        is a text search configuration of Postgres; another one starts an operation that builds the keywords anew.
        """
        answer: m.ChangedNamespaceAnswer = await self._transport.request("PATCH", "/api/v1/namespaces", body=dict(body))
        return answer

    async def delete(self, name: str, /, **query: Unpack[m.NamespacesDeleteQuery]) -> m.OperationAnswer:
        """Deletes the namespace with all that it holds; answers 202 with the operation that does.

        Only with `expected_count`, or its name as `confirm`. Asked again while it goes, it answers the same operation.
        """
        answer: m.OperationAnswer = await self._transport.request(
            "DELETE", "/api/v1/namespaces/{name}", places={"name": name}, query=dict(query)
        )
        return answer

    async def compare(self, name: str, /, **query: Unpack[m.NamespacesCompareQuery]) -> m.ComparisonAnswer:
        """Of which keys this namespace believes otherwise than another one, and what: a branch beside what lives.

        Up to 2,000 memories that claim something of such keys, else 409 `too_much_changed`.
        """
        answer: m.ComparisonAnswer = await self._transport.request(
            "GET", "/api/v1/namespaces/{name}/comparison", places={"name": name}, query=dict(query), repeatable=True
        )
        return answer

    async def fork(
        self, name: str, /, *, idempotency_key: str | None = None, **body: Unpack[m.ForkInputRequest]
    ) -> m.OperationAnswer:
        """Copies the namespace into a new or empty one; the report counts what was copied."""
        answer: m.OperationAnswer = await self._transport.request(
            "POST",
            "/api/v1/namespaces/{name}/fork",
            places={"name": name},
            body=dict(body),
            idempotency_key=idempotency_key,
            once=True,
        )
        return answer

    async def merge(
        self, name: str, /, *, idempotency_key: str | None = None, **body: Unpack[m.MergeInputRequest]
    ) -> m.OperationAnswer:
        """Replays what the namespace wrote through the target's gate; the report lists what became of it.

        `dry_run` only plans; `plan_id` applies that plan.
        """
        answer: m.OperationAnswer = await self._transport.request(
            "POST",
            "/api/v1/namespaces/{name}/merge",
            places={"name": name},
            body=dict(body),
            idempotency_key=idempotency_key,
            once=True,
        )
        return answer


class AsyncNoticesCalls:
    """What is asked of notices."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list(self, **query: Unpack[m.NoticesListQuery]) -> m.NoticePage:
        """A page of recall notices, newest first: ids, never text.

        One for each answer, as long as its receipt is kept, and each memory in it that was superseded, ruled out,
        disputed or contained since, or stands again. Of the namespaces and users that the key covers; `mine`: of the
        answers that it got itself.
        """
        answer: m.NoticePage = await self._transport.request(
            "GET", "/api/v1/notices", query=dict(query), repeatable=True
        )
        return answer

    async def all(self, **query: Unpack[m.NoticesListQuery]) -> AsyncIterator[m.NoticeAnswer]:
        """Each row of `list`, page after page."""
        async for row in self._transport.rows("/api/v1/notices", dict(query)):
            yield row


class AsyncOperationsCalls:
    """What is asked of operations."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list(self, **query: Unpack[m.OperationsListQuery]) -> m.OperationPage:
        """A page of operations."""
        answer: m.OperationPage = await self._transport.request(
            "GET", "/api/v1/operations", query=dict(query), repeatable=True
        )
        return answer

    async def all(self, **query: Unpack[m.OperationsListQuery]) -> AsyncIterator[m.OperationAnswer]:
        """Each row of `list`, page after page."""
        async for row in self._transport.rows("/api/v1/operations", dict(query)):
            yield row

    async def start(
        self, *, idempotency_key: str | None = None, **body: Unpack[m.OperationInputRequest]
    ) -> m.OperationAnswer:
        """Starts a job; follow it under its id.

        `rebuild` with `options.target`: `keywords embeddings entities links graph episodes clusters`; `consolidate`
        with a `namespace`; `tier`, `compact`, `evict`, `archive`. `dry_run` tells what it would do.
        """
        answer: m.OperationAnswer = await self._transport.request(
            "POST", "/api/v1/operations", body=dict(body), idempotency_key=idempotency_key, once=True
        )
        return answer

    async def read(self, operation_id: str, /, **query: Unpack[m.OperationsReadQuery]) -> m.OperationAnswer:
        """How far the job is."""
        answer: m.OperationAnswer = await self._transport.request(
            "GET",
            "/api/v1/operations/{operation_id}",
            places={"operation_id": operation_id},
            query=dict(query),
            repeatable=True,
        )
        return answer

    async def cancel(
        self, operation_id: str, /, *, idempotency_key: str | None = None, **query: Unpack[m.OperationsCancelQuery]
    ) -> m.OperationAnswer:
        """Asks the job to end between two batches; a queued one ends at once."""
        answer: m.OperationAnswer = await self._transport.request(
            "POST",
            "/api/v1/operations/{operation_id}/cancel",
            places={"operation_id": operation_id},
            query=dict(query),
            idempotency_key=idempotency_key,
            once=True,
        )
        return answer

    async def undo(
        self, operation_id: str, /, *, idempotency_key: str | None = None, **query: Unpack[m.OperationsUndoQuery]
    ) -> m.OperationAnswer:
        """Takes back what a consolidation did; follow the undo under its own id.

        Or a merge, a rollback, a restore, a compaction, an eviction or a putting away.
        """
        answer: m.OperationAnswer = await self._transport.request(
            "POST",
            "/api/v1/operations/{operation_id}/undo",
            places={"operation_id": operation_id},
            query=dict(query),
            idempotency_key=idempotency_key,
            once=True,
        )
        return answer


class AsyncPacksCalls:
    """What is asked of packs."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def make(
        self, *, idempotency_key: str | None = None, **body: Unpack[m.PackInputRequest]
    ) -> m.OperationAnswer:
        """Packs a namespace; the operation's report names the pack (`pack_id`)."""
        answer: m.OperationAnswer = await self._transport.request(
            "POST", "/api/v1/packs", body=dict(body), idempotency_key=idempotency_key, once=True
        )
        return answer

    async def download(self, operation_id: str, /, **query: Unpack[m.PacksDownloadQuery]) -> bytes:
        """The SQLite file: `manage.py pack search` reads it offline, `pack import` brings it back."""
        answer: bytes = await self._transport.request(
            "GET",
            "/api/v1/packs/{operation_id}/download",
            places={"operation_id": operation_id},
            query=dict(query),
            repeatable=True,
            raw=True,
        )
        return answer


class AsyncPredicatesCalls:
    """What is asked of predicates."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list(self, **query: Unpack[m.PredicatesListQuery]) -> m.PredicatePage:
        """A page of registered predicates, newest first; with `builtin` all built-in ones instead."""
        answer: m.PredicatePage = await self._transport.request(
            "GET", "/api/v1/predicates", query=dict(query), repeatable=True
        )
        return answer

    async def all(self, **query: Unpack[m.PredicatesListQuery]) -> AsyncIterator[m.PredicateAnswer]:
        """Each row of `list`, page after page."""
        async for row in self._transport.rows("/api/v1/predicates", dict(query)):
            yield row

    async def register(
        self, *, idempotency_key: str | None = None, **body: Unpack[m.PredicateInputRequest]
    ) -> m.PredicateAnswer:
        """Registers a rule; what is not said is as in the built-in rule of that name, else one value, as text."""
        answer: m.PredicateAnswer = await self._transport.request(
            "POST", "/api/v1/predicates", body=dict(body), idempotency_key=idempotency_key, once=True
        )
        return answer

    async def change(
        self, *, if_match: str | None = None, **body: Unpack[m.PatchedPredicateChangeRequest]
    ) -> m.PredicateAnswer:
        """Changes the rule of that namespace and name, in any spelling of the name; standing claims follow."""
        answer: m.PredicateAnswer = await self._transport.request(
            "PATCH", "/api/v1/predicates", body=dict(body), if_match=if_match
        )
        return answer

    async def read(self, predicate_id: str, /, **query: Unpack[m.PredicatesReadQuery]) -> m.PredicateAnswer:
        """The rule."""
        answer: m.PredicateAnswer = await self._transport.request(
            "GET",
            "/api/v1/predicates/{predicate_id}",
            places={"predicate_id": predicate_id},
            query=dict(query),
            repeatable=True,
        )
        return answer

    async def change_by_id(
        self, predicate_id: str, /, *, if_match: str | None = None, **body: Unpack[m.PatchedRuleChangeRequest]
    ) -> m.PredicateAnswer:
        """Changes the rule; standing claims follow.

        `revision` or `If-Match` guards against lost updates.
        """
        answer: m.PredicateAnswer = await self._transport.request(
            "PATCH",
            "/api/v1/predicates/{predicate_id}",
            places={"predicate_id": predicate_id},
            body=dict(body),
            if_match=if_match,
        )
        return answer


class AsyncProjectsCalls:
    """What is asked of projects."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def delete(self, name: str, /, **query: Unpack[m.ProjectsDeleteQuery]) -> m.OperationAnswer:
        """Deletes the project with everything in it, this key too; answers 202 with the operation that does.

        Only with `expected_count`, or its name as `confirm`; of the key's own project.
        """
        answer: m.OperationAnswer = await self._transport.request(
            "DELETE", "/api/v1/projects/{name}", places={"name": name}, query=dict(query)
        )
        return answer


class AsyncProposalsCalls:
    """What is asked of proposals."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list(self, **query: Unpack[m.ProposalsListQuery]) -> m.ShownProposalPage:
        """What was proposed and became of it: 50 of a task at the most, and 30 minutes beyond its newest."""
        answer: m.ShownProposalPage = await self._transport.request(
            "GET", "/api/v1/proposals", query=dict(query), repeatable=True
        )
        return answer

    async def all(self, **query: Unpack[m.ProposalsListQuery]) -> AsyncIterator[m.ShownProposal]:
        """Each row of `list`, page after page."""
        async for row in self._transport.rows("/api/v1/proposals", dict(query)):
            yield row

    async def ask(
        self, *, idempotency_key: str | None = None, **body: Unpack[m.ProposalInputRequest]
    ) -> m.ShownProposal:
        """Asks the language model how to go about a task; the answer is judged before it may become a memory.

        `context` is a text or an object.
        """
        answer: m.ShownProposal = await self._transport.request(
            "POST", "/api/v1/proposals", body=dict(body), idempotency_key=idempotency_key, once=True
        )
        return answer

    async def accept(
        self, proposal_id: str, /, *, idempotency_key: str | None = None, **body: Unpack[m.NothingRequest]
    ) -> m.ShownProposal:
        """The newer memory of a supersession that waits replaces the older one. A key can't decide on its owner's.

        409 `already_resolved` or `not_applicable` when it can't, as when one was rewritten since it was proposed.
        """
        answer: m.ShownProposal = await self._transport.request(
            "POST",
            "/api/v1/proposals/{proposal_id}/accept",
            places={"proposal_id": proposal_id},
            body=dict(body),
            idempotency_key=idempotency_key,
            once=True,
        )
        return answer

    async def dismiss(
        self, proposal_id: str, /, *, idempotency_key: str | None = None, **body: Unpack[m.NothingRequest]
    ) -> m.ShownProposal:
        """Both memories stay as they are; it is not proposed again."""
        answer: m.ShownProposal = await self._transport.request(
            "POST",
            "/api/v1/proposals/{proposal_id}/dismiss",
            places={"proposal_id": proposal_id},
            body=dict(body),
            idempotency_key=idempotency_key,
            once=True,
        )
        return answer

    async def undo(
        self, proposal_id: str, /, *, idempotency_key: str | None = None, **body: Unpack[m.NothingRequest]
    ) -> m.ShownProposal:
        """Takes the decision back: both memories are as before it, the proposal waits; or it says why it can't.

        409 `cannot_undo` when something changed since.
        """
        answer: m.ShownProposal = await self._transport.request(
            "POST",
            "/api/v1/proposals/{proposal_id}/undo",
            places={"proposal_id": proposal_id},
            body=dict(body),
            idempotency_key=idempotency_key,
            once=True,
        )
        return answer

    async def stats(self, **query: Unpack[m.ProposalsStatsQuery]) -> m.ProposalStatsAnswer:
        """How many entries of how many tasks, in the namespaces that the key covers.

        And who judges.
        """
        answer: m.ProposalStatsAnswer = await self._transport.request(
            "GET", "/api/v1/proposals/stats", query=dict(query), repeatable=True
        )
        return answer


class AsyncRecallChecksCalls:
    """What is asked of recall checks."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list(self, **query: Unpack[m.RecallChecksListQuery]) -> m.RecallCheckPage:
        """A page of recall checks, newest first, each with how its last run went."""
        answer: m.RecallCheckPage = await self._transport.request(
            "GET", "/api/v1/recall-checks", query=dict(query), repeatable=True
        )
        return answer

    async def all(self, **query: Unpack[m.RecallChecksListQuery]) -> AsyncIterator[m.RecallCheckAnswer]:
        """Each row of `list`, page after page."""
        async for row in self._transport.rows("/api/v1/recall-checks", dict(query)):
            yield row

    async def keep(
        self, *, idempotency_key: str | None = None, **body: Unpack[m.RecallCheckInputRequest]
    ) -> m.KeptCheckAnswer:
        """Keeps a check: 201, or 200 and `replaced` where it stands instead of one of its namespace and name."""
        answer: m.KeptCheckAnswer = await self._transport.request(
            "POST", "/api/v1/recall-checks", body=dict(body), idempotency_key=idempotency_key, once=True
        )
        return answer

    async def read(self, check_id: str, /, **query: Unpack[m.RecallChecksReadQuery]) -> m.RecallCheckAnswer:
        """The check."""
        answer: m.RecallCheckAnswer = await self._transport.request(
            "GET", "/api/v1/recall-checks/{check_id}", places={"check_id": check_id}, query=dict(query), repeatable=True
        )
        return answer

    async def delete(self, check_id: str, /, **query: Unpack[m.RecallChecksDeleteQuery]) -> None:
        """Deletes the check; runs keep its id."""
        await self._transport.request(
            "DELETE", "/api/v1/recall-checks/{check_id}", places={"check_id": check_id}, query=dict(query)
        )

    async def export(self, **query: Unpack[m.RecallChecksExportQuery]) -> m.RecallFileAnswer:
        """All checks, or those of a namespace, as the text of a YAML file."""
        answer: m.RecallFileAnswer = await self._transport.request(
            "GET", "/api/v1/recall-checks/file", query=dict(query), repeatable=True
        )
        return answer

    async def import_(
        self, *, idempotency_key: str | None = None, **body: Unpack[m.RecallFileInputRequest]
    ) -> m.RecallKeptAnswer:
        """Keeps all checks of a YAML file, or none: the first fault is told with its line."""
        answer: m.RecallKeptAnswer = await self._transport.request(
            "POST", "/api/v1/recall-checks/file", body=dict(body), idempotency_key=idempotency_key, once=True
        )
        return answer


class AsyncRecallRunsCalls:
    """What is asked of recall runs."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list(self, **query: Unpack[m.RecallRunsListQuery]) -> m.RecallRunPage:
        """A page of runs, newest first: those on demand, and those around operations that change recall."""
        answer: m.RecallRunPage = await self._transport.request(
            "GET", "/api/v1/recall-runs", query=dict(query), repeatable=True
        )
        return answer

    async def all(self, **query: Unpack[m.RecallRunsListQuery]) -> AsyncIterator[m.RecallRunAnswer]:
        """Each row of `list`, page after page."""
        async for row in self._transport.rows("/api/v1/recall-runs", dict(query)):
            yield row

    async def start(
        self, *, idempotency_key: str | None = None, **body: Unpack[m.RecallRunInputRequest]
    ) -> m.OperationAnswer:
        """Starts a run of a namespace's checks, or of all; the operation's report counts and names what fails.

        One of yours that waits to begin is answered instead of another.
        """
        answer: m.OperationAnswer = await self._transport.request(
            "POST", "/api/v1/recall-runs", body=dict(body), idempotency_key=idempotency_key, once=True
        )
        return answer


class AsyncRestoresCalls:
    """What is asked of restores."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list(self, **query: Unpack[m.RestoresListQuery]) -> m.RestorePage:
        """A page of restores, planned ones too, with their reports."""
        answer: m.RestorePage = await self._transport.request(
            "GET", "/api/v1/restores", query=dict(query), repeatable=True
        )
        return answer

    async def all(self, **query: Unpack[m.RestoresListQuery]) -> AsyncIterator[m.RestoreAnswer]:
        """Each row of `list`, page after page."""
        async for row in self._transport.rows("/api/v1/restores", dict(query)):
            yield row

    async def start(
        self, *, idempotency_key: str | None = None, **body: Unpack[m.RestoreInputRequest]
    ) -> m.OperationAnswer:
        """Plans (`dry_run`) or does it; the report has the plan. A file that is sent along stays a week as a backup.

        Of a `backup_id`, or multipart with the file as `upload`. `into` a new namespace it becomes a branch, which can
        be compared with what lives, and merged in part. `trust_signer` names a signer who has to be trusted
        here already, else 403.
        """
        answer: m.OperationAnswer = await self._transport.request(
            "POST", "/api/v1/restores", body=dict(body), idempotency_key=idempotency_key, once=True
        )
        return answer


class AsyncRollbacksCalls:
    """What is asked of rollbacks."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def start(
        self, *, idempotency_key: str | None = None, **body: Unpack[m.RollbackInputRequest]
    ) -> m.OperationAnswer:
        """Lets memories, claims, rulings and statuses of a namespace be what they were at a time.

        What came since is archived, what was evicted since comes back while a copy is kept; what was forgotten stays
        forgotten, and what is contained stays contained. `dry_run` only plans; `plan_id` applies that plan, or answers
        `plan_changed`. `POST /operations/{id}/undo` takes it back.
        """
        answer: m.OperationAnswer = await self._transport.request(
            "POST", "/api/v1/rollbacks", body=dict(body), idempotency_key=idempotency_key, once=True
        )
        return answer


class AsyncRulingsCalls:
    """What is asked of rulings."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list(self, **query: Unpack[m.RulingsListQuery]) -> m.RulingPage:
        """A page of the rulings in force, newest first; subject and predicate in any spelling."""
        answer: m.RulingPage = await self._transport.request(
            "GET", "/api/v1/rulings", query=dict(query), repeatable=True
        )
        return answer

    async def all(self, **query: Unpack[m.RulingsListQuery]) -> AsyncIterator[m.RulingAnswer]:
        """Each row of `list`, page after page."""
        async for row in self._transport.rows("/api/v1/rulings", dict(query)):
            yield row


class AsyncTasksCalls:
    """What is asked of tasks."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def report(self, *, idempotency_key: str | None = None, **body: Unpack[m.TaskInputRequest]) -> m.TaskAnswer:
        """Reports a task; what completed or failed is remembered too. Older reports than the last change nothing.

        200 when it was known already.
        """
        answer: m.TaskAnswer = await self._transport.request(
            "POST", "/api/v1/tasks", body=dict(body), idempotency_key=idempotency_key, once=True
        )
        return answer

    async def recent(self, **query: Unpack[m.TasksRecentQuery]) -> m.RecentTasksAnswer:
        """The latest tasks of the namespaces that the key covers, short enough for a prompt.

        Ten unless `limit` says otherwise, at most 50.
        """
        answer: m.RecentTasksAnswer = await self._transport.request(
            "GET", "/api/v1/tasks/recent", query=dict(query), repeatable=True
        )
        return answer


class AsyncTombstonesCalls:
    """What is asked of tombstones."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list(self, **query: Unpack[m.TombstonesListQuery]) -> m.TombstonePage:
        """What was known and is gone, the last to leave first."""
        answer: m.TombstonePage = await self._transport.request(
            "GET", "/api/v1/tombstones", query=dict(query), repeatable=True
        )
        return answer

    async def all(self, **query: Unpack[m.TombstonesListQuery]) -> AsyncIterator[m.TombstoneAnswer]:
        """Each row of `list`, page after page."""
        async for row in self._transport.rows("/api/v1/tombstones", dict(query)):
            yield row

    async def read(self, tombstone_id: str, /, **query: Unpack[m.TombstonesReadQuery]) -> m.TombstoneAnswer:
        """The tombstone, by its own id or by the id of the fragment that was.

        `restorable` says whether the archive holds it still.
        """
        answer: m.TombstoneAnswer = await self._transport.request(
            "GET",
            "/api/v1/tombstones/{tombstone_id}",
            places={"tombstone_id": tombstone_id},
            query=dict(query),
            repeatable=True,
        )
        return answer

    async def restore(
        self, tombstone_id: str, /, *, idempotency_key: str | None = None, **query: Unpack[m.TombstonesRestoreQuery]
    ) -> m.StoredAnswer:
        """Brings the fragment back byte for byte; one that is opposed by now passes the gate at its own authority."""
        answer: m.StoredAnswer = await self._transport.request(
            "POST",
            "/api/v1/tombstones/{tombstone_id}/restore",
            places={"tombstone_id": tombstone_id},
            query=dict(query),
            idempotency_key=idempotency_key,
            once=True,
        )
        return answer


class AsyncUsersCalls:
    """What is asked of users."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list(self, **query: Unpack[m.UsersListQuery]) -> m.UserPage:
        """The users whom the key reaches, by name, and how many memories are kept of each."""
        answer: m.UserPage = await self._transport.request("GET", "/api/v1/users", query=dict(query), repeatable=True)
        return answer

    async def all(self, **query: Unpack[m.UsersListQuery]) -> AsyncIterator[m.UserAnswer]:
        """Each row of `list`, page after page."""
        async for row in self._transport.rows("/api/v1/users", dict(query)):
            yield row

    async def erase(self, user: str, /, **query: Unpack[m.UsersEraseQuery]) -> m.UserErased:
        """Erases all that is kept of a user, every copy of it, if it is as much as expected; all of it or nothing."""
        answer: m.UserErased = await self._transport.request(
            "DELETE", "/api/v1/users/{address}", places={"address": user}, query=dict(query)
        )
        return answer

    async def export(self, user: str, /, **query: Unpack[m.UsersExportQuery]) -> m.UserExport:
        """All that is kept of a user, in every status, the oldest first; `address` is the user in base64url."""
        answer: m.UserExport = await self._transport.request(
            "GET", "/api/v1/users/{address}/export", places={"address": user}, query=dict(query), repeatable=True
        )
        return answer


class AsyncWebhooksCalls:
    """What is asked of webhooks."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list(self, **query: Unpack[m.WebhooksListQuery]) -> m.WebhookPage:
        """A page of the project's webhooks, newest first; none for a key that covers a part of it."""
        answer: m.WebhookPage = await self._transport.request(
            "GET", "/api/v1/webhooks", query=dict(query), repeatable=True
        )
        return answer

    async def all(self, **query: Unpack[m.WebhooksListQuery]) -> AsyncIterator[m.WebhookAnswer]:
        """Each row of `list`, page after page."""
        async for row in self._transport.rows("/api/v1/webhooks", dict(query)):
            yield row

    async def make(self, **body: Unpack[m.WebhookInputRequest]) -> m.NewWebhookAnswer:
        """Makes a webhook: from now on events are sent there, each in a request of its own.

        In order and at least once, signed as Standard Webhooks has it, with the same `webhook-id` each time that an
        event is sent again. Takes a key for all of the project. An Idempotency-Key is not heeded, since answers to
        these are kept and the secret is not.
        """
        answer: m.NewWebhookAnswer = await self._transport.request("POST", "/api/v1/webhooks", body=dict(body))
        return answer

    async def read(self, webhook_id: str, /, **query: Unpack[m.WebhooksReadQuery]) -> m.WebhookAnswer:
        """The webhook, and how it goes."""
        answer: m.WebhookAnswer = await self._transport.request(
            "GET",
            "/api/v1/webhooks/{webhook_id}",
            places={"webhook_id": webhook_id},
            query=dict(query),
            repeatable=True,
        )
        return answer

    async def change(self, webhook_id: str, /, **body: Unpack[m.PatchedWebhookChangeRequest]) -> m.WebhookAnswer:
        """Stops it, or starts it again where it stopped."""
        answer: m.WebhookAnswer = await self._transport.request(
            "PATCH", "/api/v1/webhooks/{webhook_id}", places={"webhook_id": webhook_id}, body=dict(body)
        )
        return answer

    async def delete(self, webhook_id: str, /, **query: Unpack[m.WebhooksDeleteQuery]) -> None:
        """Deletes it."""
        await self._transport.request(
            "DELETE", "/api/v1/webhooks/{webhook_id}", places={"webhook_id": webhook_id}, query=dict(query)
        )
