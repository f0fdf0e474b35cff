"""One instance keeps a project's chain: a machine with another key leaves it alone, until it adopts it."""

import datetime
import json

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from memories import audit, health, tasks
from memories.audit.journal import Journal


@pytest.fixture
def elsewhere(settings, tmp_path):
    """Moves to a machine with a data directory of its own; and back."""
    here = settings.DATA_DIR

    def move(back=False):
        settings.DATA_DIR = here if back else tmp_path / "elsewhere"

    return move


def test_a_machine_with_another_key_does_not_seal(service, sealed, seal, keep, elsewhere, now):
    signer = audit.fingerprint()
    elsewhere()
    keep("The river rises.")
    with pytest.raises(audit.SealedElsewhere, match=f"{signer}.*audit adopt --project {service.project}"):
        audit.seal(service, now=now)
    elsewhere(back=True)
    assert seal().number == 4
    assert audit.verify(service).finding is None


def test_the_task_says_what_keeps_it(service, sealed, keep, elsewhere, monkeypatch):
    told = []
    monkeypatch.setattr(tasks.log, "error", lambda event, **more: told.append((event, more["project"])))
    monkeypatch.setattr(tasks.log, "exception", lambda event, **more: told.append((event, more)))
    elsewhere()
    keep("The river rises.")
    tasks.seal_events()
    assert (("sealed_elsewhere", service.project) in told, len(told)) == (True, 1)
    part = Client().get("/readyz").json()["parts"]["seals"]
    assert part["state"] == health.DEGRADED
    assert "NOVAMEM_DATA_DIR" in part["detail"]
    with pytest.raises(CommandError, match="sealed by another instance"):
        call_command("audit", "seal", "--project", service.project)


def test_readiness_forgets_it_once_it_may_seal(service, sealed, keep, elsewhere):
    elsewhere()
    keep("The river rises.")
    with pytest.raises(audit.SealedElsewhere):
        audit.seal(service, now=timezone.now())
    assert audit.sealed_elsewhere()
    call_command("audit", "adopt", "--project", service.project)
    assert audit.sealed_elsewhere() == ""
    assert "seals" not in health.check_parts()


def test_adopted_chains_go_on_and_are_whole(service, sealed, seal, keep, elsewhere, capsys):
    signer = audit.fingerprint()
    elsewhere()
    keep("The river rises.")
    call_command("audit", "adopt", "--project", service.project)
    assert f"behind seal 3 of {signer}" in capsys.readouterr().out
    assert seal().number == 4
    keep("The mill burns.")
    assert seal().number == 5
    verdict = audit.verify(service)
    assert (verdict.finding, verdict.seals, verdict.horizon) == (None, 2, 3)
    assert Journal(service.project_id).last_number() == 5


def test_what_is_tampered_with_before_an_adopted_chain_is_still_found(
    service, sealed, seal, keep, event, tamper, elsewhere
):
    elsewhere()
    call_command("audit", "adopt", "--project", service.project)
    keep("The river rises.")
    seal()
    tamper("UPDATE memories_fragmentevent SET authority = 6 WHERE pgh_id = %(event)s", {"event": event})
    assert audit.verify(service).finding.kind == "horizon_changed"


def test_commands_answer_in_json(service, sealed, keep, elsewhere, capsys):
    keep("The river rises.")
    call_command("audit", "seal", "--project", service.project, "--json")
    ((project, events, witnessed),) = [each.values() for each in json.loads(capsys.readouterr().out)]
    assert (project, events > 0, witnessed) == (service.project, True, 0)
    elsewhere()
    for last in (4, None):
        call_command("audit", "adopt", "--project", service.project, "--json")
        assert json.loads(capsys.readouterr().out) == {"project": service.project, "behind": last}


def test_the_own_chain_is_not_adopted(service, sealed, capsys):
    call_command("audit", "adopt", "--project", service.project)
    assert "is this instance's already" in capsys.readouterr().out
    assert audit.verify(service).seals == 3


def test_a_horizon_that_somebody_else_signed_adopts_nothing(service, sealed, elsewhere, tamper):
    elsewhere()
    call_command("audit", "adopt", "--project", service.project)
    tamper("UPDATE memories_audithorizon SET signature = %(none)s", {"none": bytes(64)})
    with pytest.raises(audit.SealedElsewhere):
        audit.seal(service, now=timezone.now())


def test_the_former_instance_seals_no_more_once_its_chain_is_adopted(service, sealed, seal, keep, elsewhere):
    elsewhere()
    call_command("audit", "adopt", "--project", service.project)
    elsewhere(back=True)
    keep("The river rises.")
    with pytest.raises(audit.SealedElsewhere, match="another instance, which has adopted it"):
        audit.seal(service, now=timezone.now())
    elsewhere()
    assert seal().number == 4
    assert audit.verify(service).finding is None


def test_it_may_take_its_chain_back(service, sealed, seal, keep, elsewhere):
    elsewhere()
    call_command("audit", "adopt", "--project", service.project)
    keep("The river rises.")
    seal()
    elsewhere(back=True)
    call_command("audit", "adopt", "--project", service.project)
    keep("The mill burns.")
    assert seal().number == 5
    verdict = audit.verify(service)
    assert (verdict.finding, verdict.seals, verdict.horizon) == (None, 1, 4)
    former = Journal(service.project_id).path.with_suffix(".former")
    assert len(former.read_text().splitlines()) == 3, "what it had written stays as evidence"


def test_an_adoption_that_was_cut_short_is_gone_on_with(service, sealed, seal, keep, elsewhere, monkeypatch):
    elsewhere()
    with monkeypatch.context() as cut:
        cut.setattr(Journal, "begin_anew", lambda *_: _full())
        with pytest.raises(OSError, match="disk full"):
            audit.adopt(service, now=timezone.now())
    assert audit.adopt(service, now=timezone.now()) is None
    keep("The river rises.")
    assert seal().number == 4
    assert audit.verify(service).finding is None


def _full():
    raise OSError("disk full")


def test_retention_stays_behind_the_horizon_of_an_adopted_chain(service, sealed, seal, keep, elsewhere, settings):
    elsewhere()
    call_command("audit", "adopt", "--project", service.project)
    keep("The river rises.")
    seal()
    settings.HISTORY_DAYS = 100
    much_later = timezone.now() + datetime.timedelta(days=200)
    assert audit.let_go(service, now=much_later) == 0
    verdict = audit.verify(service)
    assert (verdict.finding, verdict.horizon) == (None, 3)
