"""Episodes of conversations: when each began and ended. What one tells is read off its members."""

import uuid
from collections.abc import Collection
from typing import Any

from django.db import connection

Talk = tuple[uuid.UUID, str]  # namespace, conversation


def gather(project_id: uuid.UUID, talks: Collection[Talk]) -> None:
    """Makes the episodes of these conversations what their active members say; those without members go."""
    rows = sorted(
        (uuid.uuid5(namespace_id, conversation), namespace_id, conversation)
        for namespace_id, conversation in talks
        if conversation
    )
    if not rows:
        return
    ids, places, conversations = map(list, zip(*rows, strict=True))
    asked: dict[str, Any] = {"project": project_id, "ids": ids, "places": places, "conversations": conversations}
    with connection.cursor() as cursor:
        cursor.execute(GATHER, asked)
        cursor.execute(SCATTER, asked)


GATHER = """
    INSERT INTO memories_episode AS e (id, project_id, namespace_id, conversation_id, title, began_at, ended_at)
    SELECT t.id, %(project)s, t.place, t.conversation, '', min(coalesce(f.event_at, f.created_at)),
        max(coalesce(f.event_at, f.created_at))
    FROM unnest(%(ids)s::uuid[], %(places)s::uuid[], %(conversations)s::text[]) AS t (id, place, conversation)
    JOIN memories_fragment f ON f.project_id = %(project)s AND f.namespace_id = t.place
        AND f.conversation_id = t.conversation AND f.conversation_id <> '' AND f.status = 'active'
    GROUP BY t.id, t.place, t.conversation
    ON CONFLICT (id) DO UPDATE SET began_at = excluded.began_at, ended_at = excluded.ended_at
        WHERE (e.began_at, e.ended_at) IS DISTINCT FROM (excluded.began_at, excluded.ended_at)"""
SCATTER = """
    DELETE FROM memories_episode e
    USING unnest(%(ids)s::uuid[], %(places)s::uuid[], %(conversations)s::text[]) AS t (id, place, conversation)
    WHERE e.project_id = %(project)s AND e.id = t.id AND NOT EXISTS (
        SELECT FROM memories_fragment f WHERE f.project_id = %(project)s AND f.namespace_id = t.place
            AND f.conversation_id = t.conversation AND f.conversation_id <> '' AND f.status = 'active')"""
