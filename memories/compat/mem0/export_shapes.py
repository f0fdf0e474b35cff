"""The part of JSON Schema in which exports are asked for: kinds, properties, choices, bounds, definitions."""

from collections.abc import Iterator
from functools import cached_property
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field

NOTHING = object()
Length = Annotated[int, Field(ge=0)]


def _plain(value: Any) -> Any:
    """Return a schema; true and false say nothing of how a value looks."""
    return {} if isinstance(value, bool) else value


Inner = Annotated["ExportShape", BeforeValidator(_plain)]


class ExportShape(BaseModel):
    """A JSON schema; what it says besides is not looked at."""

    model_config = ConfigDict(extra="ignore", validate_by_name=True)

    type: str | list[str] | None = None
    properties: dict[str, Inner] = Field({}, max_length=100)
    items: Inner | None = None
    any_of: list[Inner] = Field([], alias="anyOf")
    one_of: list[Inner] = Field([], alias="oneOf")
    all_of: list[Inner] = Field([], alias="allOf")
    ref: str = Field("", alias="$ref")
    definitions: dict[str, Inner] = Field({}, validation_alias=AliasChoices("$defs", "definitions"))
    enum: list[Any] | None = None
    const: Any = NOTHING
    default: Any = None
    min_length: Length = Field(0, alias="minLength")
    max_length: Length | None = Field(None, alias="maxLength")
    max_items: Length | None = Field(None, alias="maxItems")
    minimum: float | None = None
    maximum: float | None = None
    above: float | None = Field(None, alias="exclusiveMinimum")
    below: float | None = Field(None, alias="exclusiveMaximum")

    @property
    def kind(self) -> str:
        """Return the one type; of a shape that `kinds` gave."""
        return self.type if isinstance(self.type, str) else ""

    @cached_property
    def choices(self) -> dict[str, Any] | None:
        """Return the values that alone are taken, by what they say; None for any."""
        if self.enum is None and self.const is NOTHING:
            return None
        named = [*(self.enum or []), *([] if self.const is NOTHING else [self.const])]
        return {folded(str(one)): one for one in reversed(named) if isinstance(one, str | int | float)}

    def kinds(self) -> Iterator["ExportShape"]:
        """Return the shape for each type that it takes; of one that names none, what its other words imply."""
        if isinstance(self.type, list):
            yield from (self.model_copy(update={"type": one}) for one in self.type[:10])
        elif self.type or self.choices is not None:
            yield self
        elif self.properties:
            yield self.model_copy(update={"type": "object"})

    def holds(self, number: float) -> bool:
        """Return whether a number is within the bounds."""
        return not (
            (self.minimum is not None and number < self.minimum)
            or (self.maximum is not None and number > self.maximum)
            or (self.above is not None and number <= self.above)
            or (self.below is not None and number >= self.below)
        )


def folded(text: str) -> str:
    """Return a text as choices are compared."""
    return text.casefold().replace("_", " ").replace("-", " ").strip()
