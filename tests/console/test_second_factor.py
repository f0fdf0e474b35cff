"""The brake on logins and the second factor: had, asked for, wanted by the operator, lost."""

import datetime
import json
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
import time_machine
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction
from django.test import Client
from django.utils import timezone
from django_otp.oath import TOTP

from memories import tasks
from memories.access import logins
from memories.console.logins import PATIENCE
from memories.models import LoginEvent
from memories.models.enums import LoginOutcome
from tests.console.conftest import a_person, logged_in

PASSWORD = "a long enough one"


def code_of(user, *, ahead=0):
    """What the app shows; each code works once, so later ones look ahead."""
    device = logins.factor_of(user) or logins.draft_factor(user)
    totp = TOTP(device.bin_key)
    totp.time = timezone.now().timestamp() + 30 * ahead
    return f"{totp.token():06}"


def posted(client, path, **form):
    page = client.get(path, follow=True)
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)[1]
    return client.post(path, {"csrfmiddlewaretoken": token, **form})


def tried(client, username="vera", password="wrong", **headers):
    return client.post("/login/", {"username": username, "password": password}, **headers)


@pytest.fixture
def rita(project):
    return a_person("rita", project, role="reviewer")


@pytest.fixture
def her_codes(rita):
    """Rita has a second factor; her recovery codes."""
    return logins.confirm_factor(rita, code_of(rita))


class TestBrake:
    def test_after_five_wrong_passwords_the_right_one_waits(self, vera):
        client = Client()
        assert [tried(client).status_code for _ in range(5)] == [200] * 5
        refused = tried(client, password=PASSWORD)
        assert refused.status_code == 200
        assert "Too many tries failed. Wait 15 minutes, then try again." in refused.text
        assert client.get("/memories/").status_code == 302
        with time_machine.travel(timezone.now() + datetime.timedelta(minutes=9), tick=False):
            assert "Wait 6 minutes" in tried(client, password=PASSWORD).text
        with time_machine.travel(timezone.now() + datetime.timedelta(minutes=16), tick=False):
            assert tried(client, password=PASSWORD).status_code == 302

    def test_getting_in_under_another_name_does_not_loosen_it(self, vera, rita):
        now = timezone.now()
        for _ in range(5):
            logins.begin("vera", "10.1.1.1", now=now)
        for _ in range(logins.NAME + logins.ADDRESS + 2):
            logins.succeed(logins.begin("rita", "10.1.1.1", now=now).pk)
        with pytest.raises(logins.Locked):
            logins.begin("vera", "10.1.1.1", now=now)

    def test_unknown_names_are_braked_alike(self, db):
        client = Client()
        assert "Too many" not in [tried(client, "nobody-of-that-name") for _ in range(5)][-1].text
        assert "Too many tries failed" in tried(client, "nobody-of-that-name").text

    def test_from_elsewhere_the_owner_of_the_name_gets_in(self, vera):
        for _ in range(6):
            tried(Client())
        assert tried(Client(REMOTE_ADDR="203.0.113.9"), password=PASSWORD).status_code == 302

    def test_success_forgives_the_name_and_not_the_address(self, vera, project):
        a_person("mallory", project)
        client = Client()
        for _ in range(4):
            tried(client)
        assert tried(client, password=PASSWORD).status_code == 302
        client.logout()
        assert "Too many" not in tried(client).text
        for n in range(30):
            tried(client, f"name{n}")
            assert tried(client, "mallory", PASSWORD).status_code == 302 or n > 10
            client.logout()
        assert "Too many tries failed" in tried(client, "another").text

    def test_many_addresses_together_are_braked_for_one_name(self, vera):
        for n in range(100):
            LoginEvent.objects.create(name=logins.Trier.of("vera", "").name, address=n.to_bytes(16), outcome="failure")
        assert "Too many tries failed" in tried(Client(REMOTE_ADDR="203.0.113.9"), password=PASSWORD).text

    def test_tries_at_one_time_count_each_other(self, committed):
        def guess(_):
            try:
                logins.begin("vera", "203.0.113.9", now=timezone.now())
            except logins.Locked:
                return 0
            finally:
                connection.close()
            return 1

        with ThreadPoolExecutor(8) as threads:
            assert 1 <= sum(threads.map(guess, range(24))) <= logins.PAIR

    def test_tries_leave_events_without_text(self, vera):
        user = get_user_model().objects.get(username="vera")
        client = Client()
        for password in ("wrong", PASSWORD):
            tried(client, password=password)
        client.logout()
        for _ in range(8):
            tried(client)
        rows = list(LoginEvent.objects.order_by("id").values_list("user_id", "outcome"))
        assert rows == [(user.pk, word) for word in ["failure", "success", *["failure"] * 5, "locked"]]
        kept = LoginEvent.objects.first()
        assert b"vera" not in bytes(kept.name)
        assert (len(kept.name), len(kept.address)) == (16, 16)

    def test_events_stay_as_they_are(self, vera):
        tried(Client())
        for statement in (
            "DELETE FROM memories_loginevent",
            "UPDATE memories_loginevent SET at = now()",
            "UPDATE memories_loginevent SET outcome = 'locked'",
        ):
            with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
                cursor.execute(statement)

    def test_neighbours_in_a_network_of_ipv6_are_one(self):
        one, near, far = (logins.Trier.of("a", f"2001:db8:0:{n}").address for n in ("1::5", "1:9::7", "2::5"))
        assert one == near != far


class TestFactor:
    def test_it_is_offered_and_turned_on(self, rita):
        client = logged_in(rita)
        page = client.get("/login/factor/")
        assert logins.secret_of(logins.draft_factor(rita)) in page.text
        assert 'src="data:image/svg+xml' in page.text
        assert "style=" not in page.text
        wrong = posted(client, "/login/factor/", action="confirm", code="000000")
        assert (wrong.status_code, logins.factor_of(rita)) == (409, None)
        done = posted(client, "/login/factor/", action="confirm", code=code_of(rita))
        assert done.status_code == 303
        told = client.get(done["Location"])
        codes = re.findall(r"[0-9a-f]{5}-[0-9a-f]{5}", told.text)
        assert len(set(codes)) == 10
        assert codes[0] not in client.get(done["Location"]).text, "told once"
        assert client.get("/memories/").status_code == 200
        assert LoginEvent.objects.filter(user_id=rita.pk, outcome=LoginOutcome.FACTOR_ADDED).exists()

    def test_the_password_alone_leads_nowhere(self, rita, her_codes):
        client = Client()
        to_code = tried(client, "rita", PASSWORD)
        assert to_code["Location"].startswith("/login/code/")
        for path in ("/memories/", "/admin/", "/"):
            assert client.get(path)["Location"].startswith(("/login/", "/admin/login/"))
        assert LoginEvent.objects.get(outcome="failure").user_id == rita.pk

    def test_password_and_code_lead_in(self, rita, her_codes):
        client = Client()
        there = client.post("/login/", {"username": "rita", "password": PASSWORD, "next": "/review/"})["Location"]
        assert client.post(there, {"code": "000000"}).context["wrong"]
        assert client.post(there, {"code": code_of(rita, ahead=1)})["Location"] == "/review/"
        assert client.get("/review/").status_code == 200
        assert set(LoginEvent.objects.values_list("outcome", flat=True)) == {"success", "failure"}

    def test_a_code_works_once(self, rita, her_codes):
        code = code_of(rita, ahead=1)
        answers = []
        for _ in range(2):
            client = Client()
            there = tried(client, "rita", PASSWORD)["Location"]
            answers.append(client.post(there, {"code": code}).status_code)
        assert answers == [302, 200]

    def test_a_recovery_code_works_once_and_is_kept_as_digest(self, rita, her_codes):
        answers = []
        for _ in range(2):
            client = Client()
            there = tried(client, "rita", PASSWORD)["Location"]
            answers.append(client.post(there, {"code": her_codes[0].upper()}).status_code)
        assert answers == [302, 200]
        assert logins.codes_left(rita) == 9
        with connection.cursor() as cursor:
            cursor.execute("SELECT token FROM otp_static_statictoken")
            assert not {row[0] for row in cursor} & {code.replace("-", "") for code in her_codes}
        assert LoginEvent.objects.filter(user_id=rita.pk, outcome=LoginOutcome.RECOVERED).exists()

    def test_codes_are_braked_too(self, rita, her_codes):
        client = Client()
        there = tried(client, "rita", PASSWORD)["Location"]
        for _ in range(5):
            answer = client.post(there, {"code": "000000"})
        assert "Too many tries failed" in answer.text
        assert "Too many tries failed" in client.post(there, {"code": code_of(rita, ahead=1)}).text

    def test_the_code_has_to_come_soon(self, rita, her_codes):
        client = Client()
        there = tried(client, "rita", PASSWORD)["Location"]
        with time_machine.travel(timezone.now() + datetime.timedelta(seconds=PATIENCE + 5), tick=False):
            assert client.post(there, {"code": code_of(rita)})["Location"].startswith("/login/?")

    def test_other_sessions_are_asked_from_then_on(self, rita):
        elsewhere = logged_in(rita)
        assert elsewhere.get("/memories/").status_code == 200
        logins.confirm_factor(rita, code_of(rita))
        assert elsewhere.get("/memories/?q=a")["Location"] == "/login/code/?next=/memories/%3Fq%3Da"
        asked = elsewhere.get("/memories/", headers={"HX-Request": "true"})
        assert asked["HX-Redirect"].startswith("/login/code/")
        assert posted(elsewhere, "/login/code/", code=code_of(rita, ahead=1)).status_code == 302
        assert elsewhere.get("/memories/").status_code == 200

    def test_nobody_changes_a_factor_without_it(self, rita, her_codes):
        client = logged_in(rita)
        for action in ("remove", "renew", "confirm", "nonsense"):
            assert posted(client, "/login/factor/", action=action, code="000000").status_code == 409
        assert (bool(logins.factor_of(rita)), logins.codes_left(rita)) == (True, 10)

    def test_it_is_removed_with_a_code(self, rita, her_codes):
        client = logged_in(rita)
        assert posted(client, "/login/factor/", action="remove", code=her_codes[1]).status_code == 303
        assert logins.factor_of(rita) is None
        assert client.get("/memories/").status_code == 200
        assert tried(Client(), "rita", PASSWORD)["Location"] == "/"

    def test_the_operator_takes_it_away(self, rita, her_codes, capsys):
        call_command("member", "reset-factor", "--username", "rita", "--json")
        assert logins.factor_of(rita) is None
        assert json.loads(capsys.readouterr().out) == {"username": "rita", "second_factor": False}
        assert LoginEvent.objects.filter(user_id=rita.pk, outcome=LoginOutcome.FACTOR_REMOVED).exists()

    def test_the_operator_reads_how_logins_went(self, rita, capsys):
        tried(Client(), "rita")
        call_command("member", "logins", "--username", "rita")
        assert "failure" in capsys.readouterr().out
        call_command("member", "logins", "--username", "rita", "--json")
        (failed,) = json.loads(capsys.readouterr().out)
        assert (failed["outcome"], sorted(failed)) == ("failure", ["address", "at", "outcome"])


class TestOldLogins:
    def tries(self, *ages):
        for days in ages:
            at = timezone.now() - datetime.timedelta(days=days)
            LoginEvent.objects.create(name=b"n", address=b"a", outcome="failure", at=at)

    def left(self):
        rows = LoginEvent.objects.order_by("-at").values_list("at", flat=True)
        return [(timezone.now() - at).days for at in rows]

    def test_go_after_the_time_that_is_set(self, db, settings):
        self.tries(1, 399, 401)
        tasks.expire_logins()
        assert self.left() == [1, 399]
        settings.LOGIN_DAYS = 90
        tasks.expire_logins()
        assert self.left() == [1]

    def test_of_the_last_month_stay_whatever_is_asked_for(self, db, settings):
        self.tries(29, 31)
        settings.LOGIN_DAYS = 0
        tasks.expire_logins()
        assert self.left() == [29]


class TestRequired:
    @pytest.fixture(autouse=True)
    def _required(self, settings):
        settings.REQUIRE_SECOND_FACTOR = True

    @pytest.mark.parametrize("role", ["reviewer", "admin"])
    def test_roles_above_viewer_have_to_have_one(self, project, role):
        client = logged_in(user := a_person("rolf", project, role=role))
        assert client.get("/memories/")["Location"] == "/login/factor/?next=/memories/"
        token = client.get("/login/factor/").context["csrf_token"]
        assert client.post("/review/decide/", {"csrfmiddlewaretoken": str(token)})["Location"].startswith(
            "/login/factor/"
        )
        assert "needs a second factor" in client.get("/login/factor/").text
        assert posted(client, "/login/factor/", action="confirm", code=code_of(user)).status_code == 303
        assert client.get("/memories/").status_code == 200

    def test_superusers_have_to_have_one_in_the_admin_too(self, root):
        assert root.get("/admin/")["Location"] == "/login/factor/?next=/admin/"

    def test_viewers_need_none(self, vera):
        assert vera.get("/memories/").status_code == 200

    def test_keys_need_none(self, alice):
        assert alice.client.get("/api/v1/namespaces").status_code == 200


def test_the_admin_has_no_login_of_its_own(vera, project):
    to_login = Client().get("/admin/", follow=True)
    assert [url for url, _ in to_login.redirect_chain][-1] == "/login/?next=/admin/"
    assert Client().post("/admin/login/", {"username": "vera", "password": PASSWORD})["Location"].startswith("/login/")
    user = get_user_model()._default_manager.create_user("plain")  # no staff, as members are
    assert logged_in(user).get("/admin/", follow=True).status_code == 403
