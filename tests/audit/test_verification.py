"""Verifying: each kind of tampering is named exactly."""

import json
from importlib import import_module

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, connections, transaction
from django.utils import timezone

from memories import access, audit
from memories.audit import signatures
from memories.models import AccountEvent

pytestmark = pytest.mark.examples

EVENT = "memories_fragmentevent"
COPY = f"""INSERT INTO {EVENT} SELECT (jsonb_populate_record(e, %(other)s::jsonb)).* FROM {EVENT} e
    WHERE pgh_id = %(event)s"""
# what: (SQL, the finding's kind, what it names)
TAMPERINGS = {
    "a changed number": (f"UPDATE {EVENT} SET authority = 6 WHERE pgh_id = %(event)s", "changed", "{event}"),
    "a changed person": (
        f"""UPDATE {EVENT} SET pgh_context = '{{"kind": "key"}}' WHERE pgh_id = %(event)s""",
        "changed",
        "{event}",
    ),
    "a person taken out": (f"UPDATE {EVENT} SET pgh_context = NULL WHERE pgh_id = %(event)s", "changed", "{event}"),
    "a changed time": (
        f"UPDATE {EVENT} SET pgh_created_at = pgh_created_at - interval '1 day' WHERE pgh_id = %(event)s",
        "changed",
        "{event}",
    ),
    "a removed event": (f"DELETE FROM {EVENT} WHERE pgh_id = %(event)s", "removed", "{event}"),
    "an event moved to a later seal": (
        f"""UPDATE {EVENT} SET recorded_in = upto FROM memories_seal s
            WHERE pgh_id = %(event)s AND s.project_id = %(project)s AND s.number = 2""",
        "removed",
        "{event}",
    ),
    "an event given to another project": (
        f"UPDATE {EVENT} SET project_id = gen_random_uuid() WHERE pgh_id = %(event)s",
        "removed",
        "{event}",
    ),
    "an event slipped in": (COPY, "slipped_in", f"{EVENT} {{other}}"),
    "seals cut off at the end": (
        "DELETE FROM memories_seal WHERE project_id = %(project)s AND number >= 2",
        "cut_off",
        "seal 2",
    ),
    "all seals cut off": ("DELETE FROM memories_seal WHERE project_id = %(project)s", "cut_off", "seal 1"),
    "a seal taken out": (
        "DELETE FROM memories_seal WHERE project_id = %(project)s AND number = 2",
        "removed",
        "seal 2",
    ),
}
TAMPERINGS |= {
    f"a seal's {column} changed": (
        f"UPDATE memories_seal SET {column} = {value} WHERE project_id = %(project)s AND number = 2",
        "seal_changed",
        "seal 2 is another one in the file",
    )
    for column, value in {
        "digest": "sha256('another')",
        "signature": "digest || digest",
        "signer": "repeat('0', 64)",
        "events": "events + 1",
        "upto": "(upto::text::bigint + 1)::text::xid8",
        "sealed_at": "sealed_at + interval '1 hour'",
    }.items()
}
FAR = 1_000_000_000  # from the numbers of real events
SEAL_OF = {"all seals cut off": 1}


@pytest.fixture(params=TAMPERINGS)
def finding(request, service, sealed, event, tamper):
    """Tampers in one of the ways; what verifying ought to say."""
    statement, kind, what = TAMPERINGS[request.param]
    other = json.dumps({"pgh_id": event + FAR, "authority": 6})
    tamper(statement, {"event": event, "project": service.project_id, "other": other})
    said = what.format(event=f"{EVENT} {event}", other=event + FAR)
    return audit.AuditFinding(kind, said, SEAL_OF.get(request.param, 2))


def test_a_whole_chain_is_whole(service, sealed):
    verdict = audit.verify(service)
    assert (verdict.seals, verdict.unsealed, verdict.finding) == (3, 0, None)
    assert verdict.events == 4 + AccountEvent.objects.count()  # three fragments, their namespace, what came of accounts


def test_tampering_is_named(service, finding):
    verdict = audit.verify(service)
    assert verdict.finding == finding
    assert verdict.seals == finding.seal - 1


def test_tampering_is_still_named_after_the_next_seal(service, finding, keep, seal):
    keep("Life goes on.")
    seal()
    found = audit.verify(service).finding
    assert found.seal == finding.seal
    assert found.what.startswith(finding.what)


def test_the_command_names_it_and_ends_badly(committed, service, finding, capsys):
    with pytest.raises(SystemExit) as ended:
        call_command("audit", "verify", "--project", committed.name)
    assert ended.value.code == 1
    assert f"{committed.name}: {finding.kind}: {finding.what}" in capsys.readouterr().out
    with pytest.raises(SystemExit) as ended:
        call_command("audit", "verify", "--project", committed.name, "--json")
    assert ended.value.code == 1
    said = json.loads(capsys.readouterr().out)[committed.name]
    assert said["finding"] == {"kind": finding.kind, "what": finding.what, "seal": finding.seal}


def test_the_command_says_that_all_is_whole(committed, sealed, capsys):
    events = 4 + AccountEvent.objects.count()
    call_command("audit", "verify", "--project", committed.name)
    assert f"{committed.name}: whole (3 seals, {events} events, 0 not sealed yet)" in capsys.readouterr().out
    call_command("audit", "verify", "--project", committed.name, "--json")
    assert json.loads(capsys.readouterr().out) == {
        committed.name: {
            "seals": 3,
            "events": events,
            "unsealed": 0,
            "finding": None,
            "horizon": 0,
            "rows": {"rows": 4 + get_user_model().objects.count(), "differ": 0, "differences": [], "without_digest": 0},
            "witness": None,
        }
    }


def test_the_command_seals(committed, service, keep, capsys, seal):
    keep("The heron nests.")
    call_command("audit", "seal", "--project", committed.name)
    assert "events sealed" in capsys.readouterr().out
    assert audit.verify(service).finding is None


def test_the_command_refuses_an_unknown_project(committed):
    with pytest.raises(CommandError):
        call_command("audit", "verify", "--project", "nowhere")


def edit(change):
    """A tampering with the second line of the file."""

    def run(lines):
        row = json.loads(lines[1])
        change(row)
        return [lines[0], json.dumps(row) + "\n", *lines[2:]]

    return run


def set_leaf(row):
    row["leaves"][0][3] = "0" * 64


FILES = {
    "a changed event": (edit(set_leaf), "file_changed"),
    "an event taken out": (edit(lambda row: row["leaves"].clear()), "file_changed"),
    "a changed end": (edit(lambda row: row.update(upto=row["upto"] + 1)), "file_changed"),
    "a changed digest": (edit(lambda row: row.update(digest="0" * 64)), "file_changed"),
    "a changed signature": (edit(lambda row: row.update(signature="0" * 128)), "file_changed"),
    "a signature that is none": (edit(lambda row: row.update(signature="zz")), "file_changed"),
    "a field taken out": (edit(lambda row: row.pop("upto")), "file_changed"),
    "no JSON": (lambda lines: [lines[0], '{"number": 2, what?\n', *lines[2:]], "file_changed"),
    "endless nesting": (
        lambda lines: [lines[0], '{"number": 2, "x": ' + "[" * 200_000 + "\n", *lines[2:]],
        "file_changed",
    ),
    "another number": (edit(lambda row: row.update(number=7)), "not_in_file"),
    "a line taken out": (lambda lines: [lines[0], *lines[2:]], "not_in_file"),
    "a line of noise": (lambda lines: [lines[0], "noise\n", *lines[2:]], "not_in_file"),
    "the end cut off": (lambda lines: lines[:1], "not_in_file"),
}


@pytest.mark.parametrize("how", FILES)
def test_a_file_that_was_tampered_with_is_named(how, service, sealed, journal):
    change, kind = FILES[how]
    journal.path.write_text("".join(change(journal.path.read_text().splitlines(keepends=True))))
    finding = audit.verify(service).finding
    assert (finding.kind, finding.seal) == (kind, 2)


def test_a_file_that_was_cut_off_stays_cut_off(service, sealed, journal, keep, seal):
    journal.path.write_text(journal.path.read_text().splitlines(keepends=True)[0])
    keep("Life goes on.")
    seal()
    assert audit.verify(service).finding == audit.AuditFinding("not_in_file", "seal 2 does not stand in the file", 2)


def test_a_file_that_is_gone_is_missed(service, sealed, journal):
    journal.path.unlink()
    assert audit.verify(service).finding == audit.AuditFinding("not_in_file", "seal 1 does not stand in the file", 1)


def test_events_changed_in_both_places_do_not_fit_the_signature(service, sealed, event, tamper, journal):
    tamper(f"UPDATE {EVENT} SET authority = 6 WHERE pgh_id = %(event)s", {"event": event})
    with access.enter(service, why="test"):
        changed = [leaf for leaf in audit.leaves.leaves(service.project_id, since=0) if leaf.number == event]
    lines = journal.path.read_text().splitlines(keepends=True)
    row = json.loads(lines[1])
    row["leaves"][0][3] = next(leaf.digest for leaf in changed if leaf.table == EVENT)
    journal.path.write_text("".join([lines[0], json.dumps(row) + "\n", lines[2]]))
    finding = audit.verify(service).finding
    assert (finding.kind, finding.seal) == ("seal_changed", 2)


def test_another_key_does_not_pass(service, sealed, settings, data_dir):
    signatures.key_path().rename(data_dir / "old")
    signatures._private.cache_clear()
    assert audit.verify(service).finding.kind == "seal_changed"


def test_an_event_from_the_future_was_slipped_in(service, sealed, event, tamper):
    other = json.dumps({"pgh_id": event + FAR, "recorded_in": str(2**63 + 5)})
    tamper(COPY, {"event": event, "other": other})
    assert audit.verify(service).finding == audit.AuditFinding("slipped_in", f"{EVENT} {event + FAR}", 4)


@pytest.fixture
def refused():
    """Runs a statement as the app role, which has to refuse it."""

    def run(principal, statement):
        with access.enter(principal, why="test"), pytest.raises(DatabaseError) as error, transaction.atomic():  # noqa: SIM117
            with connection.cursor() as cursor:
                cursor.execute(statement)
        return str(error.value)

    return run


TABLES = [f"memories_{name}event" for name in ("fragment", "claim", "grant", "apikey", "namespace")]


@pytest.mark.parametrize("table", TABLES)
def test_the_app_role_may_only_add_events(table, service, sealed, refused):
    for statement in (f"UPDATE {table} SET pgh_label = 'x'", f"DELETE FROM {table}", f"TRUNCATE {table}"):
        assert "permission denied" in refused(service, statement)
    assert audit.verify(service).finding is None


def test_the_app_role_may_not_change_seals(service, sealed, refused):
    refused(service, "UPDATE memories_seal SET events = 0")
    refused(service, "TRUNCATE memories_seal")
    assert audit.verify(service).finding is None


def test_the_app_role_may_not_delete_seals(service, sealed, refused):
    assert "permission denied" in refused(service, "DELETE FROM memories_seal")


def test_a_chain_sealed_before_grants_knew_users_is_whole(committed, service, agent_of, seal):
    """The upgrades that gave their events these columns gave them values; the seals of before know of none."""
    upgrade = import_module("memories.migrations.0021_rights_of_the_app")
    applied = "UPDATE django_migrations SET applied = '{}' WHERE app = 'memories' AND name IN ('{}', '{}')"

    def as_owner(*statements):
        with transaction.atomic(using="owner"), connections["owner"].cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def without_columns():
        off, on = (f"ALTER TABLE memories_grantevent {word} TRIGGER USER" for word in ("DISABLE", "ENABLE"))
        as_owner(off, "UPDATE memories_grantevent SET users = NULL, may_read_wide = NULL", on)

    agent_of(committed)
    without_columns()
    seal()
    upgraded = timezone.now()
    as_owner(upgrade.DEFAULTS)
    for _ in range(2):
        agent_of(committed)
        seal()
    assert audit.verify(service).finding.kind == "changed"
    names = upgrade.LATE.values()
    as_owner(applied.format(upgraded, *names), *upgrade.RESEALED, applied.format("epoch", *names))
    assert audit.verify(service).finding is None
    assert audit.prove(service).is_whole
