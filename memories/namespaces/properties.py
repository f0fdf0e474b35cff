"""Properties of a namespace: what it archives of its faded memories, and the language by which words are stemmed."""

from memories import access
from memories.access import NotFound, Principal
from memories.models import Namespace
from memories.models.enums import ArchivePolicy
from memories.models.sql import fetch
from memories.namespaces.deletion import refuse_stronger
from memories.namespaces.forks import with_users


def languages() -> list[str]:
    """Return those whose words Postgres can stem, by name."""
    return [name for (name,) in fetch("SELECT DISTINCT cfgname FROM pg_ts_config ORDER BY cfgname", [])]


def make_namespace(principal: Principal, name: str, *, language: str | None = None) -> Namespace:
    """Return the namespace of that name, made in that language where it is missing. Raise NotFound, NotPermitted."""
    with access.enter(principal, why="make namespace"):
        is_new = access.find(principal, name) is None
        found = access.writable(principal, name)
        if is_new and language:
            found.language = language
            found.save(update_fields=["language"])
    return found


def change_namespace(
    principal: Principal, name: str, *, archive_policy: str | None = None, language: str | None = None
) -> tuple[Namespace, bool]:
    """Return the namespace with what was to change, and whether its keywords have to be built anew.

    Raise NotFound, and NotPermitted where `all` would archive what is above the principal's ceiling.
    """
    with access.enter(principal, why="set namespace"):
        found = access.find(principal, name)
        if found is None:
            raise NotFound("namespace")
        if archive_policy == ArchivePolicy.ALL:
            refuse_stronger(principal, with_users(found), what="something here")
        is_other = language is not None and language != found.language
        found.archive_policy = archive_policy or found.archive_policy
        found.language = language or found.language
        found.save(update_fields=["archive_policy", "language"])
    return found, is_other
