"""/api/v1/webhooks: where events are sent to."""

import uuid

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memories import access, webhooks
from memories.api.pagination import page_of, paged
from memories.rest.authentication import principal_of
from memories.rest.fields import validated, validated_query
from memories.rest.webhooks import NewWebhookAnswer, WebhookAnswer, WebhookChange, WebhookInput, WebhooksQuery
from memories.webhooks import WebhookDraft


class WebhooksView(APIView):
    """Webhooks: list and make."""

    verbs = dict.fromkeys(("GET", "POST"), "admin")

    @extend_schema(operation_id="webhooks_list", parameters=[WebhooksQuery], responses={200: page_of(WebhookAnswer)})
    def get(self, request: Request) -> Response:
        """A page of the project's webhooks, newest first; none for a key that covers a part of it."""
        query = validated_query(WebhooksQuery, request)
        principal = principal_of(request)
        with access.enter(principal, why="list"):
            page = paged(
                request,
                webhooks.webhooks_of(principal),
                lambda page: list(WebhookAnswer(page, many=True).data),
                limit=query["limit"],
                cursor=query.get("cursor"),
            )
            return Response(page)

    @extend_schema(operation_id="webhooks_make", request=WebhookInput, responses={201: NewWebhookAnswer})
    def post(self, request: Request) -> Response:
        """Makes a webhook: from now on events are sent there, each in a request of its own.

        In order and at least once, signed as Standard Webhooks has it, with the same `webhook-id` each time that an
        event is sent again. Takes a key for all of the project. An Idempotency-Key is not heeded, since answers to
        these are kept and the secret is not.
        """
        draft = WebhookDraft(**validated(WebhookInput, request.data))
        made = webhooks.create_webhook(principal_of(request), draft, now=timezone.now())
        return Response({**WebhookAnswer(made).data, "secret": webhooks.secret_of(made)}, status=201)


class WebhookView(APIView):
    """One webhook."""

    verbs = dict.fromkeys(("GET", "PATCH", "DELETE"), "admin")

    @extend_schema(operation_id="webhooks_read", responses={200: WebhookAnswer})
    def get(self, request: Request, webhook_id: uuid.UUID) -> Response:
        """The webhook, and how it goes."""
        principal = principal_of(request)
        with access.enter(principal, why="read"):
            return Response(WebhookAnswer(webhooks.find_webhook(principal, webhook_id)).data)

    @extend_schema(operation_id="webhooks_change", request=WebhookChange, responses={200: WebhookAnswer})
    def patch(self, request: Request, webhook_id: uuid.UUID) -> Response:
        """Stops it, or starts it again where it stopped."""
        values = validated(WebhookChange, request.data)
        row = webhooks.set_enabled(principal_of(request), webhook_id, **values, now=timezone.now())
        return Response(WebhookAnswer(row).data)

    @extend_schema(operation_id="webhooks_delete", responses={204: None})
    def delete(self, request: Request, webhook_id: uuid.UUID) -> Response:
        """Deletes it."""
        webhooks.delete_webhook(principal_of(request), webhook_id)
        return Response(status=204)
