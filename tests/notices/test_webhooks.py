"""/api/v1/webhooks: made by admins, delivered signed, in order, at least once, never into private networks."""

import datetime
import ipaddress
import json
import uuid
from http.server import BaseHTTPRequestHandler
from types import SimpleNamespace

import httpx2
import pytest
from django.utils import timezone

from conflicts.events import Bookmark, latest
from conflicts.models import PendingConflict
from memories import access, erasure, jobs, tasks, webhooks
from memories.models import Webhook
from memories.providers import addresses
from memories.providers.fake_servers import FakeHandler, FakeServer, running
from memories.webhooks import delivery
from memories.workload import Work, projects_with

URL = "/api/v1/webhooks"
# Of the documentation of Standard Webhooks.
VECTOR = ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330)
SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


class Receiver(FakeServer):
    """Keeps what it is sent, and answers the next of `answers`, then 204.

    By a clock of the test, which is `late`, /slow takes all the time that it has, and /silent answers nothing then.
    """

    def __init__(self):
        super().__init__(0, ReceiverHandler)
        self.heard, self.answers, self.late = [], [], datetime.timedelta()

    @property
    def base(self):
        return f"http://localhost:{self.server_port}"

    @property
    def address(self):
        return f"{self.base}/hook?of=us"

    @property
    def told(self):
        return [json.loads(body) for _, body in self.heard]


class ReceiverHandler(FakeHandler, BaseHTTPRequestHandler):
    """One connection."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.heard.append(({**dict(self.headers), "path": self.path}, body))
        if self.path.startswith(("/silent", "/slow")):
            self.server.late += datetime.timedelta(seconds=delivery.TIMEOUT)
        if self.path.startswith("/silent"):
            self.close_connection = True
            return
        status = self.server.answers.pop(0) if self.server.answers else 204
        self._head(status, {"Location": "/elsewhere"} if 300 <= status < 400 else {"Content-Length": "0"})


@pytest.fixture
def receiver(settings):
    """Where webhooks lead: this machine, which the operator allows here."""
    settings.WEBHOOK_PRIVATE_ADDRESSES = True
    with running(Receiver()) as server:
        yield server


def make(agent, url, code=201, **more):
    answer = agent.client.post(URL, {"url": url, **more}, format="json")
    assert answer.status_code == code, answer.json()
    return answer.json()


def read(agent, made):
    return agent.client.get(f"{URL}/{made['id']}").json()


@pytest.fixture
def deliver(service, teller):
    """A round in one project, some time later; how many events arrived."""

    def run(*, later=datetime.timedelta()):
        teller.settle()
        wish = {"clock": lambda: timezone.now() + later}
        return sum(webhooks.deliver(service, **wish, failing=failing) for failing in (False, True))

    return run


def test_it_is_made_listed_stopped_and_deleted_and_its_secret_told_once(admin, now):
    made = make(admin, "https://example.org/hook")
    secret = made.pop("secret")
    assert secret.startswith("whsec_")
    assert made == {
        "id": made["id"],
        "url": "https://example.org/hook",
        "kinds": ["recall_notice"],
        "namespace": None,
        "enabled": True,
        "failures": 0,
        "failing_since": None,
        "last_error": "",
        "delivered_at": None,
        "created_at": made["created_at"],
    }
    assert admin.client.get(URL).json()["results"] == [made] == [read(admin, made)]
    other = make(admin, "https://example.org/hook")
    assert other["secret"] != secret
    path = f"{URL}/{made['id']}"
    for enabled in (False, True):
        answer = admin.client.patch(path, {"enabled": enabled}, format="json")
        assert (answer.status_code, answer.json()["enabled"]) == (200, enabled)
    assert admin.client.delete(path).status_code == 204
    assert admin.client.get(path).status_code == 404


def test_the_secret_is_nowhere_in_the_database(admin, service, settings):
    made = make(admin, "https://example.org/hook")
    with access.enter(service, why="test"):
        row = Webhook.objects.get(id=made["id"])
        assert made["secret"].removeprefix("whsec_") not in str(vars(row))
    assert webhooks.secret_of(row) == made["secret"]
    settings.SECRET_KEY = "another"
    assert webhooks.secret_of(row) != made["secret"]


def test_a_signature_is_that_of_standard_webhooks():
    assert webhooks.sign(*VECTOR, b'{"test": 2432232314}') == SIGNATURE


def test_a_recall_notice_arrives_signed(admin, receiver, teller, deliver, committed):
    made = make(admin, receiver.address)
    row = teller.store()
    receipt, new = teller.tell(row), teller.store()
    teller.change(row, status="superseded", superseded_by=new)
    assert deliver() == 1
    ((headers, body),) = receiver.heard
    message_id, timestamp = headers["webhook-id"], headers["webhook-timestamp"]
    assert headers["webhook-signature"] == webhooks.sign(made["secret"], message_id, int(timestamp), body)
    assert abs(int(timestamp) - timezone.now().timestamp()) < 60
    assert (headers["path"], headers["Host"]) == ("/hook?of=us", f"localhost:{receiver.server_port}")
    assert headers["Content-Type"] == "application/json"
    told = json.loads(body)
    data = told.pop("data")
    assert told == {"type": "recall_notice", "timestamp": told["timestamp"]}
    assert data == {
        "id": data["id"],
        "namespace": f"{committed.name}:main",
        "why": "superseded",
        "fragment_id": str(row.id),
        "conflict_id": None,
        "operation_id": None,
        "other_id": str(new.id),
        "receipt_id": str(receipt.id),
    }
    assert deliver() == 0
    found = read(admin, made)
    assert found["delivered_at"]
    assert (found["enabled"], found["failures"], found["last_error"]) == (True, 0, "")


def test_what_happened_before_it_was_made_is_not_sent(admin, receiver, teller, deliver):
    teller.doubt()
    teller.settle()
    make(admin, receiver.address)
    row = teller.doubt()
    deliver()
    assert [each["data"]["fragment_id"] for each in receiver.told] == [str(row.id)]


def test_only_its_kinds_and_its_namespace_with_its_users(admin, receiver, teller, deliver, committed):
    teller.store("main")
    make(admin, receiver.address, kinds=["dispute"], namespace=f"{committed.name}:main")
    teller.doubt("side")
    row = teller.doubt("main")
    anns = teller.doubt("main/ann")
    deliver()
    assert [(each["type"], each["data"]["fragment_id"]) for each in receiver.told] == [
        ("dispute", str(row.id)),
        ("dispute", str(anns.id)),
    ]


def test_what_failed_is_sent_again_under_its_id_in_order_later_each_time(admin, receiver, teller, deliver):
    make(admin, receiver.address)
    rows = [teller.doubt() for _ in range(3)]
    receiver.answers = [204, 500, 302]
    assert deliver() == 1
    assert deliver() == 0
    assert len(receiver.heard) == 2, "not before its time"
    assert deliver(later=datetime.timedelta(seconds=16)) == 0
    assert deliver(later=datetime.timedelta(seconds=40)) == 0
    assert deliver(later=datetime.timedelta(seconds=80)) == 2
    ids = [headers["webhook-id"] for headers, _ in receiver.heard]
    assert ids == [ids[0], ids[1], ids[1], ids[1], ids[4]]
    assert len(set(ids)) == 3
    assert [each["data"]["fragment_id"] for each in receiver.told] == [
        str(rows[n].id) for n in (0, 1, 1, 1, 2)
    ]  # fmt: skip


def test_it_is_disabled_after_three_days_and_goes_on_where_it_stopped(admin, receiver, teller, deliver):
    made = make(admin, receiver.address)
    row = teller.doubt()
    receiver.answers = [503] * 20
    day = datetime.timedelta(days=1)
    deliver()
    assert read(admin, made)["failing_since"]
    for hours in range(5, 60, 5):
        deliver(later=datetime.timedelta(hours=hours))
    assert read(admin, made)["enabled"]
    deliver(later=3 * day + datetime.timedelta(seconds=1))
    found = read(admin, made)
    assert (found["enabled"], found["failures"], found["last_error"]) == (False, 13, "HTTP 503")
    deliver(later=4 * day)
    assert len(receiver.heard) == 13
    receiver.answers = []
    answer = admin.client.patch(f"{URL}/{made['id']}", {"enabled": True}, format="json").json()
    assert (answer["enabled"], answer["failures"], answer["failing_since"]) == (True, 0, None)
    assert deliver() == 1
    assert receiver.told[-1]["data"]["fragment_id"] == str(row.id)


def test_days_in_which_nothing_was_tried_disable_nothing(admin, receiver, teller, deliver):
    """The server was off: one failure before and one after are no three days in vain."""
    made = make(admin, receiver.address)
    teller.doubt()
    receiver.answers = [503] * 2
    deliver()
    deliver(later=datetime.timedelta(days=4))
    assert (read(admin, made)["enabled"], read(admin, made)["failures"]) == (True, 2)


def test_pauses_grow_up_to_hours():
    pauses = [delivery.pause_after(n).total_seconds() for n in (1, 2, 3, 10, 1000)]
    assert pauses == [15, 30, 60, 7680, 14400]


def test_nobody_delivers_what_another_one_is_at(admin, receiver, teller, service):
    make(admin, receiver.address)
    teller.doubt()
    teller.settle()
    with access.enter(service, why="test"):
        (hook,) = Webhook.objects.all()
    assert delivery._claim(service, hook.id, now=timezone.now())
    assert webhooks.deliver(service, clock=timezone.now) == 0
    assert webhooks.deliver(service, clock=lambda: timezone.now() + delivery.LEASE) == 1


def test_who_lost_it_meanwhile_writes_nothing_any_more(admin, teller, service):
    made = make(admin, "https://example.org")
    with access.enter(service, why="test"):
        (hook,) = Webhook.objects.all()
    held = delivery._claim(service, hook.id, now=timezone.now())
    admin.client.patch(f"{URL}/{made['id']}", {"enabled": True}, format="json")
    assert not delivery._save(service, held, last_error="late")
    assert read(admin, made)["last_error"] == ""


def test_more_than_a_round_takes_arrives_in_the_next(admin, receiver, teller, deliver, monkeypatch):
    monkeypatch.setattr(delivery, "AT_ONCE", 2)
    make(admin, receiver.address)
    rows = [teller.doubt() for _ in range(5)]
    assert [deliver() for _ in range(4)] == [2, 2, 1, 0]
    assert [each["data"]["fragment_id"] for each in receiver.told] == [str(row.id) for row in rows]


def test_a_slow_receiver_has_its_turn_and_lets_others_have_theirs(admin, receiver, teller, deliver, monkeypatch):
    monkeypatch.setattr(delivery, "TURN", datetime.timedelta())
    make(admin, receiver.address)
    rows = [teller.doubt() for _ in range(3)]
    assert [deliver() for _ in range(4)] == [1, 1, 1, 0]
    assert [each["data"]["fragment_id"] for each in receiver.told] == [str(row.id) for row in rows]


@pytest.fixture
def go_round(committed, neighbour, receiver, teller, monkeypatch):
    """Something happens in both projects, and a round by the receiver's clock: which webhooks it tried, in order."""
    monkeypatch.setattr(tasks, "timezone", SimpleNamespace(now=lambda: timezone.now() + receiver.late))

    def run():
        for project in (committed, neighbour):
            type(teller)(access.system_principal(project), teller.settle).doubt()
        teller.settle()
        receiver.heard.clear()
        tasks.deliver_webhooks()
        return [headers["path"] for headers, _ in receiver.heard]

    return run


@pytest.fixture
def both(committed, neighbour, agent_of):
    """Who administers the project that comes first, and who the other one."""
    first, last = sorted((committed, neighbour), key=lambda project: project.name)
    return [agent_of(project, owner="admin", verbs=["read", "admin"]) for project in (first, last)]


@pytest.mark.parametrize("kind", ["silent", "slow"])
def test_a_project_of_slow_receivers_has_one_turn_before_another_has_its(kind, both, receiver, go_round):
    for number in (1, 2, 3):
        make(both[0], f"{receiver.base}/{kind}/{number}")
    make(both[1], f"{receiver.base}/well")
    assert go_round() == [f"/{kind}/1", "/well"]
    assert go_round() == [f"/{kind}/2", "/well"]


def test_what_failed_comes_after_what_answers_in_whichever_project(both, receiver, go_round):
    for name in ("silent/1", "silent/2", "silent/3", "well/1"):
        make(both[0], f"{receiver.base}/{name}")
    make(both[1], f"{receiver.base}/well/2")
    assert go_round() == ["/silent/1", "/well/2"]
    hook = _named(both[0].principal, "/silent/2")
    assert delivery._claim(both[0].principal, hook.id, now=tasks.timezone.now()), "another round is at it"
    receiver.late += delivery.FIRST_PAUSE
    assert go_round() == ["/silent/3", "/well/2", "/silent/1"]
    assert go_round() == ["/well/1", "/well/1", "/well/1", "/well/2"], "the rest of a project waits no longer"


def _named(principal, path):
    with access.enter(principal, why="test"):
        return Webhook.objects.within(principal.project_id).get(url__endswith=path)


def test_names_are_written_as_hosts_and_the_port_goes_along(monkeypatch, receiver):
    looked = []
    monkeypatch.setattr(addresses, "resolve", lambda host, port, **_: looked.append((host, port)) or "127.0.0.1")
    with httpx2.Client(trust_env=False) as client:
        delivery._post(client, f"http://bücher.example:{receiver.server_port}/a", b"{}", {})
    ((headers, _),) = receiver.heard
    assert looked == [("xn--bcher-kva.example", receiver.server_port)]
    assert headers["Host"] == f"xn--bcher-kva.example:{receiver.server_port}"


def test_what_does_not_answer_in_time_is_let_go(admin, teller, deliver, receiver, monkeypatch):
    monkeypatch.setattr(delivery, "TIMEOUT", 0.3)
    monkeypatch.setattr(ReceiverHandler, "do_POST", lambda self: self.server.stopping.wait(20))
    made = make(admin, receiver.address)
    teller.doubt()
    assert deliver() == 0
    assert read(admin, made)["last_error"]


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.1", "2130706433", "0x7f000001"])
def test_private_addresses_are_refused_when_it_is_sent(host, admin, receiver, teller, deliver, settings):
    made = make(admin, receiver.address.replace("localhost", host))
    teller.doubt()
    settings.WEBHOOK_PRIVATE_ADDRESSES = False
    assert deliver() == 0
    assert receiver.heard == []
    assert read(admin, made)["last_error"] == "private address"


PRIVATE = [
    *("127.0.0.1", "10.0.0.1", "192.168.1.1", "172.16.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1"),
    *("::1", "fe80::1", "fd00::1", "::ffff:10.0.0.1", "2002:7f00:1::", "64:ff9b::a00:1", "ff02::1", "::"),
    *("fec0::1", "64:ff9b:1::7f00:1", "::7f00:1", "::ffff:0:7f00:1"),
]


@pytest.mark.parametrize("address", PRIVATE)
def test_private_addresses_are_known(address):
    assert not addresses.is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", ["93.184.215.14", "2606:2800:21f:cb07::1", "::ffff:8.8.8.8", "64:ff9b::808:808"])
def test_public_addresses_are_known(address):
    assert addresses.is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "url",
    [
        *("ftp://example.org", "example.org", "https://", "https://a:b@example.org", "https://example.org:99999"),
        *("http://127.0.0.1/", "http://[::1]:80/", "http://169.254.169.254/latest", "https://example.org/#part"),
        *(
            "http://[::ffff:127.0.0.1]/",
            "http://[fe80::1]/",
            "https://example.org:0/",
            "//example.org",
            "https://ex ample.org",
        ),
    ],
)
def test_what_is_no_address_is_refused(url, admin):
    assert [error["field"] for error in make(admin, url, 400)["errors"]] == ["url"]
    assert admin.client.get(URL).json()["results"] == []


@pytest.mark.parametrize(
    ("more", "field"), [({"kinds": []}, "kinds"), ({"kinds": ["x"]}, "kinds"), ({"secret": "x"}, "secret")]
)
def test_other_input_is_refused(more, field, admin):
    assert make(admin, "https://example.org", 400, **more)["errors"][0]["field"].startswith(field)


def test_a_project_has_so_many(admin, monkeypatch):
    monkeypatch.setattr("memories.webhooks.hooks.MOST", 1)
    make(admin, "https://example.org")
    assert make(admin, "https://example.org", 409)["code"] == "too_many_webhooks"


def test_only_admins_of_all_of_the_project_have_webhooks(admin, committed, neighbour, agent_of):
    made = make(admin, "https://example.org")
    place = f"{committed.name}:main"
    writer = agent_of(committed, verbs=["read", "write", "review"])
    narrow = agent_of(committed, namespaces=[place], verbs=["read", "write", "admin"])
    stranger = agent_of(neighbour, verbs=["read", "write", "review", "admin"])
    assert make(writer, "https://example.org", 403)["code"] == "not_permitted"
    assert make(narrow, "https://example.org", 403)["code"] == "not_permitted"
    assert make(admin, "https://example.org", 404, namespace=f"{committed.name}:none")["code"] == "not_found"
    path = f"{URL}/{made['id']}"
    for agent in (narrow, stranger):
        assert agent.client.get(URL).json()["results"] == []
        for answer in (
            agent.client.get(path),
            agent.client.patch(path, {"enabled": False}, format="json"),
            agent.client.delete(path),
        ):
            assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert writer.client.get(path).status_code == 403
    assert read(admin, made)["enabled"]


def test_nothing_of_another_project_arrives(admin, receiver, teller, deliver, neighbour):
    make(admin, receiver.address)
    type(teller)(access.system_principal(neighbour), teller.settle).doubt()
    row = teller.doubt()
    deliver()
    assert [each["data"]["fragment_id"] for each in receiver.told] == [str(row.id)]


def test_there_is_work_where_something_happened_and_none_afterwards(admin, receiver, teller, service):
    def due(*, later=datetime.timedelta()):
        found = projects_with(Work.WEBHOOKS, now=timezone.now() + later)
        return service.project in {project.name for project in found}

    teller.doubt()
    teller.settle()
    assert not due()
    made = make(admin, receiver.address)
    teller.store()
    assert not due(), "nobody asked for what happened"
    teller.doubt()
    teller.settle()
    assert due()
    receiver.answers = [500]
    tasks.deliver_webhooks()
    assert not due()
    assert due(later=datetime.timedelta(minutes=1))
    admin.client.patch(f"{URL}/{made['id']}", {"enabled": False}, format="json")
    assert not due(later=datetime.timedelta(minutes=1))
    admin.client.patch(f"{URL}/{made['id']}", {"enabled": True}, format="json")
    tasks.deliver_webhooks()
    assert len(receiver.heard) == 2
    assert not due()


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("corroborate", {"corroboration": 2}),
        ("dispute", {"status": "disputed"}),
        ("supersede", {"status": "superseded"}),
    ],
)
def test_work_of_other_kinds_is_found(kind, values, admin, receiver, teller, service):
    row = teller.store()
    make(admin, receiver.address, kinds=[kind])
    teller.change(row, **values)
    teller.settle()
    tasks.deliver_webhooks()
    assert [each["type"] for each in receiver.told] == [kind]


def test_work_of_erasures_conflicts_and_consolidations_is_found(admin, receiver, teller, service, now):
    rows = [teller.store() for _ in range(3)]
    make(admin, receiver.address, kinds=["erase"])
    make(admin, receiver.address, kinds=["conflict_pending"])
    make(admin, receiver.address, kinds=["consolidate"])
    steps = [
        lambda: erasure.forget(service, rows[0].id, now=now),
        lambda: _quarrel(service, *rows[1:]),
        lambda: _consolidate(service, rows[1].namespace),
    ]
    for step in steps:
        step()
        teller.settle()
        tasks.deliver_webhooks()
    assert [each["type"] for each in receiver.told] == ["erase", "conflict_pending", "consolidate"]


def _quarrel(service, newcomer, existing):
    mine = {"project_id": newcomer.project_id, "namespace_id": newcomer.namespace_id, "kind": "claim"}
    with access.enter(service, why="test"):
        PendingConflict(**mine, reason="equal_authority_other_owner", newcomer=newcomer, existing=existing).save()


def _consolidate(service, namespace):
    wish = {"kind": "consolidate", "namespace": namespace, "options": {}, "now": timezone.now(), "wake_up": False}
    assert jobs.run(service, jobs.start(service, **wish).id).state == "succeeded"


def test_a_webhook_goes_with_its_namespace(admin, committed, service, teller):
    row = teller.store("side")
    made = make(admin, "https://example.org", namespace=f"{committed.name}:side")
    assert made["namespace"] == f"{committed.name}:side"
    with access.enter(service, why="test"):
        row.namespace.delete()
    assert admin.client.get(f"{URL}/{made['id']}").status_code == 404


def test_its_mark_is_a_bookmark(service, teller, admin):
    made = make(admin, "https://example.org")
    with access.enter(service, why="test"):
        row = Webhook.objects.get(id=uuid.UUID(made["id"]))
    assert Bookmark.read(row.mark).recorded_in == row.upto <= latest(service).recorded_in
