"""Restoration: read and believe nothing, plan, then apply: what is newer, under its own id, in its own time."""

import datetime
import re
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import structlog
from django.conf import settings

from conflicts.public import lock_namespace
from memories import access, audit, failpoints
from memories.access import NotFound, NotPermitted, Principal
from memories.backups import storage
from memories.backups.bundle import (
    BackupRequest,
    BrokenBundle,
    BundleReader,
    Manifest,
    UnknownVersion,
    batches,
    chain_of,
    fingerprint_keys,
    make,
    prefetch_batches,
)
from memories.backups.restoration import (
    auxiliary_tables,
    conflict_check,
    diff,
    erased_users,
    erasure_filter,
    insertion,
    owners,
    relocation,
    staging_tables,
)
from memories.backups.restoration import plan as restore_plan
from memories.backups.restoration.actions import RestoreActions
from memories.backups.restoration.plan import WrittenNamespaces
from memories.errors import NovaError
from memories.ingest.embedding_queue import count_waiting, seconds_for_text
from memories.models import Backup, Fragment, Namespace, Operation
from memories.models.enums import BackupOrigin, RecallCause
from memories.models.namespace import FORM, SHARED
from memories.models.sql import execute, fetch
from memories.operations import (
    ACCEPT,
    BadOptions,
    Options,
    Progress,
    check_accepted,
    check_plan_id,
    refuse_unfit_plan,
    starter,
)
from memories.providers import active_model
from memories.recall_checks import RecallGuard
from memories.run_changes import record_changes

log = structlog.get_logger(__name__)
FINGERPRINT = re.compile("[0-9a-f]{64}")
INTO, NAMESPACE = "into", "namespace"
MEASURED = 64  # memories, from which on it is worth telling how long their vectors take
PATIENCE = 2.0  # seconds for that, once they are restored
OPTIONS = {"backup_id", "trust_signer", "allow_version", "plan_id", INTO, NAMESPACE, ACCEPT}


class WrongProject(NovaError):
    """The bundle is another project's."""

    status = 400
    code = "wrong_project"
    title = "This is another project’s backup"
    is_kept = True


class WrongSigner(NovaError):
    """Somebody else signed the bundle than whom the restore shall trust."""

    status = 400
    code = "wrong_signer"
    title = "Somebody else signed this backup"

    def __init__(self, signer: str, *, wanted: str) -> None:
        super().__init__(f"the bundle is signed by {signer or 'nobody'}, not by {wanted}")
        self.signer = signer

    @property
    def summary(self) -> dict[str, Any]:
        """Return who signed it."""
        return {"signer": self.signer}


class BaseMissing(NovaError):
    """The bundle goes on from others that are not here."""

    code = "base_missing"
    title = "Another backup is missing"
    is_kept = True


def check_restore(options: Options) -> None:
    """Raise BadOptions unless they name a backup."""
    if stray := set(options) - OPTIONS:
        raise BadOptions("options", f"Unknown: {', '.join(sorted(stray))}.")
    try:
        uuid.UUID(str(options.get("backup_id")))
    except ValueError as error:
        raise BadOptions("backup_id", "Give the id of a backup.") from error
    wanted = options.get("trust_signer") or ""
    if not isinstance(wanted, str) or (wanted and not FINGERPRINT.fullmatch(wanted)):
        raise BadOptions("trust_signer", "Give a fingerprint: 64 hexadecimal digits, small letters.")
    if not isinstance(options.get("allow_version", False), bool):
        raise BadOptions("allow_version", "Give true or false.")
    _check_place(options)
    check_plan_id(options)
    check_accepted(options)


def _check_place(options: Options) -> None:
    if NAMESPACE in options and INTO not in options:
        raise BadOptions(NAMESPACE, "Say into which new namespace: `into`.")
    for name in (INTO, NAMESPACE):
        written = options.get(name, "")
        if name in options and not (isinstance(written, str) and FORM.fullmatch(written)):
            raise BadOptions(name, "Name a namespace: project:agent.")


def refuse_unfit_restore(operation: Operation) -> None:
    """Raise BranchTaken where there are memories it should be restored to, BadOptions for another project's; NoPlan."""
    if into := operation.options.get(INTO):
        project, _, agent = into.partition(":")
        if project != operation.project.name or agent == SHARED:
            raise BadOptions(INTO, "Name a namespace of this project, and not what all of it reads.")
        relocation.refuse_taken(operation.project_id, into)
    refuse_unfit_plan(operation)


def permit_restore(principal: Principal, operation: Operation) -> None:
    """Raise NotPermitted where somebody else than the operator wants a signer to be trusted who is not yet."""
    wanted = operation.options.get("trust_signer")
    if wanted and wanted not in trusted_signers() and not principal.is_operator:
        raise NotPermitted(
            "whom to believe is the operator's to say: TRUSTED_SIGNERS, script/manage restore --trust-signer, or a "
            "superuser in the console"
        )


def trusted_signers() -> set[str]:
    """Return the fingerprints of those whose bundles are believed: this instance, and whom the operator named."""
    return {audit.fingerprint(), *settings.TRUSTED_SIGNERS}


@dataclass(slots=True)
class Read:
    """What was staged: the last manifest of the chain, who signed, and what was left out."""

    manifest: Manifest
    foreign: bool
    stage: staging_tables.StagedBundle
    left_out: dict[str, int] = field(default_factory=dict)

    def relocate(self, principal: Principal, operation: Operation, into: str) -> None:
        """Let one namespace be staged under another name; what was forgotten of it is left out."""
        wanted = {"source": operation.options.get(NAMESPACE, ""), "target": into, "salt": str(operation.id)}
        with access.enter(principal, why="restore"):
            if not restore_plan.has_begun(operation):  # what began to write goes on
                relocation.refuse_taken(principal.project_id, into)
            self.left_out |= relocation.relocate(principal, self, **wanted)

    def leave_out_erased(self, principal: Principal) -> None:
        """Let nothing name users who were erased here, and of whom nothing may come."""
        with access.enter(principal, why="restore"):
            left_out = erased_users.leave_out_erased(principal.project_id, self.stage.namespaces)
        self.left_out |= {"forgotten": left_out} if left_out else {}

    @property
    def ids(self) -> list[tuple[str, uuid.UUID]]:
        """The namespaces and under which ids they are staged, each after the one that it was forked from."""
        rows, ordered = self.stage.namespaces, dict[str, None]()
        for each in rows:
            above, name = dict[str, None](), each
            while name in rows and name not in ordered and name not in above:
                above[name] = None
                name = rows[name]["forked_from"]
            ordered.update(dict.fromkeys(reversed(above)))
        return [(name, uuid.UUID(rows[name]["id"])) for name in ordered]


def restore(
    principal: Principal, operation: Operation, progress: Progress, *, actions: RestoreActions
) -> dict[str, Any]:
    """Run a restore, or only plan it (dry run); the report has the plan, by namespace and summed up.

    What was restored is found by its words at once, and by its meaning in about `searchable_in_seconds`.

    Raise BrokenBundle, WrongProject, WrongSigner, BaseMissing, FileMissing, and PlanChanged of one bound to a plan,
    before anything is changed. Whatever ends it later, its report tells of the namespaces that were done.
    """
    began, now = time.monotonic(), operation.started_at or operation.created_at
    principal = starter(principal, operation)
    chain = _chain(principal, operation)
    if (written := WrittenNamespaces.of(operation)).transactions:
        progress.report = written.report()
    with staging_tables.staging_tables():
        read = stage(principal, chain, operation, progress, now=now)
        if into := operation.options.get(INTO):
            read.relocate(principal, operation, into)
        else:
            read.leave_out_erased(principal)
        failpoints.reach("restore.staged")
        report: dict[str, Any] = {
            "backup_id": str(chain[-1].id),
            "signer": read.manifest.signer,
            "foreign": read.foreign,
            "left_out": read.left_out,
            "dry_run": operation.dry_run,
        }
        with access.enter(principal, why="restore"):
            report["forgotten"] = len(fetch(erasure_filter.FORGOTTEN, [principal.project_id]))
            # What it keyed (fingerprints, decided values) is so with a salt that neither is here nor came along.
            lacks_salt = not read.manifest.salt and not fingerprint_keys.has_project_salt(principal, read.manifest)
            report["key_file_needed"] = lacks_salt and not read.foreign and _has_keyed_rows(read)
        if operation.dry_run:
            counts = restore_plan.summarise_counts(restore_plan.plan_namespaces(principal, read.ids))
        else:
            restore_plan.refuse_changed(principal, operation, report, read.ids)
            report["safety_backup_id"] = _safety(principal, operation, progress, now=now)
            restore_plan.refuse_changed(principal, operation, report, read.ids)  # again: a backup takes its time
            restore_plan.require_agreed_counts(operation, progress)
            with _time_of_text(principal) as told:
                counts = apply(principal, read, progress, report, actions=actions, now=now).report()
                report |= told()
    return {**report, **counts, "elapsed_ms": int((time.monotonic() - began) * 1000)}


@contextmanager
def _time_of_text(principal: Principal) -> Iterator[Callable[[], dict[str, Any]]]:
    """Meanwhile measure what a staged text takes the embedder, on a processor that waits for Postgres otherwise.

    Yield what tells afterwards how many wait for their vector, and about how many seconds until the last has it: None
    where they are few, or the embedder fails or takes two seconds more than the restore.
    """
    ((staged, characters),) = fetch("SELECT count(*), avg(length(content))::float8 FROM staged_fragment", [])
    aside, each = ThreadPoolExecutor(1), Future[float | None]()
    if staged < MEASURED:
        each.set_result(None)
    else:
        each = aside.submit(seconds_for_text, characters, model=active_model())

    def told() -> dict[str, Any]:
        waiting = count_waiting(principal)
        error = each.exception() if wait([each], timeout=PATIENCE).done else TimeoutError()
        if error:  # everything is restored: no measurement makes that fail
            log.warning("embedding_not_measured", error=type(error).__name__)
        seconds = None if error else each.result()
        known = 0.0 if not waiting else None if seconds is None else round(waiting * seconds, 3)
        return {"waiting_for_vectors": waiting, "searchable_in_seconds": known}

    try:
        yield told
    finally:
        aside.shutdown(wait=False, cancel_futures=True)


@contextmanager
def _letting_go(principal: Principal, row: Backup) -> Iterator[None]:
    """An upload that turns out to be no bundle goes, unless it was proven, or something needs it: nobody can use it."""
    try:
        yield
    except UnknownVersion:
        raise  # an admin may allow it yet
    except BrokenBundle:
        with access.enter(principal, why="refuse upload"):
            rows = Backup.objects.within(principal.project_id)
            pending = rows.unproven().filter(id=row.id, origin=BackupOrigin.UPLOADED, protected=False)
            if pending.exists() and not rows.filter(base=row.id).exists():
                pending.delete()
                storage.remove(row.file)
        raise


def _chain(principal: Principal, operation: Operation) -> list[Backup]:
    with access.enter(principal, why="restore"):
        rows = Backup.objects.within(principal.project_id)
        found = rows.filter(id=operation.options["backup_id"]).first()
        if found is None:
            raise NotFound("backup")
        return chain_of(found)


def stage(
    principal: Principal,
    chain: Sequence[Backup],
    operation: Operation,
    progress: Progress,
    *,
    now: datetime.datetime,
    as_it_is: bool = False,
) -> Read:
    """Read a chain into the staged tables, in short transactions. Raise BrokenBundle, WrongProject, WrongSigner,
    BaseMissing.

    A stranger's is staged as what it may say here, and without what was forgotten, unless it is to be staged as it is.
    """
    taken, total = staging_tables.StagedBundle(principal), sum(row.records for row in chain)
    wanted = operation.options.get("trust_signer") or ""
    trusted = trusted_signers() | ({wanted} if wanted else set())
    foreign, manifest, done, before = False, None, 0, list[str]()
    for row in chain:
        refusal = nullcontext() if as_it_is else _letting_go(principal, row)
        with refusal, storage.open_decrypted(row.file) as file:
            reader = BundleReader(file, now=now, allow_version=operation.options.get("allow_version", False))
            manifest = reader.manifest
            check_place(principal, manifest)
            if wanted and reader.signer not in trusted:
                raise WrongSigner(reader.signer, wanted=wanted)
            if manifest.chain != before:
                raise BaseMissing("the bundle goes on from another that is not here")
            taken.begin()
            for batch in prefetch_batches(batches(reader.lines())):
                with access.enter(principal, why="restore"):
                    taken.take(batch)
                    done += len(batch)
                    progress.save(stage="reading", done=done, total=max(total, done), cursor=operation.cursor)
                progress.check()
            taken.end()
        before.append(row.sha256)
        foreign = foreign or reader.signer not in trusted
    assert manifest is not None
    read = Read(manifest, foreign, taken)
    with access.enter(principal, why="restore"):
        if not as_it_is:
            _prepare(principal, read)
        erasure_filter.stage_lineage()
    return read


def _has_keyed_rows(read: Read) -> bool:
    """Return whether anything in the bundle is keyed: fingerprints of what was forgotten, values that were decided."""
    ((ruled,),) = fetch("SELECT EXISTS (SELECT FROM staged_ruling)", [])
    return bool(ruled or read.left_out.get("erasure"))


def check_place(principal: Principal, manifest: Manifest) -> None:
    """Raise WrongProject unless the bundle is of this project."""
    if manifest.project != principal.project:
        raise WrongProject("the bundle is of another project")


def _prepare(principal: Principal, read: Read) -> None:
    if read.foreign:
        read.left_out = diff.count_left_out()
        diff.cap_untrusted_rows(principal)
    else:
        owners.map_owners(principal.project_id)
        # By its id a memory is known under any salt.
        execute("INSERT INTO staged_forgotten SELECT fragment_id, max(authority) FROM staged_erasure GROUP BY 1", [])
    if (
        read.foreign
        or not fingerprint_keys.has_project_salt(principal, read.manifest)
        and not (read.manifest.salt and fingerprint_keys.is_new(principal))
    ):
        fingerprint_keys.drop_fingerprints(read.left_out)


def _safety(principal: Principal, operation: Operation, progress: Progress, *, now: datetime.datetime) -> str | None:
    """Return a backup of what is here, before anything of it changes; None where nothing is."""
    with access.enter(principal, why="restore"):
        if not Fragment.objects.within(principal.project_id).exists():
            return None
    request = BackupRequest(origin=BackupOrigin.SAFETY)
    return str(make(principal, request, operation=operation, progress=progress, now=now).id)


def apply(
    principal: Principal,
    read: Read,
    progress: Progress,
    report: Mapping[str, Any],
    *,
    actions: RestoreActions,
    now: datetime.datetime,
) -> WrittenNamespaces:
    """Write it: what belongs to the project first, then one namespace after the other, each in one transaction.

    Return what was written, by a run that was cut off before, too. Raise RecallLost for the first namespace by which a
    recall check would be lost; those before it are done.
    """
    with access.enter(principal, why="restore"):
        if not read.foreign:
            fingerprint_keys.adopt_salt(principal, read.manifest, read.left_out)
        insertion.insert_owners()
        owners.map_owners(principal.project_id)  # somebody may have got a key since the plan
        insertion.insert_erasures()
        auxiliary_tables.digest_predicates(principal.project_id)
        erasure_filter.apply_erasures(principal.project_id, erase=actions.erase, now=now)
    failpoints.reach("restore.project")
    written = WrittenNamespaces.of(progress.operation)
    progress.report = {**report, **written.report()}
    for done, (name, there) in enumerate(read.ids, start=1):
        far: dict[str, Any] = {"stage": "applying", "done": done, "total": len(read.ids)}
        with progress.alive():
            progress.note(stage=f"applying {name}"[:64], done=done - 1, total=len(read.ids))
            recall = _recall_guard(principal, name, progress.operation, now=now)
            with access.enter(principal, why="restore"):
                is_made = name in written.made or not _is_there(principal, name)
                # One that is new goes as a whole by an undo, of others the rows are kept.
                with nullcontext() if is_made else record_changes(progress.operation):
                    operation = None if is_made else progress.operation
                    counts = _apply(principal, read, name, there, operation=operation, actions=actions, now=now)
                counts |= recall.settle(accept=progress.operation.options.get(ACCEPT, False), progress=progress)
                further = written.joined(name, counts, is_made=is_made)
                progress.save(**far, cursor=further.cursor())
                failpoints.reach("restore.applied")
            written = further
            progress.report = {**report, **written.report()}
        failpoints.reach("restore.committed")
        progress.save(**far, cursor=written.cursor())  # what was noted meanwhile may have been written after it
    for name, there in read.ids:
        with progress.alive(), access.enter(principal, why="restore"):
            here = insertion.ensure_namespace(principal, read.stage.namespaces[name])
            lock_namespace(here)
            auxiliary_tables.insert_origins(principal.project_id, there=there, here=here)
    return written


def _recall_guard(principal: Principal, name: str, operation: Operation, *, now: datetime.datetime) -> RecallGuard:
    with access.enter(principal, why="restore"):
        namespace = Namespace.objects.within(principal.project_id).named([name]).first()
    return RecallGuard.around(
        principal,
        [namespace] if namespace else [],
        cause=RecallCause.RESTORE,
        now=now,
        namespace=namespace,
        operation=operation,
    )


def _is_there(principal: Principal, name: str) -> bool:
    return bool(Namespace.objects.within(principal.project_id).named([name]).exists())


def _apply(
    principal: Principal,
    read: Read,
    name: str,
    there: uuid.UUID,
    *,
    operation: Operation | None,
    actions: RestoreActions,
    now: datetime.datetime,
) -> dict[str, Any]:
    """Write a namespace. For an `operation` is kept what goes of those that come back."""
    project_id = principal.project_id
    here = insertion.ensure_namespace(principal, read.stage.namespaces[name])
    lock_namespace(here)
    insertion.scope_erasures(project_id, there=there, here=here)
    if not fetch(
        "SELECT 1 FROM memories_claim WHERE project_id = %s AND namespace_id = %s LIMIT 1", [project_id, here]
    ):
        auxiliary_tables.insert_predicates(there=there, here=here)
    counts = diff.judge(project_id, there=there, here=here)
    erasure_filter.drop(project_id, there=there, here=here)
    erasure_filter.exempt_unrelated(project_id)
    counts["rules_left"] = auxiliary_tables.rules_left(there=there, here=here)
    insertion.digest_claims(project_id, there=there, here=here)
    kept = conflict_check.keep_stronger(project_id, there=there, here=here)
    counts["update"], counts["skipped_stale"] = counts["update"] - kept, counts["skipped_stale"] + kept
    waiting = conflict_check.find_contested(project_id, there=there, here=here, now=now)
    insertion.write(project_id, here=here, held_back=list(waiting), counts=counts)
    failpoints.reach("restore.half")
    if operation:
        auxiliary_tables.log_tombstones(project_id, operation.id)
    auxiliary_tables.clear_tombstones(project_id)
    counts["others"] = auxiliary_tables.insert_auxiliary_rows(project_id, there=there, here=here)
    auxiliary_tables.create_rulings_of_restored(project_id, here=here)
    auxiliary_tables.insert_version_conflicts(project_id, now=now)
    insertion.index(project_id)
    counts["through_the_gate"] = conflict_check.admit_contested(project_id, waiting, now=now)
    reached = sorted(diff.find_contained(project_id))
    counts["contained"] = len(actions.set_aside(project_id, reached, now=now))
    return counts
