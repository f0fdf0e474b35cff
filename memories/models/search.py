"""The narrow tables that search reads: vectors by model, keywords, and what still waits for its vector.

Both are hash-partitioned by the root namespace and written in raw SQL by the migration: a namespace and its
users lie side by side, so that one user is read as fast as a small namespace, and all of them as one large one.
"""

import uuid
from functools import cache
from typing import Any, ClassVar, Self

from django.contrib.postgres.search import SearchVectorField
from django.db import connection, models
from django.utils import timezone
from pgvector.django import HalfVectorField

from memories.models.enums import ModelState, Status
from memories.models.table_spec import TableSpec
from memories.models.tenant import TenantModel, TenantQuerySet, between, one_of, parent, unique_in_project

PARTITIONS = 16
LARGEST_DIM = 4000  # what an index over half precision takes
LIVE = (ModelState.BUILDING, ModelState.READY, ModelState.ACTIVE)  # every fragment has or awaits a vector of these


class EmbeddingModelQuerySet(models.QuerySet[Any]):
    """Embedding models."""

    def live(self) -> Self:
        """Return those that every fragment has or awaits a vector of."""
        return self.filter(state__in=LIVE)


@cache
def _digits(dim: int) -> str:
    return f"[{','.join(['%.5g'] * dim)}]"


def vector_text(vector: Any) -> str:
    """Return a vector as Postgres reads it; half precision holds no more than four digits."""
    return _digits(len(vector)) % tuple(vector.tolist())


class EmbeddingModel(models.Model):
    """A model that turns texts into vectors. Global: no text, no tenant."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=200, unique=True)
    provider = models.CharField(max_length=32)
    dim = models.PositiveIntegerField()
    state = models.CharField(max_length=16, choices=ModelState, default=ModelState.BUILDING)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    # The cosine that a question hardly reaches with a text that has nothing to do with it; null: not measured yet.
    floor = models.FloatField(null=True)

    objects = EmbeddingModelQuerySet.as_manager()

    class Meta:
        constraints: ClassVar = [
            one_of("embedding_model_state", "state", ModelState),
            between("embedding_model_dim", "dim", 1, LARGEST_DIM),
            # Vectors refer to both, so that none has another number of dimensions than its model.
            models.UniqueConstraint(fields=["id", "dim"], name="embedding_model_dim_fixed"),
            models.UniqueConstraint(
                fields=["state"], condition=models.Q(state=ModelState.ACTIVE), name="embedding_model_one_active"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class SearchRow(models.Model):
    """What search tables carry: where the fragment is and whether it is in force."""

    project = models.ForeignKey(
        "memories.Project", on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    namespace = parent("memories.Namespace")
    # Follows the fragment's status by trigger; unindexed, so that a change stays HOT.
    status = models.CharField(max_length=16, choices=Status)
    # Of the fragment's claim: whose session sees it (empty: every), and when it holds.
    session_id = models.CharField(max_length=255, blank=True, default="")
    valid_from = models.DateTimeField(null=True)
    valid_until = models.DateTimeField(null=True)

    objects = TenantQuerySet.as_manager()

    class Meta:
        abstract = True


class EmbeddingQuerySet(TenantQuerySet):
    """Vectors."""

    def vector_of(self, fragment_id: uuid.UUID, model: EmbeddingModel) -> list[float] | None:
        """Return a fragment's vector under a model, or None."""
        found = self.filter(fragment_id=fragment_id, model=model).values_list("vector", flat=True).first()
        return None if found is None else [float(x) for x in found]

    def of(self, fragment: str, model: EmbeddingModel) -> Self:
        """For a subquery: the vector of a fragment of the outer query."""
        return self.filter(project_id=models.OuterRef("project_id"), fragment_id=models.OuterRef(fragment), model=model)


class Embedding(SearchRow):
    """A fragment's vector under one model: unit length, half precision."""

    pk = models.CompositePrimaryKey("project_id", "root_id", "namespace_id", "fragment_id", "model_id")
    # The namespace, or the parent of a user's scope.
    root = parent("memories.Namespace")
    fragment = parent("memories.Fragment", related_name="embeddings")
    model = models.ForeignKey(
        EmbeddingModel, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    vector = HalfVectorField()
    # Follows the fragment's tier by trigger; cold ones are found by meaning only on request.
    cold = models.BooleanField(default=False)

    objects = EmbeddingQuerySet.as_manager()
    spec = TableSpec(
        kind="derived",
        archived="vectors",
        belongs_to=("fragment_id",),
        erase="cascade",
        fork="copied",
        rebuild="manage.py rebuild embeddings",
    )

    class Meta:
        db_table = "memories_embedding"

    def __str__(self) -> str:
        return f"{self.model_id} of {self.fragment_id}"


class Keywords(SearchRow):
    """A fragment's stemmed words with positions, and how many there are (for BM25's length)."""

    pk = models.CompositePrimaryKey("project_id", "root_id", "namespace_id", "fragment_id")
    root = parent("memories.Namespace")
    fragment = parent("memories.Fragment", related_name="keywords")
    words = SearchVectorField()
    length = models.IntegerField()

    spec = TableSpec(
        kind="derived",
        belongs_to=("fragment_id",),
        erase="cascade",
        fork="copied",
        rebuild="manage.py rebuild keywords",
    )

    class Meta:
        db_table = "memories_keywords"

    def __str__(self) -> str:
        return f"{self.length} words of {self.fragment_id}"


class KeywordStatistics(TenantModel):
    """What BM25 has to know of a large namespace as a whole: how many texts it holds, and their mean length.

    `all_users`: of a namespace with the scopes of all its users.
    """

    namespace = parent("memories.Namespace")
    all_users = models.BooleanField(default=False)
    documents = models.PositiveIntegerField()
    mean_length = models.FloatField()
    counted_at = models.DateTimeField(default=timezone.now)

    spec = TableSpec(kind="derived", erase="kept", fork="made anew", rebuild="the task keep_statistics")

    class Meta:
        constraints: ClassVar = [
            unique_in_project("keyword_statistics_project_id", "id"),
            unique_in_project("keyword_statistics_once", "namespace", "all_users"),
        ]

    def __str__(self) -> str:
        return f"{self.documents} texts in {self.namespace_id}"


class DocumentFrequency(models.Model):
    """In how many texts of a large namespace a stemmed word stands; rare ones are left out, so that no text shows."""

    pk = models.CompositePrimaryKey("project_id", "namespace_id", "all_users", "lexeme")
    project = models.ForeignKey(
        "memories.Project", on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    namespace = parent("memories.Namespace")
    all_users = models.BooleanField(default=False)
    lexeme = models.TextField()
    documents = models.PositiveIntegerField()

    objects = TenantQuerySet.as_manager()
    # Forgotten: counted anew without it: words of at least five texts stand here.
    spec = TableSpec(kind="derived", erase="swept", fork="made anew", rebuild="the task keep_statistics")

    class Meta:
        db_table = "memories_documentfrequency"

    def __str__(self) -> str:
        return f"{self.lexeme} in {self.documents} texts"


class PendingEmbeddingQuerySet(TenantQuerySet):
    """Fragments that wait for a vector."""

    def claim(self, *, project_id: uuid.UUID, ids: list[uuid.UUID]) -> list[uuid.UUID]:
        """Delete these rows and return the ids that were still there."""
        with connection.cursor() as cursor:
            cursor.execute(
                "DELETE FROM memories_pendingembedding WHERE project_id = %s AND id = ANY (%s) RETURNING id",
                [project_id, ids],
            )
            return [row[0] for row in cursor]


class PendingEmbedding(TenantModel):
    """A fragment that waits for its vector, with when to try again."""

    fragment = parent("memories.Fragment", related_name="pending_embeddings")
    model = models.ForeignKey(
        EmbeddingModel, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    attempts = models.PositiveIntegerField(default=0)
    not_before = models.DateTimeField(default=timezone.now)

    objects = PendingEmbeddingQuerySet.as_manager()
    # Not exported: a restore marks anew.
    spec = TableSpec(
        kind="operational",
        belongs_to=("fragment_id",),
        erase="cascade",
        fork="made anew",
        rebuild="manage.py rebuild embeddings",
    )

    class Meta:
        constraints: ClassVar = [
            unique_in_project("pending_embedding_project_id", "id"),
            unique_in_project("pending_embedding_once", "fragment", "model"),
        ]
        indexes: ClassVar = [
            # The worker's question: what is due?
            models.Index(fields=["project", "not_before"], name="pending_embedding_due"),
        ]

    def __str__(self) -> str:
        return f"{self.fragment_id} waits for {self.model_id}"
