"""Forms and answers of webhooks."""

from typing import Any

from rest_framework import serializers

from conflicts.events import Happening
from memories.rest.fields import Flag, Strict, Text
from memories.rest.inputs import namespace_form
from memories.webhooks import BadUrl, check_url


def url_form(url: str) -> None:
    """Raise ValidationError for an address that events may not be sent to."""
    try:
        check_url(url)
    except BadUrl as error:
        raise serializers.ValidationError(str(error)) from error


class WebhookInput(Strict):
    """A webhook to make."""

    url = Text(
        max_length=2000,
        validators=[url_form],
        help_text="Where to: https://, or http://. No private address, unless the server may.",
    )
    kinds = serializers.ListField(
        child=serializers.ChoiceField(Happening.choices),
        min_length=1,
        max_length=len(Happening),
        required=False,
        help_text="Which events; recall notices unless it is said.",
    )
    namespace = Text(required=False, validators=[namespace_form], help_text="Only of this one, with all its users.")


class WebhookChange(Strict):
    """Whether to send."""

    enabled = Flag(help_text="Started again it goes on where it stopped.")


class WebhooksQuery(Strict):
    """A page of them."""

    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    cursor = Text(required=False)


class WebhookAnswer(serializers.Serializer[Any]):
    """A webhook, and how it goes."""

    id = serializers.UUIDField()
    url = serializers.CharField()
    kinds = serializers.ListField(child=serializers.ChoiceField(Happening.choices))
    namespace = serializers.CharField(source="namespace.name", allow_null=True, default=None, help_text="null: all.")
    enabled = serializers.BooleanField(help_text="Disabled by hand, or after three days in which nothing arrived.")
    failures = serializers.IntegerField(help_text="In a row, by now.")
    failing_since = serializers.DateTimeField(allow_null=True)
    last_error = serializers.CharField(help_text="Of the last try; empty when it arrived.")
    delivered_at = serializers.DateTimeField(allow_null=True, help_text="When the last event arrived.")
    created_at = serializers.DateTimeField()


class NewWebhookAnswer(WebhookAnswer):
    """A webhook that was made."""

    secret = serializers.CharField(help_text="What signatures are checked with (whsec_…): told once, kept nowhere.")
