"""Embedding models side by side: added, filled, switched to and back again, retired. They are the installation's."""

import datetime
import uuid
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction

from memories import access
from memories.models import EmbeddingModel, Project
from memories.models.enums import ModelState
from memories.models.search import LARGEST_DIM
from memories.providers import FAMILIES, calibrate, offered
from memories.upkeep.vector_backfill import missing

ONLY_DIM = 384  # of the providers that are one model


class ModelTaken(Exception):
    """There is a model of that name already."""


class UnfitModel(Exception):
    """Nothing here can serve such a model."""


class UnfitState(Exception):
    """The model's state does not allow this."""


class VectorsMissing(Exception):
    """Some memories would not be found by their meaning."""


def add_model(*, name: str, provider: str, dim: int, now: datetime.datetime) -> EmbeddingModel:
    """Return a building model: from now on every new fragment gets a vector of it too. Raise UnfitModel, ModelTaken."""
    if provider not in offered():
        raise UnfitModel(f"there is no provider {provider!r}: use one of {', '.join(offered())}")
    if provider not in FAMILIES and (name, dim) != (provider, ONLY_DIM):
        raise UnfitModel(f"the provider {provider} is the model {provider} of {ONLY_DIM} dimensions")
    if provider == "openai" and not settings.EMBEDDINGS_URL:
        raise UnfitModel("set EMBEDDINGS_URL first: where the endpoint is")
    if not 0 < dim <= LARGEST_DIM:
        raise UnfitModel(f"a model has 1 to {LARGEST_DIM} dimensions")
    try:
        with transaction.atomic():
            row = EmbeddingModel.objects.create(name=name, provider=provider, dim=dim, created_at=now)
    except IntegrityError as error:
        raise ModelTaken("there is an embedding model of that name already") from error
    calibrate(row)
    return row


def begin_backfill(model_id: uuid.UUID) -> None:
    """A retired model is building again."""
    EmbeddingModel.objects.filter(id=model_id, state=ModelState.RETIRED).update(state=ModelState.BUILDING)


def check_complete(model: EmbeddingModel) -> None:
    """Raise VectorsMissing when memories of any project lack a vector of the model: words alone would find them."""
    counts = [missing(access.system_principal(project), model) for project in Project.objects.all()]
    if lacking := sum(counts):
        raise VectorsMissing(f"{lacking} memories have no vector of this model yet: backfill it, or force the switch")


def is_complete(model: EmbeddingModel) -> bool:
    """Return whether every memory of every project has a vector of the model."""
    return not any(missing(access.system_principal(project), model) for project in Project.objects.all())


def activate(model_id: uuid.UUID) -> EmbeddingModel:
    """Make it the model of questions and new fragments, and measures its floor anew; the one before stays ready.

    Raise UnfitState for a retired one. Whether vectors are missing is to be looked at before.
    """
    with transaction.atomic():
        row = _locked()[model_id]
        if row.state == ModelState.RETIRED:
            raise UnfitState("this model is retired: backfill it first")
        if row.state != ModelState.ACTIVE:
            EmbeddingModel.objects.filter(state=ModelState.ACTIVE).update(state=ModelState.READY)
            _set(row, ModelState.ACTIVE)
    calibrate(row)
    return row


def retire(model_id: uuid.UUID) -> EmbeddingModel:
    """No fragment gets a vector of it any more, and those there are may go. Raise UnfitState for the active one."""
    with transaction.atomic():
        row = _locked()[model_id]
        if row.state == ModelState.ACTIVE:
            raise UnfitState("this model is active: switch to another one first")
        _set(row, ModelState.RETIRED)
        return row


def _locked() -> dict[Any, EmbeddingModel]:
    # NO KEY: who stores a vector meanwhile holds the key only, and goes on.
    return {row.id: row for row in EmbeddingModel.objects.select_for_update(no_key=True).order_by("id")}


def _set(row: EmbeddingModel, state: ModelState) -> None:
    row.state = state
    row.save(update_fields=["state"])
