"""The database knows how many dimensions a model has."""

import uuid

import numpy as np
import pytest
from django.db import IntegrityError, transaction

from memories import access
from memories.models import Embedding, EmbeddingModel


@pytest.fixture
def store_vector(principal, store):
    """Stores a vector of any length under a model, in the row that takes most room."""
    fragment = store("acme:main", "The heron nests behind the old mill.")

    def insert(model, dim):
        vector = np.ones(dim) / np.sqrt(dim)
        row = {"project_id": principal.project_id, "namespace_id": fragment.namespace_id, "fragment": fragment}
        row |= {"root_id": fragment.namespace_id}
        with access.enter(principal, why="test"), transaction.atomic():
            return Embedding.objects.create(
                **row, model=model, status="quarantined", session_id="s" * 255, valid_from=fragment.created_at,
                valid_until=fragment.created_at, vector=vector,
            )  # fmt: skip

    return insert


def model_of(dim):
    return EmbeddingModel.objects.create(name=f"model-{uuid.uuid4()}", provider="openai", dim=dim)


@pytest.mark.parametrize("dim", [1, 2, 384, 1024, 1536, 3072, 4000])
def test_any_number_of_dimensions_fits(store_vector, dim):
    assert len(store_vector(model_of(dim), dim).vector) == dim


@pytest.mark.parametrize(("dim", "given"), [(384, 383), (384, 385), (1, 2), (4000, 384)])
def test_another_number_than_the_model_s_is_refused(store_vector, dim, given):
    with pytest.raises(IntegrityError, match="memories_embedding_model_id_fk"):
        store_vector(model_of(dim), given)


def test_a_model_with_vectors_keeps_its_dimensions(store_vector):
    model = model_of(384)
    store_vector(model, 384)
    with pytest.raises(IntegrityError), transaction.atomic():
        EmbeddingModel.objects.filter(id=model.id).update(dim=512)
    with pytest.raises(IntegrityError), transaction.atomic():
        model.delete()


@pytest.mark.parametrize("dim", [0, 4001])
def test_a_model_has_one_to_four_thousand(db, dim):
    with pytest.raises(IntegrityError, match="embedding_model_dim"):
        model_of(dim)
