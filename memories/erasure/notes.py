"""Notes: what people and agents wrote beside memories, without the words of those that are forgotten."""

import uuid
from collections.abc import Sequence

from memories.models.sql import execute, fetch

LONG = 10  # letters from which on a text is looked for within others
# What was said, as it is compared, and in which namespace with its users; without one it is looked for everywhere.
SAID = """home AS MATERIALIZED (
        SELECT id, namespace_id FROM memories_fragment WHERE project_id = %(project)s AND id = ANY (%(ids)s)
        UNION SELECT original_id, namespace_id FROM memories_tombstone
        WHERE project_id = %(project)s AND original_id = ANY (%(ids)s)),
    worded AS MATERIALIZED (
        SELECT DISTINCT CASE WHEN NOT %(everywhere)s THEN coalesce(n.parent_id, n.id) END AS root,
            nova_folded(t.content) AS words
        FROM (
            SELECT id, content FROM memories_fragment WHERE project_id = %(project)s AND id = ANY (%(ids)s)
            UNION SELECT fragment_id, content FROM memories_revision
            WHERE project_id = %(project)s AND fragment_id = ANY (%(ids)s)
            UNION SELECT id, content FROM unnest(%(owners)s::uuid[], %(texts)s::text[]) AS u (id, content)
        ) AS t LEFT JOIN home ON home.id = t.id
        LEFT JOIN memories_namespace n ON n.project_id = %(project)s AND n.id = home.namespace_id
        WHERE nova_folded(t.content) <> ''),
    said AS MATERIALIZED (
        SELECT root, words, coalesce((SELECT w FROM string_to_table(words, ' ') AS w WHERE w ~ '^[a-z0-9]+$'
            ORDER BY length(w) DESC LIMIT 1), '') AS longest FROM worded)"""
STRINGS = """jsonb_path_query({0}, '$.** ? (@.type() == "string")') #>> '{{}}'"""
OF_NAMESPACE = """SELECT '{0}', x.id, x.namespace_id, {1} FROM {2} x WHERE x.project_id = %(project)s AND {3}"""
# Where words stand beside memories: the place's name, and its rows with their namespace and what they hold.
PLACES = [
    """SELECT 'vote', v.id, f.namespace_id, v.reason FROM conflicts_vote v
        JOIN memories_fragment f ON f.project_id = v.project_id AND f.id = v.fragment_id
        WHERE v.project_id = %(project)s AND v.reason <> ''""",
    """SELECT 'label', l.id, f.namespace_id, l.label FROM memories_clusterlabel l
        JOIN memories_fragment f ON f.project_id = l.project_id AND f.id = l.fragment_id
        WHERE l.project_id = %(project)s""",
    OF_NAMESPACE.format("conflict", "x.note", "conflicts_pendingconflict", "x.note <> ''"),
    OF_NAMESPACE.format("ruling", "x.note", "conflicts_ruling", "x.note <> ''"),
    OF_NAMESPACE.format("episode", "x.title", "memories_episode", "x.title <> ''"),
    OF_NAMESPACE.format("summary", "x.summary", "memories_task", "x.summary <> ''"),
    # The title of a task that ended is told by the memory of its end.
    OF_NAMESPACE.format("task", "x.title", "memories_task", "x.fragment_id IS NULL"),
    OF_NAMESPACE.format(
        "check", "unnest(ARRAY[x.name, x.question, x.expected, x.note])", "memories_recallcheck", "true"
    ),
    # What a proposal became tells the same.
    OF_NAMESPACE.format("proposal", STRINGS.format("x.proposal"), "memories_proposal", "x.fragment_id IS NULL"),
    # These are of no namespace.
    """SELECT 'containment', c.id, NULL, c.note FROM memories_containment c
        WHERE c.project_id = %(project)s AND c.note <> ''""",
    f"""SELECT 'request', r.id, NULL, {STRINGS.format("r.answer")} FROM memories_repeatedrequest r
        WHERE r.project_id = %(project)s AND r.answer ?| '{{note,ruling,conflicts,title,question}}'""",
]
# A text in plain letters that lacks the longest word is not folded, which takes a hundred times as long.
PLAIN = r"^[\x01-&(-_a-\x7f]*$"
# A check goes, too, when the words that it expects stand in what is forgotten.
HELD = f"""WITH {SAID},
    noted (place, id, namespace_id, content) AS ({" UNION ALL ".join(PLACES)}),
    placed AS MATERIALIZED (
        SELECT noted.place, noted.id, coalesce(n.parent_id, n.id) AS root, noted.content
        FROM noted LEFT JOIN memories_namespace n ON n.project_id = %(project)s AND n.id = noted.namespace_id),
    likely AS MATERIALIZED (
        SELECT p.place, p.id, p.root, nova_folded(p.content) AS words FROM placed p
        WHERE EXISTS (SELECT FROM said s WHERE (s.root = p.root OR s.root IS NULL OR p.root IS NULL)
            AND (strpos(lower(p.content), s.longest) > 0 OR p.content !~ '{PLAIN}'))),
    expected AS MATERIALIZED (
        SELECT c.id, coalesce(n.parent_id, n.id) AS root, nova_folded(c.expected) AS words FROM memories_recallcheck c
        JOIN memories_namespace n ON n.project_id = c.project_id AND n.id = c.namespace_id
        WHERE c.project_id = %(project)s AND nova_folded(c.expected) <> '')
    SELECT l.place, l.id FROM likely l JOIN said s ON (s.root = l.root OR s.root IS NULL OR l.root IS NULL)
        AND (l.words = s.words OR length(s.words) >= {LONG} AND strpos(l.words, s.words) > 0)
    UNION SELECT 'check', e.id FROM expected e JOIN said s ON (s.root = e.root OR s.root IS NULL)
        AND strpos(s.words, e.words) > 0
    UNION SELECT 'check', c.id FROM memories_recallcheck c
    WHERE c.project_id = %(project)s AND c.fragment_id = ANY (%(ids)s)"""
STRIKE = {
    "vote": "UPDATE conflicts_vote SET reason = ''",
    "label": "DELETE FROM memories_clusterlabel",
    "conflict": "UPDATE conflicts_pendingconflict SET note = ''",
    "ruling": "UPDATE conflicts_ruling SET note = ''",
    "episode": "UPDATE memories_episode SET title = ''",
    "summary": "UPDATE memories_task SET summary = ''",
    "task": "DELETE FROM memories_task",
    "check": "DELETE FROM memories_recallcheck",
    "containment": "UPDATE memories_containment SET note = ''",
    "proposal": "DELETE FROM memories_proposal",
    "request": "DELETE FROM memories_repeatedrequest",
}


def strike_notes(
    project_id: uuid.UUID,
    ids: Sequence[uuid.UUID],
    *,
    texts: Sequence[tuple[uuid.UUID, str]],
    everywhere: bool = False,
) -> None:
    """Take what these memories say and said out of what stands beside others; while the memories stand.

    `texts` are further ones, each with its memory. Looked at are the namespaces of the memories with their users, or
    `everywhere` in the project. A short text takes only what is that text.
    """
    values = {
        "project": project_id,
        "ids": list(ids),
        "owners": [owner for owner, _ in texts],
        "texts": [text for _, text in texts],
        "everywhere": everywhere,
    }
    held: dict[str, list[uuid.UUID]] = {}
    for place, which in fetch(HELD, values):
        held.setdefault(place, []).append(which)
    for place, rows in sorted(held.items()):
        execute(f"{STRIKE[place]} WHERE project_id = %s AND id = ANY (%s)", [project_id, rows])
