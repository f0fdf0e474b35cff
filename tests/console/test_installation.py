"""/installation/: the operator's page."""

import pytest

from memories.growth import growing
from memories.models import Operation
from memories.models.enums import OperationState
from tests.console.conftest import words


def test_it_tells_parts_numbers_and_what_grows(root, principal):
    page = root.get("/installation/")
    assert page.status_code == 200
    text = words(page)
    for part in ("database", "migrations", "worker", "broker"):
        assert part in text
    for each in growing():
        assert each.what in text
        assert each.setting in text
    assert "90 days" in text
    assert "kept for good" in text


def test_what_waits_is_counted(root, principal, store):
    from memories import access

    with access.enter(principal, why="test"):
        Operation.objects.create(project_id=principal.project_id, kind="tier", state=OperationState.QUEUED)
    assert "Operations that are open, by state: queued 1" in words(root.get("/installation/"))


@pytest.mark.parametrize("who", ["adam", "vera"])
def test_it_is_the_operators_alone(who, request):
    client = request.getfixturevalue(who)
    assert client.get("/installation/").status_code == 403
    assert "/installation/" not in client.get("/memories/").text


def test_the_operator_is_led_there(root):
    assert "/installation/" in root.get("/memories/").text
