"""Strict input fields: a value has its JSON type or is refused; unknown fields are refused too."""

import datetime
import math
import uuid
from collections.abc import Collection
from functools import cache, cached_property
from typing import Any

from django.core.exceptions import ValidationError
from rest_framework import serializers
from rest_framework.fields import SkipField, empty, get_error_detail
from rest_framework.request import Request
from rest_framework.validators import ProhibitSurrogateCharactersValidator

from memories.models.namespace import LENGTH, BadUser, user_of


class NoSurrogates(ProhibitSurrogateCharactersValidator):
    """As the framework's, which looks at each letter by itself, where there is one: for long texts that takes long."""

    def __call__(self, value: Any) -> None:
        """Raise ValidationError for a lone surrogate."""
        try:
            str(value).encode()
        except UnicodeEncodeError:
            super().__call__(value)


class Text(serializers.CharField):
    """A JSON string, trimmed, without NUL and lone surrogates."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        slow = ProhibitSurrogateCharactersValidator
        self.validators = [NoSurrogates() if isinstance(one, slow) else one for one in self.validators]

    def to_internal_value(self, data: Any) -> str:
        """Return the trimmed text."""
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)


class Number(serializers.FloatField):
    """A finite JSON number."""

    def to_internal_value(self, data: Any) -> float:
        """Return the number."""
        if isinstance(data, bool) or not isinstance(data, int | float):
            self.fail("invalid")
        value = super().to_internal_value(data)
        if not math.isfinite(value):
            self.fail("invalid")
        return value


class Whole(serializers.IntegerField):
    """A JSON integer."""

    def to_internal_value(self, data: Any) -> int:
        """Return the integer."""
        if isinstance(data, bool) or not isinstance(data, int):
            self.fail("invalid")
        return data


class Id(serializers.UUIDField):
    """A UUID as a JSON string."""

    def to_internal_value(self, data: Any) -> uuid.UUID:
        """Return the UUID."""
        if not isinstance(data, str):
            self.fail("invalid", value=data)
        found: uuid.UUID = super().to_internal_value(data)
        return found


class Flag(serializers.BooleanField):
    """true or false."""

    def to_internal_value(self, data: Any) -> bool:
        """Return the truth value."""
        if not isinstance(data, bool):
            self.fail("invalid", input=data)
        return data


class Moment(serializers.DateTimeField):
    """An ISO 8601 time with its offset; a time without one is ambiguous and refused."""

    default_error_messages = {"naive": "Give the time an offset, such as 2026-05-01T09:00:00Z."}

    def to_internal_value(self, value: Any) -> datetime.datetime:
        """Return the time in UTC."""
        if not isinstance(value, str):
            self.fail("invalid", format="ISO 8601")
        return super().to_internal_value(value)

    def enforce_timezone(self, value: datetime.datetime) -> datetime.datetime:
        """UTC, or an error when the time has no offset or lies outside the calendar."""
        if value.tzinfo is None:
            self.fail("naive")
        try:
            return value.astimezone(datetime.UTC)
        except OverflowError:
            self.fail("overflow")


def _absent(field: Any, validate: Any) -> Any:
    """Return the value of a field that is absent, `empty` for none, None where the field has to look for it."""
    if field.required or (field.default is not empty and (validate or callable(field.default))):
        return None
    return field.default


class Strict(serializers.Serializer[Any]):
    """Input that refuses what it does not know."""

    @cached_property
    def _readers(self) -> list[tuple[str, str, Any, Any, Any]]:
        """Each field: its name, that of its value, what validates it besides, and its value where it is absent.

        That is `empty` for a field that is passed over then, and None for one that has to look itself.
        """
        validators: dict[Any, Any] = {name: getattr(self, f"validate_{name}", None) for name in self.fields}
        return [
            (name, str(field.source), field, validators[name], _absent(field, validators[name]))
            for name, field in self.fields.items()
        ]

    def to_internal_value(self, data: Any) -> Any:
        """The validated values. Raises ValidationError.

        As the framework reads them, but that most fields of most requests are absent and cost nothing then.
        """
        if isinstance(data, dict) and (unknown := data.keys() - self.fields.keys()):
            raise serializers.ValidationError({name: ["This field is not known."] for name in sorted(unknown)})
        if type(data) is not dict:
            return super().to_internal_value(data)
        values: dict[str, Any] = {}
        errors: dict[str, Any] = {}
        for name, source, field, validate, absent in self._readers:
            if absent is not None and name not in data:
                if absent is not empty:
                    values[source] = absent
                continue
            try:
                value = field.run_validation(data.get(name, empty))
                values[source] = validate(value) if validate else value
            except serializers.ValidationError as error:
                errors[name] = error.detail
            except ValidationError as error:
                errors[name] = get_error_detail(error)
            except SkipField:
                pass
        if errors:
            raise serializers.ValidationError(errors)
        return values


class UserField(serializers.CharField):
    """A user's name, as it is: nothing is trimmed."""

    default_error_messages = {"user": "{reason}", "blank": LENGTH}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"required": False, "trim_whitespace": False, **kwargs})

    def to_internal_value(self, data: Any) -> str:
        """Return the name. Raise ValidationError."""
        if not isinstance(data, str):
            self.fail("invalid")
        try:
            return user_of(data)
        except BadUser as error:
            self.fail("user", reason=str(error))


class AboutUser(Strict):
    """A request about one user, or about all of them; `principal_of` reads both (docs/spec.md §2.2)."""

    user = UserField(help_text="Whose memories: the scope of this user below the namespace.")
    all_users = Flag(required=False, help_text="Those of all users; the key has to reach them all.")


class AboutUserQuery(Strict):
    """As `AboutUser`, in an address."""

    user = UserField(help_text="Whose memories: the scope of this user below the namespace.")
    all_users = serializers.BooleanField(required=False, help_text="Those of all users; the key has to reach them all.")


def words(*, longest: int = 100, most: int = 100, **kwargs: Any) -> serializers.ListField:
    """Return a list of up to `most` non-empty strings."""
    return serializers.ListField(child=Text(max_length=longest), max_length=most, **kwargs)


class OneOrMore(serializers.ListField):
    """A list, or its only element."""

    def to_internal_value(self, data: Any) -> list[Any]:
        """Return the list."""
        return super().to_internal_value(data if isinstance(data, list) else [data])


def several(choices: Any) -> OneOrMore:
    """Return one value, or a list of which one has to fit."""
    return OneOrMore(child=serializers.ChoiceField(choices), max_length=50, required=False)


@cache
def _reader(kind: type[Strict]) -> Strict:
    """Making one copies every field, which takes longer than reading a request; reading leaves no trace in it."""
    return kind()


def asked_of(request: Request, *, several: Collection[str] = ()) -> dict[str, Any]:
    """Return what an address asks for, lists for `several`. Raise ValidationError for two values of any other."""
    given = dict(request.query_params.lists())
    if torn := [name for name, texts in given.items() if len(set(texts)) > 1 and name not in several]:
        raise serializers.ValidationError({name: ["Give one value."] for name in sorted(torn)})
    return {name: texts if name in several else texts[-1] for name, texts in given.items()}


def validated_query(kind: type[Strict], request: Request, *, several: Collection[str] = ()) -> dict[str, Any]:
    """Return the values of a request's address. Raise ValidationError as `asked_of` and `validated`."""
    return validated(kind, asked_of(request, several=several))


def validated(kind: type[Strict], data: Any) -> dict[str, Any]:
    """Return the values of a request, or a ValidationError that names each bad field."""
    try:
        values: dict[str, Any] = _reader(kind).run_validation(data)
    except serializers.ValidationError:
        kind(data=data).is_valid(raise_exception=True)  # words the error
        raise
    if issubclass(kind, AboutUser | AboutUserQuery):
        values.pop("user", None)
        values.pop("all_users", None)
    return values
