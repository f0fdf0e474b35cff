"""Search index: what search needs of a fragment, and the fingerprints that keep forgotten texts out."""

import datetime
import re
import unicodedata
import uuid
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from django.db import connection
from django.utils import timezone

from conflicts.keys import visible
from memories.errors import NovaError
from memories.models import Claim, Embedding, EmbeddingModel, Fragment, PendingEmbedding
from memories.models.bulk import COPY_FROM, insert, insert_statement
from memories.models.enums import Tier
from memories.models.namespace import roots_of
from memories.models.search import LIVE
from memories.models.sql import array_of, prepared_cursor

T = TypeVar("T")
# Single signs with the same gap between each two: "b u d g e t", "b-u-d-g-e-t".
SPELT = re.compile(r"(?<!\w)[^\s._·-](?P<gap>[^\S\n]|[-._·])[^\s._·-](?:(?P=gap)[^\s._·-])+(?!\w)")
# Combining classes of marks across a letter, and from here on around any: vowels and tones of a script have others.
ACROSS, AROUND = 1, 200
OF_THEIR_OWN = frozenset("йїЙЇ")  # these say something else without their mark


class BlockedByErasure(NovaError):
    """The text was forgotten on purpose and may not come back."""

    code = "blocked_by_erasure"
    title = "This text was forgotten"

    def __init__(self, *, index: int) -> None:
        super().__init__("this text was forgotten; an administrator may lift the erasure")
        self.index = index

    @property
    def fields(self) -> list[dict[str, str]]:
        """Return the text as the field at fault."""
        return [{"field": "content", "message": "This text was forgotten."}]


def refuse_forgotten(fragments: Sequence[Fragment], beside: Sequence[Sequence[str]] = ()) -> None:
    """Raise BlockedByErasure for the first whose text, or a further one that comes with it, was forgotten."""
    if forgotten := find_forgotten_fragments(fragments, beside):
        raise BlockedByErasure(index=forgotten[0])


def refuse_forgotten_words(
    project_id: uuid.UUID, namespace_id: uuid.UUID, words: Iterable[str], *, authority: int
) -> None:
    """Raise BlockedByErasure for what is to be written beside memories of a namespace and was forgotten there."""
    if find_forgotten_texts(project_id, [(namespace_id, text, authority) for text in words if text]):
        raise BlockedByErasure(index=0)


def find_forgotten_fragments(fragments: Sequence[Fragment], beside: Sequence[Sequence[str]] = ()) -> list[int]:
    """Return which of these fragments say what was forgotten where they are to stand; by index.

    `beside` are the further texts that come with each.
    """
    more = beside or [()] * len(fragments)
    rows = enumerate(zip(fragments, more, strict=True))
    numbered = [(n, text) for n, (row, texts) in rows for text in _said(row, texts)]
    texts = [(fragments[n].namespace_id, text, fragments[n].authority) for n, text in numbered]
    return sorted({numbered[i][0] for i in find_forgotten_texts(fragments[0].project_id, texts)}) if fragments else []


def _said(row: Fragment, beside: Iterable[str]) -> Iterator[str]:
    yield from (row.content, *row.procedure, *row.words_beside, *beside)


def find_forgotten_texts(project_id: uuid.UUID, texts: Sequence[tuple[uuid.UUID | None, str, int]]) -> list[int]:
    """Which of these texts were forgotten by somebody as strong in their namespace or the whole project; by index.

    Each comes with its namespace, None for one that is not there yet, and the authority of who says it.
    """
    if not texts:
        return []
    # By number, for a text that is in a guise is asked for without it, too.
    asked = in_guises(((index, place, authority), text) for index, (place, text, authority) in enumerate(texts))
    columns = zip(*((place, text, authority, index) for (index, place, authority), text in asked), strict=True)
    with connection.cursor() as cursor:
        cursor.execute(
            """WITH asked AS MATERIALIZED (
                   SELECT nova_fingerprints(%s, t.content) AS prints, t.place, t.authority, t.index
                   FROM unnest(%s::uuid[], %s::text[], %s::int[], %s::int[]) AS t (place, content, authority, index)
                   WHERE EXISTS (SELECT FROM memories_erasure e WHERE e.project_id = %s)
               )
               SELECT DISTINCT asked.index FROM asked
               JOIN memories_erasure e ON e.project_id = %s AND e.fingerprint = ANY (asked.prints)
                   AND e.authority >= asked.authority AND (e.namespace_id IS NULL OR e.namespace_id = asked.place)
               ORDER BY asked.index""",
            [project_id, *map(list, columns), project_id, project_id],
        )
        return [row[0] for row in cursor]


def undisguised(text: str) -> str:
    """Return a text without what nobody sees and marks around its letters, its letters together, digits as ASCII.

    `nova_folded` leaves these, and stored digests depend on it: so a text is asked for as it stands and like this.
    Vowels and tones that a script writes as marks stay, and so do gaps between digits: these say something.
    """
    seen = visible(text)
    if not seen.isascii():
        seen = unicodedata.normalize("NFKC", "".join(map(_unmarked, seen)))
    return SPELT.sub(_joined, seen)


def _unmarked(sign: str) -> str:
    if sign in OF_THEIR_OWN or unicodedata.category(sign)[0] not in "LM":  # "≠" says something else than "="
        return sign
    return "".join(part for part in unicodedata.normalize("NFD", sign) if not _decorates(part))


def _decorates(sign: str) -> bool:
    place = unicodedata.combining(sign)
    return place == ACROSS or place >= AROUND or unicodedata.category(sign) == "Me"


def _joined(spelt: re.Match[str]) -> str:
    signs = spelt[0].replace(spelt["gap"], "")
    return spelt[0] if signs.isdecimal() else signs


def in_guises(texts: Iterable[tuple[T, str]]) -> list[tuple[T, str]]:
    """Return what is told of each of these texts, once more for each that was in a guise."""
    found = []
    for of, text in texts:
        plain = undisguised(text)
        found += [(of, text), (of, plain)] if plain not in (text, "") else [(of, text)]
    return found


def index_keywords(fragment_ids: Sequence[uuid.UUID]) -> None:
    """Write the keyword rows of these fragments anew."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT nova_index_keywords(%s::uuid[])", [array_of(fragment_ids)])


def index_fragments(rows: Sequence[tuple[Fragment, Any, Sequence[Claim]]], *, model: EmbeddingModel) -> None:
    """Write keyword rows and the unit vectors that are there; the fragments wait for those of all other live models.

    Which models live is read here, in the transaction: so a switch between embedding and storing loses nothing.
    """
    if not rows:
        return
    vectors = embeddings(rows, model=model)
    if len(vectors) >= COPY_FROM:
        insert(vectors)
        vectors = []
    kept, values = insert_statement(vectors) if vectors else ("SELECT", [])
    ids = array_of(row.id for row, _, _ in rows)
    with connection.cursor() if len(rows) > 1 else prepared_cursor() as cursor:
        cursor.execute(
            f"""WITH kept AS ({kept}), waiting AS (
                   INSERT INTO memories_pendingembedding (id, project_id, fragment_id, model_id, attempts, not_before)
                   SELECT gen_random_uuid(), %s, placed.id, m.id, 0, %s
                   FROM unnest(%s::uuid[], %s::bool[]) AS placed (id, has_vector)
                   JOIN memories_embeddingmodel m ON m.state = ANY (%s) AND NOT (placed.has_vector AND m.id = %s)
                   ON CONFLICT (project_id, fragment_id, model_id) DO NOTHING
               )
               SELECT nova_index_keywords(%s::uuid[])""",
            [
                *values,
                rows[0][0].project_id,
                timezone.now(),
                ids,
                [vector is not None for _, vector, _ in rows],
                list(LIVE),
                model.id,
                ids,
            ],
        )


def reindex_fragment(fragment: Fragment, vector: Any, claims: Sequence[Claim], *, model: EmbeddingModel) -> None:
    """Replace what search needs of a fragment whose text is new."""
    for table in (PendingEmbedding, Embedding):
        table.objects.filter(project_id=fragment.project_id, fragment_id=fragment.id).delete()
    index_fragments([(fragment, vector, claims)], model=model)


def reindex_texts(project_id: uuid.UUID, fragment_ids: Collection[uuid.UUID], *, model: EmbeddingModel) -> None:
    """Replace what search needs of fragments whose text is another one; their vectors follow."""
    for table in (PendingEmbedding, Embedding):
        table.objects.filter(project_id=project_id, fragment_id__in=fragment_ids).delete()
    claims = Claim.objects.by_fragment(project_id, fragment_ids)
    rows = Fragment.objects.within(project_id).filter(id__in=fragment_ids)
    index_fragments([(row, None, claims.get(row.id, [])) for row in rows], model=model)


def embeddings(rows: Sequence[tuple[Fragment, Any, Sequence[Claim]]], *, model: EmbeddingModel) -> list[Embedding]:
    """Return the vectors that are there, with what search asks of their fragments besides."""
    roots = roots_of(rows[0][0].project_id, {row.namespace_id for row, _, _ in rows}) if rows else {}
    return [
        _embedding(row, vector, claims, root_id=roots[row.namespace_id], model=model)
        for row, vector, claims in rows
        if vector is not None
    ]


def _embedding(
    fragment: Fragment, vector: Any, claims: Sequence[Claim], *, root_id: uuid.UUID, model: EmbeddingModel
) -> Embedding:
    session_id, valid_from, valid_until = reach_of(claims)
    return Embedding(
        project_id=fragment.project_id,
        root_id=root_id,
        namespace_id=fragment.namespace_id,
        fragment_id=fragment.id,
        model_id=model.id,
        status=fragment.status,
        session_id=session_id,
        valid_from=valid_from,
        valid_until=valid_until,
        vector=vector,
        cold=fragment.tier == Tier.COLD,
    )


def reach_of(claims: Sequence[Claim]) -> tuple[str, datetime.datetime | None, datetime.datetime | None]:
    """Return whose session sees a fragment, and from when until when one of its claims holds; as `nova_reach` does."""
    stated = [claim for claim in claims if not claim.verdict] or claims
    begins, ends = [claim.valid_from for claim in stated], [claim.valid_until for claim in stated]
    return (
        max((claim.session_id for claim in stated), default=""),
        min((at for at in begins if at), default=None) if all(begins) else None,
        max((at for at in ends if at), default=None) if all(ends) else None,
    )
