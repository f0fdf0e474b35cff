"""Celery tasks: thin doors that loop over projects and call one room each. Scheduled in `novamem.celery`."""

import uuid
from collections.abc import Callable, Sequence
from functools import partial

import structlog
from celery import shared_task
from celery.signals import worker_ready
from django.conf import settings
from django.db import DatabaseError
from django.utils import timezone

from memories import (
    agent_tasks,
    audit,
    backups,
    governance,
    ingest,
    jobs,
    operations,
    retrieval,
    run_changes,
    upkeep,
    usage_counters,
    webhooks,
    workload,
)
from memories.access import (
    Principal,
    enter,
    logins,
    password_resets,
    rate_limits,
    retry_on_contention,
    sessions,
    system_principal,
)
from memories.models import EmbeddingModel, Heartbeat, Project, RepeatedRequest
from memories.providers import live_models
from memories.workload import Work

log = structlog.get_logger(__name__)
WORKER = "worker"
ROUND = 15  # seconds between two looks for work, after which a round that nobody has begun is let go
_been_through = set[str]()  # what this process has done in all projects


def _in_each_project(work: Callable[[Principal], object], projects: Sequence[Project] | None = None) -> bool:
    """Does it for these projects, or every one; whether all went well. One's trouble does not stop the others."""
    whole = True
    for project in list(Project.objects.order_by("name")) if projects is None else projects:
        try:
            retry_on_contention(partial(work, system_principal(project)))
        except Exception:
            whole = False
            log.exception("project_passed_over", project=project.name, work=work.__name__)
    return whole


def _where_written(work: Callable[[Principal], object], *, anywhere: bool = False) -> None:
    """Does it where something was written lately; everywhere in a process's first round, and after one that failed."""
    name = work.__name__
    everywhere = anywhere or name not in _been_through
    whole = _in_each_project(work, None if everywhere else workload.projects_with(Work.WRITES, now=timezone.now()))
    (_been_through.add if whole else _been_through.discard)(name)


@shared_task
def look_for_work() -> None:
    """Queues the rounds of which something is due: where nothing is, one message and one statement find that out."""
    for work in workload.kinds_due(ROUNDS, now=timezone.now()):
        ROUNDS[work].apply_async(expires=ROUND)


@shared_task
def run_operation(project_id: str, operation_id: str) -> None:
    """Runs one operation, when it is still to be run."""
    project = Project.objects.filter(id=project_id).first()
    if project:
        jobs.run(system_principal(project), uuid.UUID(operation_id))


@shared_task
def send_reset_link(email: str, host: str, is_secure: bool) -> None:
    """Sends who has this address a link to a new password."""
    password_resets.send_link(email, host, is_secure=is_secure)


@shared_task
def sweep_operations() -> None:
    """Wakes a worker for every operation that nobody works on."""

    def sweep(principal: Principal) -> None:
        for operation_id in operations.stranded_operations(principal, now=timezone.now()):
            jobs.wake(principal.project_id, operation_id)

    _in_each_project(sweep, workload.projects_with(Work.OPERATIONS, now=timezone.now()))


@shared_task
def embed_pending() -> None:
    """Embeds what waits, model by model, project by project, until nothing is due; for the active model first."""
    for model in live_models():

        def embed(principal: Principal, model: EmbeddingModel = model) -> None:
            while ingest.embedding_queue.embed_pending(principal, now=timezone.now(), model=model)[0]:
                pass

        _in_each_project(embed, workload.projects_with(Work.EMBEDDINGS, now=timezone.now()))


@shared_task
def ingest_exchanges(project_id: str | None = None) -> None:
    """Makes memories of what was said in chats: of one project, or of all, until nothing is due."""

    def make(principal: Principal) -> None:
        while ingest.captures.ingest_exchanges(principal, now=timezone.now()):
            pass

    if project_id is None:
        _in_each_project(make, workload.projects_with(Work.EXCHANGES, now=timezone.now()))
    elif project := Project.objects.filter(id=project_id).first():
        make(system_principal(project))


@shared_task
def read_pending() -> None:
    """Proposes what users ask to forget; lets the language model read what waits for it, if there is one."""
    has_sidecar = governance.health.has_sidecar()

    def read(principal: Principal) -> None:
        governance.propose_forgetting(principal, now=timezone.now())
        while has_sidecar and governance.read_pending(principal, now=timezone.now()):
            pass

    _in_each_project(read, workload.projects_with(Work.READINGS, now=timezone.now()))


@shared_task
def evolve() -> None:
    """Starts a look for contradictions in free texts in every namespace, where a language model is there."""

    def start(principal: Principal) -> None:
        jobs.evolve_everything(principal, now=timezone.now())

    _in_each_project(start)


@shared_task
def trim_proposals() -> None:
    """Lets go of proposals of which nothing is new."""

    def trim(principal: Principal) -> None:
        governance.trim(principal, now=timezone.now())

    _in_each_project(trim, workload.projects_with(Work.PROPOSALS, now=timezone.now()))


@shared_task
def expire_calls() -> None:
    """Deletes the provenance of calls of the language model that is older than the setting."""

    def expire(principal: Principal) -> None:
        governance.expire_calls(principal, now=timezone.now())

    _in_each_project(expire)


@shared_task
def expire_logins() -> None:
    """Deletes how logins ended that is older than the setting."""
    logins.expire(now=timezone.now())


@shared_task
def seal_events() -> None:
    """Seals the new events of every project, and tells the witness; writes what a crash kept from a file."""

    def seal(principal: Principal) -> None:
        try:
            audit.seal(principal, now=timezone.now())
        except audit.SealedElsewhere as error:
            log.error("sealed_elsewhere", project=principal.project, hint=str(error))
            return
        audit.send_seals(principal, now=timezone.now())

    _where_written(seal, anywhere=bool(settings.AUDIT_WITNESS))


@shared_task
def expire_operations() -> None:
    """Deletes operations that ended long ago and can't be undone any more, and tasks nobody reports of."""

    def expire(principal: Principal) -> None:
        jobs.expire(principal, now=timezone.now())
        agent_tasks.expire(principal, now=timezone.now())

    _in_each_project(expire)


@shared_task
def expire_usage() -> None:
    """Deletes how searches went on days that are older than the setting."""

    def expire(principal: Principal) -> None:
        usage_counters.expire(principal, now=timezone.now())

    _in_each_project(expire)


@shared_task
def expire_sessions() -> None:
    """Deletes sessions that are over, seats that nobody gave back and full buckets."""
    sessions.expire(now=timezone.now())
    rate_limits.expire(now=timezone.now())


@shared_task
def expire_history() -> None:
    """Lets go of history that is older than the setting, if there is one."""

    def expire(principal: Principal) -> None:
        audit.let_go(principal, now=timezone.now())

    _in_each_project(expire)
    audit.let_lost_history_go(now=timezone.now())


@shared_task
def expire_requests() -> None:
    """Forgets answers kept for Idempotency-Keys after their time."""

    def expire(principal: Principal) -> None:
        with enter(principal, why="retention"):
            RepeatedRequest.objects.within(principal.project_id).expired(now=timezone.now()).delete()

    _in_each_project(expire)


@shared_task
def expire_receipts() -> None:
    """Deletes receipts of context answers that are older than the setting."""

    def expire(principal: Principal) -> None:
        retrieval.context.expire_receipts(principal, now=timezone.now())

    _in_each_project(expire)


@shared_task
def keep_small() -> None:
    """Starts what moves, shortens, evicts and puts away memories, in each project where something is due."""

    def keep(principal: Principal) -> None:
        jobs.start_due(principal, now=timezone.now())

    _in_each_project(keep)


@shared_task
def expire_copies() -> None:
    """Deletes archive copies whose time is over."""

    def expire(principal: Principal) -> None:
        upkeep.lifecycle.expire_copies(principal, now=timezone.now())

    _in_each_project(expire)


@shared_task
def keep_search_fast() -> None:
    """Counts the words of large namespaces. Their vector indexes are built elsewhere: `manage.py indexes`."""

    def count(principal: Principal) -> None:
        retrieval.refresh_statistics(principal, now=timezone.now())

    _where_written(count)


@shared_task
def analyze_search() -> None:
    """Brings the planner's statistics of the search tables up to date."""
    retrieval.analyze()


@shared_task
def keep_connections() -> None:
    """Links what has changed, puts it into the graph and its episode, and works out clusters."""

    def connect(principal: Principal) -> None:
        upkeep.graph.refresh_graph(principal, now=timezone.now())

    _in_each_project(connect, workload.projects_with(Work.CONNECTIONS, now=timezone.now()))


@shared_task
def deliver_webhooks() -> None:
    """Sends events to where webhooks lead; where that failed last after all the others, in whichever project."""
    for failing in (False, True):

        def send(principal: Principal, failing: bool = failing) -> None:
            webhooks.deliver(principal, clock=timezone.now, failing=failing)

        _in_each_project(send, workload.projects_with(Work.WEBHOOKS, now=timezone.now()))


ROUNDS = {
    Work.OPERATIONS: sweep_operations,
    Work.EMBEDDINGS: embed_pending,
    Work.EXCHANGES: ingest_exchanges,
    Work.READINGS: read_pending,
    Work.CONNECTIONS: keep_connections,
    Work.WEBHOOKS: deliver_webhooks,
}


@shared_task
def consolidate() -> None:
    """Starts a consolidation of every namespace; one that is being consolidated already is left alone."""

    def start(principal: Principal) -> None:
        jobs.consolidate_everything(principal, now=timezone.now())

    _in_each_project(start)


@shared_task
def back_up() -> None:
    """Starts a full backup of every project; it is verified and drilled when it is made."""

    def start(principal: Principal) -> None:
        jobs.back_up_daily(principal, now=timezone.now())

    _in_each_project(start)


@shared_task
def expire_backups() -> None:
    """Deletes all but the newest backups and the protected ones."""

    def expire(principal: Principal) -> None:
        backups.expire(principal, now=timezone.now())

    _in_each_project(expire)


@shared_task
def expire_consolidations() -> None:
    """Deletes what stood before consolidations that are older than the setting."""

    def expire(principal: Principal) -> None:
        run_changes.expire(principal, now=timezone.now())

    _in_each_project(expire)


@shared_task
def heartbeat() -> None:
    """Shows that broker, beat and worker live."""
    Heartbeat.objects.beat(WORKER, at=timezone.now())


@worker_ready.connect
def first_heartbeat(**_: object) -> None:
    """A worker that has just started is seen at once."""
    try:
        heartbeat()
    except DatabaseError as error:
        log.warning("heartbeat_not_written", error=type(error).__name__)
