"""The shapes of requests about fragments."""

import json
from decimal import Decimal
from typing import Any

from django.core.validators import RegexValidator
from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from conflicts.keys import says_something
from conflicts.public import ClaimDraft
from memories.ingest import Draft
from memories.models import CONTENT_LIMIT, KEY_LIMIT
from memories.models.claim import MOST_CLAIMS
from memories.models.enums import ClaimScope, FragmentType, Outcome, SourceClass, SourceType
from memories.models.namespace import FORM, BadUser, parts_of, scope_name
from memories.rest.fields import AboutUser, Flag, Id, Moment, Number, Strict, Text, UserField, Whole, words

EXTRA_LIMIT = 64 * 1024
SMALLEST, LARGEST = -(2**31), 2**31 - 1
root_form = RegexValidator(rf"^{FORM.pattern}\Z", "Use project:agent, each of a–z, 0–9, '.', '_' and '-'.")


def namespace_form(name: str) -> None:
    """Raise ValidationError for what names neither a namespace nor the scope of a user."""
    try:
        parts_of(name)
    except BadUser as error:
        raise serializers.ValidationError(str(error) if "/" in name else str(root_form.message)) from error


agent_form = RegexValidator(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}\Z", "Use letters, digits, '.', '_' and '-'.")


@extend_schema_serializer(component_name="Entity")
class EntityInput(Strict):
    """A named thing in a text."""

    text = Text(max_length=200)
    label = serializers.ChoiceField(["person", "organization", "location", "misc"])
    confidence = Number(min_value=0, max_value=1, default=1.0)


class Provenance(Strict):
    """Where a fragment comes from."""

    source = serializers.ChoiceField(SourceClass.choices)
    source_id = Text(max_length=255, required=False, allow_blank=True, default="")
    parents = serializers.ListField(child=Id(), max_length=100, required=False, default=list)


class ClaimInput(Strict):
    """What a fragment says, structured."""

    subject = Text(max_length=100)
    predicate = Text(max_length=100)
    value = Text(max_length=1000)
    exclusive = Flag(required=False, allow_null=True)
    scope = serializers.ChoiceField(ClaimScope.choices, default=ClaimScope.GLOBAL)
    session_id = Text(max_length=255, required=False, allow_null=True)
    valid_from = Moment(required=False, allow_null=True)
    valid_until = Moment(required=False, allow_null=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Return a key that says something, a session for the scope that needs one, a period that runs forward."""
        for name in ("subject", "predicate"):
            if not says_something(attrs[name]):
                raise serializers.ValidationError({name: ["This has no visible letter or digit."]})
        attrs["session_id"] = attrs.get("session_id") or ""
        if (attrs["scope"] == ClaimScope.SESSION) != bool(attrs["session_id"]):
            raise serializers.ValidationError({"session_id": ["This goes with the scope session, and only with it."]})
        start, end = attrs.get("valid_from"), attrs.get("valid_until")
        if start and end and end <= start:
            raise serializers.ValidationError({"valid_until": ["This has to be later than valid_from."]})
        return attrs


class Extra(serializers.JSONField):
    """A JSON object of the caller's own."""

    def to_internal_value(self, data: Any) -> Any:
        """Return the object. Raise ValidationError over 64 kB."""
        if not isinstance(data, dict):
            raise serializers.ValidationError("Give an object.")
        if _length(data) > EXTRA_LIMIT:
            raise serializers.ValidationError(f"The object is over {EXTRA_LIMIT} bytes.")
        return data


def _length(data: dict[str, Any]) -> int:
    """Characters of an object as the database gives it back: all digits of a number, however it was written."""
    text, more = json.dumps(data), 0

    def written_out(number: str) -> None:
        nonlocal more
        more += len(f"{Decimal(number):f}") - len(number)

    json.loads(text, parse_float=written_out)
    return len(text) + more


class Details(Strict):
    """What may be said of a fragment when it is stored and changed later."""

    type = serializers.ChoiceField(FragmentType.choices, required=False)
    category = Text(max_length=100, required=False, allow_blank=True)
    tags = words(required=False)
    topics = words(required=False)
    entities = serializers.ListField(child=EntityInput(), max_length=100, required=False)
    outcome = serializers.ChoiceField(Outcome.choices, required=False, allow_null=True)
    importance = Number(min_value=0, max_value=1, required=False)
    emotional_valence = Number(min_value=-1, max_value=1, required=False)
    is_pinned = Flag(required=False)
    is_anchor = Flag(required=False)
    workflow_id = Text(max_length=255, required=False, allow_blank=True)
    event_at = Moment(required=False, allow_null=True)
    extra = Extra(required=False)


class FragmentInput(Details):
    """One fragment to store."""

    namespace = Text(required=False, validators=[namespace_form])
    user = UserField(help_text="Whose memory: it lies in the scope of this user below the namespace.")
    project_id = Text(max_length=63, required=False)
    agent_id = Text(max_length=63, required=False, validators=[agent_form])
    content = Text(max_length=CONTENT_LIMIT)
    key = Text(
        max_length=KEY_LIMIT,
        required=False,
        trim_whitespace=False,
        help_text="Your own name for it, once in its namespace: storing under it again replaces the content.",
    )
    source_type = serializers.ChoiceField(SourceType.choices, default=SourceType.MANUAL)
    source_id = Text(max_length=255, required=False, allow_blank=True)
    conversation_id = Text(max_length=255, required=False, allow_blank=True)
    sequence = Whole(min_value=SMALLEST, max_value=LARGEST, required=False, allow_null=True)
    provenance = Provenance(required=False)
    claim = ClaimInput(required=False, allow_null=True)
    claims = serializers.ListField(
        child=ClaimInput(),
        max_length=MOST_CLAIMS,
        required=False,
        help_text="Several claims of one text, each with a status of its own; instead of claim.",
    )
    extract_claim = Flag(default=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Return the namespace, given as such or as project and agent; the claims, one or several."""
        attrs["claims"] = _claims_in(attrs) or []
        named, parts = "namespace" in attrs, "project_id" in attrs
        if named == parts:
            raise serializers.ValidationError({"namespace": ["Give either namespace, or project_id and agent_id."]})
        if parts:
            if "agent_id" not in attrs:
                raise serializers.ValidationError({"agent_id": ["This field goes with project_id."]})
            attrs["namespace"] = f"{attrs.pop('project_id')}:{attrs['agent_id'].lower()}"
            if not FORM.fullmatch(attrs["namespace"]):
                raise serializers.ValidationError({"agent_id": [root_form.message]})
        if (user := attrs.pop("user", None)) is not None:
            root, named = parts_of(attrs["namespace"])
            if named not in (None, user):
                raise serializers.ValidationError({"user": ["The namespace names another user."]})
            attrs["namespace"] = scope_name(root, user)
        return attrs


class FragmentBatch(AboutUser):
    """Up to a thousand fragments, stored together or not at all."""

    fragments = serializers.ListField(child=FragmentInput(), min_length=1, max_length=1000)
    embed = serializers.ChoiceField(["now", "later"], default="now")


class FragmentChange(Details, AboutUser):
    """What is to change; `revision` is the one that was read."""

    content = Text(max_length=CONTENT_LIMIT, required=False)
    claim = ClaimInput(required=False, allow_null=True)
    claims = serializers.ListField(
        child=ClaimInput(), max_length=MOST_CLAIMS, required=False, help_text="All its claims, instead of claim."
    )
    revision = Whole(min_value=1, required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """At least one change."""
        if not set(attrs) - {"revision", "user", "all_users"}:
            raise serializers.ValidationError("Name at least one field to change.")
        if "outcome" in attrs:
            attrs["outcome"] = attrs["outcome"] or ""
        claims = _claims_in(attrs)
        return attrs if claims is None else {**attrs, "claims": claims}


def _claims_in(attrs: dict[str, Any]) -> list[ClaimDraft] | None:
    """Take out what was given as `claim` or `claims`, None for neither. Raise ValidationError for both."""
    if "claim" in attrs and "claims" in attrs:
        raise serializers.ValidationError({"claims": ["Give either claim or claims."]})
    if "claim" in attrs:
        claim = attrs.pop("claim")
        return [ClaimDraft(**claim)] if claim else []
    if "claims" not in attrs:
        return None
    given = attrs.pop("claims")
    if len({claim["session_id"] for claim in given}) > 1:
        raise serializers.ValidationError({"claims": ["The claims of one text belong to one session, or to none."]})
    return [ClaimDraft(**claim) for claim in given]


def draft_of(values: dict[str, Any]) -> Draft:
    """Return the draft that a validated FragmentInput asks for."""
    given = dict(values)
    provenance = given.pop("provenance", None) or {}
    return Draft(
        **{**given, "outcome": given.get("outcome") or ""},
        source=provenance.get("source"),
        provenance_source_id=provenance.get("source_id", ""),
        parents=provenance.get("parents", []),
    )
