"""/login/reset/: a new password by mail, where mail is set up."""

import datetime
import re
import socketserver
import threading

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.tokens import default_token_generator
from django.core import mail
from django.test import Client
from django.utils import timezone
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from kombu.exceptions import OperationalError as BrokerAway

from memories import tasks
from memories.access import logins, password_resets
from memories.models import LoginEvent, Membership
from tests.conftest import as_owner
from tests.console.conftest import logged_in, words
from tests.console.test_second_factor import code_of, posted

ASK, OLD, NEW = "/login/reset/", "a long enough one", "quite another one"


@pytest.fixture
def queue(monkeypatch):
    """What waits for a worker."""
    found = []
    monkeypatch.setattr(password_resets.current_app, "send_task", lambda name, args: found.append((name, args)))
    return found


@pytest.fixture
def mara(project, settings, queue):
    """A viewer who gets mail, on a server that sends some."""
    settings.EMAIL_HOST = "mail.example.org"
    user = get_user_model()._default_manager.create_user("mara", "mara@example.org", OLD)
    Membership.objects.create(user=user, project=project, role="viewer")
    return user


def ask(email="mara@example.org", **headers):
    return posted(Client(**headers), ASK, email=email)


@pytest.fixture
def links(queue):
    """The links that a worker sends of what waits."""

    def work():
        for name, args in queue:
            assert name == "memories.tasks.send_reset_link"
            tasks.send_reset_link(*args)
        queue.clear()
        return [re.search(r"http://testserver(/\S+)", letter.body)[1] for letter in mail.outbox]

    return work


def use(link, password=NEW, again=None):
    """The answer to a new password, typed where a link leads."""
    client = Client()
    page = client.get(link, follow=True)
    if not page.redirect_chain:
        return page
    return posted(client, page.redirect_chain[-1][0], new_password1=password, new_password2=again or password)


def enters(password, username="mara"):
    return Client().post("/login/", {"username": username, "password": password}).status_code == 302


def test_a_new_password_by_mail(mara, links):
    elsewhere = logged_in(mara)
    assert 'href="/login/reset/"' in Client().get("/login/").text
    assert ask()["Location"] == "/login/reset/sent/"
    (link,) = links()
    (letter,) = mail.outbox
    assert (letter.to, letter.subject) == (["mara@example.org"], "A new password for NovaMem")
    assert letter.from_email == "novamem@localhost"
    assert letter.body.split("\n") == [
        "Somebody asked for a new password for mara at testserver.",
        "",
        f"http://testserver{link}",
        "",
        "The link works once, for an hour. If it was not you who asked, do nothing: the password stays as it is.",
        "",
    ]
    assert elsewhere.get("/memories/").status_code == 200
    done = use(link)
    assert (done.status_code, done["Location"]) == (302, "/login/reset/done/")
    assert elsewhere.get("/memories/").status_code == 302
    assert (enters(OLD), enters(NEW)) == (False, True)
    noted = LoginEvent.objects.filter(user_id=mara.pk).order_by("id").values_list("outcome", flat=True)
    assert list(noted) == ["password_reset", "failure", "success"]
    assert "This link leads nowhere any more" in words(use(link))


@pytest.mark.parametrize("path", ["", "sent/", "done/", "MQ/x-y/"])
@pytest.mark.parametrize("missing", [{"EMAIL_HOST": ""}, {"ALLOWED_HOSTS": ["*"]}])
def test_without_mail_there_is_no_such_page(mara, settings, path, missing):
    assert Client().get(ASK + path).status_code == 200
    for name, value in missing.items():
        setattr(settings, name, value)
    assert Client().get(ASK + path).status_code == 404
    assert "reset" not in Client().get("/login/").text


def test_the_answer_does_not_tell_who_has_an_account(mara, links, queue, superuser_of):
    root = superuser_of("root")
    with as_owner() as connection:
        connection.execute("UPDATE auth_user SET email = 'root@example.org' WHERE id = %s", [root.pk])
    get_user_model()._default_manager.create_user("gone", "gone@example.org", OLD, is_active=False)
    names = ("mara", "nobody", "root", "gone")
    answers = [ask(f"{name}@example.org") for name in names]
    assert {(answer.status_code, answer["Location"], answer.text) for answer in answers} == {(302, f"{ASK}sent/", "")}
    assert [args for _, args in queue] == [[f"{name}@example.org", "testserver", False] for name in names]
    assert len(links()) == 1
    assert mail.outbox[0].to == ["mara@example.org"]


def test_an_operator_has_no_link(mara, superuser_of):
    root = superuser_of("root")
    own = f"{ASK}{urlsafe_base64_encode(force_bytes(root.pk))}/{default_token_generator.make_token(root)}/"
    assert "This link leads nowhere any more" in words(use(own))


def test_a_link_ends_after_an_hour(mara, links, time_machine):
    start = timezone.now()
    time_machine.move_to(start, tick=False)
    ask()
    (link,) = links()
    time_machine.move_to(start + datetime.timedelta(minutes=59), tick=False)
    assert "A new password" in words(Client().get(link, follow=True))
    time_machine.move_to(start + datetime.timedelta(minutes=61), tick=False)
    assert "This link leads nowhere any more" in words(use(link))
    assert enters(OLD)


def test_asking_is_braked_and_logging_in_is_not(mara, queue):
    for _ in range(logins.PAIR):
        assert ask().status_code == 302
    refused = ask()
    assert "Too many tries failed. Wait 15 minutes, then try again." in words(refused)
    assert len(queue) == logins.PAIR
    assert (ask("other@example.org").status_code, ask(REMOTE_ADDR="192.0.2.7").status_code) == (302, 302)
    assert enters(OLD)


def test_the_second_factor_is_asked_for_as_before(mara, links):
    logins.confirm_factor(mara, code_of(mara))
    ask()
    use(links()[0])
    client = Client()
    answer = client.post("/login/", {"username": "mara", "password": NEW})
    assert answer["Location"].startswith("/login/code/")
    assert client.get("/memories/").status_code == 302


def test_a_password_that_is_weak_or_typed_otherwise_is_refused(mara, links):
    ask()
    (link,) = links()
    assert "too short" in words(use(link, "short"))
    assert "match" in words(use(link, NEW, again="something else"))
    assert use(link).status_code == 302
    assert enters(NEW)


def test_a_login_ends_a_link(mara, links):
    ask()
    (link,) = links()
    assert enters(OLD)
    assert "This link leads nowhere any more" in words(use(link))


def test_a_word_that_is_no_address_is_refused(mara, queue):
    for email in ("mara", "", "a" * 300 + "@example.org"):
        assert ask(email).status_code == 200
    assert queue == []


def test_without_a_broker_the_answer_is_the_same(mara, monkeypatch):
    def away(*_, **__):
        raise BrokerAway

    monkeypatch.setattr(password_resets.current_app, "send_task", away)
    assert ask()["Location"] == "/login/reset/sent/"


class MailServer(socketserver.StreamRequestHandler):
    """Takes one letter by SMTP."""

    def handle(self):
        self.wfile.write(b"220 here\r\n")
        while line := self.rfile.readline():
            word = line[:4].upper()
            if word == b"DATA":
                self.wfile.write(b"354 go on\r\n")
                while (line := self.rfile.readline()) != b".\r\n":
                    self.server.letter += line
            self.wfile.write(b"221 bye\r\n" if word == b"QUIT" else b"250 fine\r\n")
            if word == b"QUIT":
                return


def test_by_smtp(mara, queue, settings):
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), MailServer) as server:
        server.letter = b""
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = server.server_address
        settings.EMAIL_USE_TLS = False
        ask()
        tasks.send_reset_link(*queue[0][1])
        server.shutdown()
    assert b"To: mara@example.org" in server.letter
    assert b"http://testserver/login/reset/" in server.letter


def test_what_the_mail_server_refuses_is_logged(mara, queue, settings, caplog):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 9
    ask()
    tasks.send_reset_link(*queue[0][1])
    assert f"Failed to send password reset email to {mara.pk}" in caplog.text
