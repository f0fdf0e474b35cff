"""Which models there are, and which one is meant."""

from django.conf import settings

from memories.models import EmbeddingModel
from memories.models.enums import ModelState

FIRST_DIM = 384  # of both models that EMBEDDER may name
ASKABLE = (ModelState.ACTIVE, ModelState.READY)


class NoSuchModel(Exception):
    """No model of that name, or one that is not ready for questions."""


def active_model() -> EmbeddingModel:
    """Return the model that new fragments and queries use; in a new database the one that EMBEDDER names."""
    # Raw, because every search asks: the ORM takes longer to word this than Postgres to answer it.
    found = EmbeddingModel.objects.raw("SELECT * FROM memories_embeddingmodel WHERE state = %s", [ModelState.ACTIVE])
    return next(iter(found), None) or _first_model()


def model_named(name: str) -> EmbeddingModel:
    """The model that a question names. Raise NoSuchModel when there is none or it is still building or retired."""
    model: EmbeddingModel | None = EmbeddingModel.objects.filter(name=name).first()
    if model is None:
        raise NoSuchModel("there is no embedding model of that name")
    if model.state not in ASKABLE:
        raise NoSuchModel(f"this embedding model is {model.state}, not ready")
    return model


def live_models() -> list[EmbeddingModel]:
    """Return the models that every fragment has or awaits a vector of, the active one first."""
    active = active_model()
    others = EmbeddingModel.objects.live().exclude(id=active.id).order_by("created_at", "id")
    return [active, *others]


def _first_model() -> EmbeddingModel:
    return EmbeddingModel.objects.update_or_create(
        name=settings.EMBEDDER,
        defaults={"provider": settings.EMBEDDER, "dim": FIRST_DIM, "state": ModelState.ACTIVE},
    )[0]
