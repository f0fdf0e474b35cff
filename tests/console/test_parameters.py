"""Whatever an address or a form carries, the console answers: a page, a refusal or 404, never a failure."""

import re
import uuid
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from django.urls import reverse
from django.utils import timezone

from conflicts.resolution.cases import CaseKey
from memories import access, jobs
from memories.console import urls
from memories.models import (
    ApiKey,
    Backup,
    Containment,
    Fragment,
    Operation,
    Proposal,
    RecallCheck,
    SavedView,
    Tombstone,
    Webhook,
)
from memories.models.enums import CopyReason, EvictionReason
from memories.rest.users import address_of
from memories.upkeep.lifecycle.removal import Cause, remove_fragments
from tests.console.conftest import post

# What no page expects: U+0000, very long, out of range, a way out, half of a surrogate pair.
VALUES = {
    "nul": "%00",
    "long": quote("💥" * 1000),
    "negative": "-1",
    "huge": "9" * 20,
    "path": "../x",
    "surrogate": "%ed%a0%80",
}
each_value = pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
# By page: what is read of the address.
ASKED = {
    "dashboard": "",
    "login": "next",
    "code": "next",
    "factor": "next",
    "reset": "",
    "reset-sent": "",
    "reset-done": "",
    "reset-confirm": "",
    "memories": "q namespace user type status tier tag source key day trust relevance why weights w_relevance tab "
    "cursor",
    "memory": "q namespace user tab cursor",
    "review": "settled cursor",
    "conflict": "settled",
    "rollbacks": "namespace to",
    "timeline": "kind cursor",
    "timeline-changes": "since",
    "cases": "namespace subject predicate source owner pattern sort page",
    "case": "",
    "notices": "reason namespace cursor",
    "proposals": "namespace kind",
    "backups": "cursor",
    "backup": "",
    "restore-backup": "plan",
    "download": "",
    "beliefs": "subject predicate axis day user",
    "belief": "axis day",
    "context": "q budget namespace user",
    "namespaces": "",
    "users": "namespace user cursor",
    "user": "namespace",
    "export-user": "namespace",
    "merge": "target preview only",
    "comparison": "other",
    "agents": "cursor",
    "containments": "by key owner source content since note cursor",
    "containment": "",
    "webhooks": "cursor",
    "audit": "kind before why about restores",
    "installation": "",
    "health": "namespace user",
    "connect": "namespace",
    "authorize": "client_id redirect_uri response_type scope resource code_challenge code_challenge_method state",
    "consolidation": "cursor",
    "run": "page",
    "operation": "page",
    "operations": "state days cursor run namespace tier target warm_days summary_days",
    "schedule": "",
    "thresholds": "",
    "recall": "",
    "recall-export": "",
    "tombstones": "topic cursor",
}
FOUND = {"project"} | {name for names in ASKED.values() for name in names.split()}


@pytest.fixture
def world(adam, challenge, contradict, principal, store, settings):
    """One of everything that an address can name; what each form sends when all is well."""
    settings.EMAIL_HOST = "mail.example.org"
    proposal = contradict(*(store("acme:main", text) for text in ("The gate is open.", "The gate is not open.")))
    row = store("acme:main", "An otter was seen.", conversation_id="talk", sequence=1)
    conflict = challenge()
    gone = store("acme:main", "The heron nests behind the mill.", topics=["heron"])
    store("acme:main", "Mia likes herons.", by=principal.of_user("mia"))
    with access.enter(principal, why="test"):
        cause = {gone.id: Cause(EvictionReason.LOW_WEIGHT, {})}
        remove_fragments(principal.project_id, cause, copied=CopyReason.EVICTED, operation_id=None, now=timezone.now())
    post(adam, "/memories/views/", name="mine", query="q=otter")
    post(adam, "/consolidation/", namespace="acme:main")
    post(adam, "/backups/", policy="full")
    check = {"namespace": "acme:main", "question": "Was an otter seen?", "expects": "text", "expected": "otter"}
    post(adam, "/recall/keep/", **check)
    post(adam, "/webhooks/make/", url="https://example.org/hook", kinds="recall_notice")
    post(adam, "/containments/apply/", by="source", source="a page", expected_count="0")
    with access.enter(principal, why="test"):
        queued = list(Operation.objects.values_list("id", flat=True))
    for operation_id in queued:
        jobs.run(principal, operation_id)
    with access.enter(principal, why="test"):
        which = {
            "authorization_id": uuid.UUID(int=7),
            "fragment_id": row.id,
            "check_id": RecallCheck.objects.get().id,
            "view_id": SavedView.objects.get().id,
            "conflict_id": conflict.id,
            "case_id": CaseKey.of(conflict).id,
            "proposal_id": Proposal.objects.get().id,
            "backup_id": Backup.objects.get().id,
            "operation_id": Operation.objects.get(kind="consolidate").id,
            "containment_id": Containment.objects.get().id,
            "webhook_id": Webhook.objects.get().id,
            "tombstone_id": Tombstone.objects.get().id,
            "key_id": ApiKey.objects.filter(owner__name__contains="alice").first().key_id,
        }
        revisions = list(Fragment.objects.filter(id__in=proposal.about).values_list("revision", flat=True))
    return which, _forms(conflict, proposal, revisions)


def _forms(conflict, proposal, revisions):
    item = f"{conflict.id}:{conflict.revision}"
    decided = {"item": item, "action": "edit", "content": "The budget is $1.", "value": "$1"}
    proposed = ":".join([str(proposal.id), *map(str, revisions)])
    return {
        "hide-steps": [{"show": "no"}],
        "hide-undo": [{}],
        "login": [{"username": "adam", "password": "x", "next": "/"}],
        "code": [{"code": "123456", "next": "/"}],
        "reset": [{"email": "adam@example.org"}],
        "reset-confirm": [{"new_password1": "another long one", "new_password2": "another long one"}],
        "factor": [{"action": action, "code": "123456"} for action in ("confirm", "renew", "remove")],
        "save-view": [{"query": "q=otter", "name": "otters"}],
        "delete-view": [{}],
        "act": [
            {"action": "edit", "content": "Two otters were seen.", "revision": "1"},
            {"action": "revert", "to": "1", "revision": "1"},
            {"action": "dispute", "reason": "no"},
            {"action": "forget", "confirm": "no"},
        ],
        "review-decide": [
            decided,
            {"item": item, "action": "reject", "note": "no"},
            {"item": item, "action": "skip", "following": ""},
        ],
        "reinstate": [{}],
        "review-undo": [{}],
        "review-dismiss": [{}],
        "review-reopen": [{"settled": "1"}],
        "cases-clear": [{"pattern": "budget", "counted": "1", "note": "here"}],
        "cases-unclear": [{"ids": str(conflict.id)}],
        "case-resolve": [
            {"action": "choose", "choose": "0123456789abcdef", "revision": "1", "keep": "pair", "note": "here"},
            {"action": "type", "content": "The budget is $1.", "value": "$1", "revision": "1", "sort": "newest"},
        ],
        "case-undo": [{}],
        "containments-look": [
            {"by": "source", "source": "a page", "since": "2026-01-01T00:00", "note": "here"},
            {"by": "content", "content": "An otter was seen."},
            {"by": "owner", "owner": "alice"},
            {"by": "key", "key": "nova_abc"},
        ],
        "containments-apply": [{"by": "source", "source": "a page", "note": "here", "expected_count": "0"}],
        "containment-undo": [{"confirm": "no"}],
        "webhooks-make": [{"url": "https://example.org/hook", "kinds": "erase", "namespace": "acme:main"}],
        "webhook-switch": [{"enabled": "no"}],
        "webhook-delete": [{"confirm": "no"}],
        "proposals-decide": [{"item": proposed, "action": "dismiss", "namespace": "acme:main", "kind": "supersession"}],
        "proposals-undo": [{"namespace": "acme:main", "kind": "supersession"}],
        "proposals-hide": [{"namespace": "acme:main", "kind": "supersession"}],
        "proposal-reopen": [{"namespace": "acme:main", "kind": "supersession"}],
        "backups": [{"policy": "full", "embeddings": "no", "namespaces": "acme:main", "base": "", "prove": "no"}],
        "upload-backup": [{"upload": "x"}],
        "restore-backup": [
            {"step": "plan", "trust": "yes", "allow_version": "yes"},
            {"step": "apply", "plan": str(uuid.uuid4()), "confirm": "no"},
        ],
        "protect": [{"protected": "yes"}],
        "delete-backup": [{"confirm": "no"}],
        "prove": [{}],
        "fork": [{"source": "acme:main", "target": "twig"}],
        "delete-namespace": [{"name": "acme:main", "confirm": "no"}],
        "delete-project": [{"confirm": "no", "expected_count": "1"}],
        "erase-user": [{"confirm": "no", "namespace": "acme:main"}],
        "merge": [{"step": "look", "target": "acme:other"}, {"step": "merge", "preview": str(uuid.uuid4())}],
        "rollbacks": [{"namespace": "acme:main", "to": "2026-01-01T00:00"}, {"namespace": "acme:main", "to": "then"}],
        "rollback-run": [{"accept_recall_loss": "yes"}],
        "add-member": [{"username": "zoe", "role": "viewer"}],
        "role": [{"role": "viewer"}],
        "issue-key": [
            {
                "namespaces": "acme:*",
                "verbs": "read",
                "ceiling": "document",
                "attest": "no",
                "read_wide": "no",
                "users": "no",
                "user_patterns": "team-*",
                "owner": "zoe",
            }
        ],
        "end-key": [{"confirm": "no"}],
        "consolidation": [{"namespace": "acme:main"}],
        "apply": [{"confirm": "no", "accept_recall_loss": "no", "shown": "1", "step": "1"}],
        "recall-run": [{}],
        "recall-keep": [
            {
                "namespace": "acme:main",
                "question": "Who was seen?",
                "expects": "text",
                "expected": "otter",
                "top_k": "5",
                "name": "otter",
                "note": "here",
            }
        ],
        "recall-load": [{"file": "x"}],
        "recall-delete": [{}],
        "ticks": [{"page": "1", "shown": "1", "step": "1"}],
        "schedule": [{"every": "1", "period": "days", "enabled": "no"}],
        "thresholds": [{"step": "save", "cold_below": "0.2", "warm_days": "9", "namespace": "acme:main"}],
        "operations": [
            {"run": "compact", "step": "run", "namespace": "acme:main", "tier": "hot", "hash_days": "900"},
            {"run": "evict", "target": "0.5"},
            {"run": "rebuild", "target": "keywords"},
        ],
        "cancel": [{}],
        "undo": [{}],
        "restore": [{}],
        "purge": [{"confirm": "no"}],
        "logout": [{}],
        "withdraw": [{}],
        "authorize": [{"verbs": "read", "namespaces": "acme:main", "decision": "allow"}],
    }


# What stands in addresses beside the ids.
WORDS = {"kind": "verify", "subject": "lisbon", "predicate": "budget", "name": "acme:main", "how": "rotate"}
WORDS |= {"page": "backups", "user_id": 1, "address": address_of("mia")}
WORDS |= {"uidb64": "MQ", "token": "set-password"}


def address(name, which):
    """The address of a page, of what is there."""
    (pattern,) = {pattern.pattern for pattern in urls.urlpatterns if pattern.name == name}
    return reverse(f"console:{name}", kwargs={part: (which | WORDS)[part] for part in pattern.converters})


@pytest.fixture
def failures(adam):
    """Asks for an address, or sends a form; keeps what failed."""
    adam.raise_request_exception = False
    adam.get("/memories/")
    found = []

    def ask(path, form=None):
        if form is None:
            answer = adam.get(path)
        else:
            token = f"csrfmiddlewaretoken={adam.cookies['csrftoken'].value}"
            answer = adam.post(path, f"{token}&{form}", content_type="application/x-www-form-urlencoded")
        if answer.streaming:
            b"".join(answer)
        if answer.status_code >= 500:
            found.append((path[:90], (form or "")[:90], answer.status_code))

    ask.found = found
    return ask


def test_the_tables_name_every_page_and_every_parameter(world):
    _, forms = world
    assert {pattern.name for pattern in urls.urlpatterns} == ASKED.keys() | forms.keys()
    sources = "".join(path.read_text() for path in Path(urls.__file__).parent.glob("*.py"))
    read = set(re.findall(r"(?:GET|POST|form|asked|params)\.get(?:list)?\(\"(\w+)\"", sources))
    assert read <= FOUND | {name for each in forms.values() for form in each for name in form}


@pytest.mark.long
@each_value
def test_no_address_makes_a_page_fail(world, failures, value):
    which, _ = world
    for name, asked in ASKED.items():
        for parameter in ["project", *asked.split()]:
            failures(f"{address(name, which)}?{parameter}={value}")
    assert not failures.found


@pytest.mark.long
@each_value
def test_no_form_makes_a_page_fail(world, failures, value):
    which, forms = world
    for name, each in forms.items():
        for form in each:
            for field in [*form, "in_project"]:
                others = urlencode({part: text for part, text in form.items() if part != field})
                failures(address(name, which), f"{others}&{field}={value}")
    assert not failures.found


@pytest.mark.examples
@pytest.mark.parametrize("value", [VALUES["nul"], VALUES["huge"], VALUES["surrogate"], str(uuid.UUID(int=0))])
def test_no_path_makes_a_page_fail(world, failures, value):
    which, forms = world
    for pattern in urls.urlpatterns:
        for part in pattern.pattern.converters:
            path = _path(pattern, {**which, **WORDS, part: value})
            if pattern.name in forms:
                failures(path, urlencode(forms[pattern.name][0]))
            if pattern.name in ASKED:
                failures(path)
    assert not failures.found


def _path(pattern, parts):
    return "/" + re.sub(r"<\w+:(\w+)>", lambda found: str(parts[found[1]]), str(pattern.pattern))


@pytest.mark.parametrize(
    "name", ["operation", "run", "memory", "containment", "conflict", "backup", "restore-backup", "download"]
)
def test_unknown_ids_are_not_found(adam, name):
    assert adam.get(reverse(f"console:{name}", args=[uuid.uuid4()])).status_code == 404
