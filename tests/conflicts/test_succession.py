"""Succession: what was pending against a memory waits against what takes its place, once."""

from conflicts.bulk_changes import supersede_repeated
from conflicts.models import PendingConflict
from memories import access


def test_who_faces_the_successor_already_faces_it_once(store, principal, now):
    old, new, text = (store("acme:main", f"The heron nests {where}.") for where in ("here", "there", "nowhere"))
    with access.enter(principal, why="test"):
        mine = {"project_id": principal.project_id, "namespace_id": old.namespace_id, "kind": "text"}
        for existing in (old, new):
            PendingConflict.objects.create(**mine, reason="free_text", newcomer=text, existing=existing)
        supersede_repeated(principal.project_id, old.namespace_id, {old.id: new.id}, now=now)
        pending = PendingConflict.objects.within(principal.project_id).pending()
        assert list(pending.values_list("newcomer", "existing")) == [(text.id, new.id)]
