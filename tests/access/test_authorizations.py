"""What a person lets a client do: how long codes and tokens are good for."""

import datetime

import pytest
import time_machine
from django.contrib.auth import get_user_model

from memories import access
from memories.access import authorizations, oauth_clients
from memories.access.authorizations import AGAIN, CODE_LIFE, REFRESH_LIFE, TOKEN_LIFE, NotAuthorized
from memories.models import ApiKey, Authorization, Membership, Owner

BACK = "https://claude.example/callback"
SECOND = datetime.timedelta(seconds=1)


@pytest.fixture
def client():
    """A registered client."""
    return oauth_clients.register("Claude", [BACK], method="none", scopes=["read", "write"])


@pytest.fixture
def rita(project):
    """A reviewer."""
    user = get_user_model()._default_manager.create_user("rita")
    Membership.objects.create(user=user, project=project, role="reviewer")
    return access.principal_of_member(user, project=project.name)


@pytest.fixture
def code(rita, client, now):
    """What she allowed, `now`."""
    asked = {"redirect_uri": BACK, "challenge": "c" * 43, "resource": "https://nova.example/mcp"}
    with time_machine.travel(now, tick=False):
        return authorizations.consent(rita, client, **asked, namespaces=["acme:*"], verbs=["read", "write"])


@pytest.fixture
def redeem(code, client, now):
    """The tokens of the code, so long after it."""

    def after(passed=SECOND):
        with time_machine.travel(now + passed, tick=False):
            given = authorizations.read_code(code, client)
            return given and authorizations.redeem(given, client, now=now + passed)

    return after


@pytest.fixture
def refresh(client, now):
    """New tokens, so long after the code."""

    def after(tokens, passed):
        with time_machine.travel(now + passed, tick=False):
            return authorizations.refresh(tokens.refresh, client, now=now + passed)

    return after


def knows(tokens, at):
    return access.principal_of_key(tokens.access, now=at) is not None


def test_a_code_is_good_for_two_minutes(redeem):
    assert redeem(CODE_LIFE + SECOND) is None
    assert redeem(CODE_LIFE - SECOND)


def test_an_access_token_is_good_for_an_hour_and_made_anew_after_it(redeem, refresh, now):
    tokens = redeem()
    assert knows(tokens, now + TOKEN_LIFE)
    assert not knows(tokens, now + TOKEN_LIFE + SECOND)
    new = refresh(tokens, 5 * TOKEN_LIFE)
    assert knows(new, now + 6 * TOKEN_LIFE - SECOND)
    assert new.lives == TOKEN_LIFE


def test_who_is_away_for_a_month_asks_again(redeem, refresh):
    tokens = redeem()
    with pytest.raises(NotAuthorized):
        refresh(tokens, REFRESH_LIFE + 2 * SECOND)


def test_a_refresh_is_answered_again_for_some_seconds(redeem, refresh, now):
    tokens = redeem()
    first = refresh(tokens, TOKEN_LIFE)
    again = refresh(tokens, TOKEN_LIFE + AGAIN)
    assert (again.access, again.lives) == (first.access, TOKEN_LIFE - AGAIN)
    with pytest.raises(NotAuthorized):
        refresh(tokens, TOKEN_LIFE + AGAIN + SECOND)
    assert not knows(first, now + TOKEN_LIFE + AGAIN + SECOND)


def test_a_revoked_key_is_not_made_anew(redeem, refresh, project, now):
    tokens = redeem()
    access.keys.revoke(project, tokens.access.split("_")[1], now=now)
    with pytest.raises(NotAuthorized):
        refresh(tokens, TOKEN_LIFE)


def test_one_owner_stands_behind_all_clients_of_a_person(rita, redeem, client, project, now):
    tokens = redeem()
    asked = {"redirect_uri": BACK, "challenge": "c" * 43, "resource": "https://nova.example/mcp"}
    other = oauth_clients.register("Another", [BACK], method="none", scopes=[])
    code = authorizations.consent(rita, other, **asked, namespaces=["acme:*"], verbs=["read"])
    authorizations.redeem(authorizations.read_code(code, other), other, now=now)
    with access.enter(rita, why="test"):
        assert {row.owner_id for row in ApiKey.objects.all()} == {Owner.objects.get(name="client:rita").id}
        assert {row.client_name for row in Authorization.objects.all()} == {"Claude", "Another"}
    assert access.principal_of_key(tokens.access, now=now).owner != rita.owner


@pytest.mark.parametrize(
    ("known", "asked", "takes"),
    [
        ("http://localhost:1/a", "http://localhost:2/a", True),
        ("http://[::1]:1/a", "http://[::1]/a", True),
        ("http://127.0.0.1", "http://127.0.0.1:9/", True),
        ("http://127.0.0.1:1/a", "http://127.0.0.1:1/b", False),
        ("http://127.0.0.1:1/a", "http://127.0.0.1:1/a?b", False),
        ("http://127.0.0.1/a", "http://localhost/a", False),
        ("http://127.0.0.1/a", "http://127.0.0.1:x/a", False),
        ("http://127.0.0.1/a", "http://evil@127.0.0.1/a", False),
        ("https://a.example/b", "https://a.example/b", True),
        ("https://a.example", "https://a.example/", True),
        ("https://a.example/b", "https://a.example:444/b", False),
        ("https://a.example/b", "https://a.example.evil/b", False),
        ("https://a.example/b", "http://a.example/b", False),
        ("cursor://mcp/back", "cursor://mcp/back", True),
        ("cursor://mcp/back", "cursor://mcp/other", False),
    ],
)
def test_answers_go_where_the_client_said(known, asked, takes):
    client = oauth_clients.register("Claude", [known], method="none", scopes=[])
    assert oauth_clients.find_client(client.id).takes(asked) is takes
