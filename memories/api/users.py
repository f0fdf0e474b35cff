"""/api/v1/users: the people behind agents, and each one's right to see and to erase what is kept of them."""

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memories import erasure
from memories.access import NotFound, users
from memories.api.pagination import NO_CURSOR
from memories.models.namespace import BadUser, user_of
from memories.rest.answers import FragmentAnswer
from memories.rest.authentication import USER, decoded_user, key_of
from memories.rest.fields import Strict, Text, validated
from memories.rest.inputs import namespace_form
from memories.rest.tombstones import TombstoneAnswer
from memories.rest.users import address_of, exported, user_at


class UsersQuery(Strict):
    """Behind which agent, and which page."""

    namespace = Text(required=False, validators=[namespace_form], help_text="Left out: all of the project.")
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    cursor = Text(required=False)


class UserQuery(Strict):
    """Behind which agent."""

    namespace = Text(required=False, validators=[namespace_form], help_text="Left out: all of the project.")


class EraseQuery(UserQuery):
    """What is expected, and what goes along."""

    dry_run = serializers.BooleanField(default=False, help_text="Only count.")
    expected_count = serializers.IntegerField(
        min_value=0, required=False, help_text="Another count than this erases nothing: 409."
    )
    purge_backups = serializers.BooleanField(default=False, help_text="Delete the backups that still hold any of it.")


class UserAnswer(serializers.Serializer[Any]):
    """A user, and what is kept of them."""

    user = serializers.CharField()
    address = serializers.SerializerMethodField(help_text="The user in addresses: base64url.")
    namespaces = serializers.ListField(child=serializers.CharField())
    memories = serializers.IntegerField()
    since = serializers.DateTimeField()

    def get_address(self, row: users.User) -> str:
        """The user in addresses."""
        return address_of(row.user)


class UserPage(serializers.Serializer[Any]):
    """A page of users, by name."""

    next = serializers.CharField(allow_null=True)
    previous = serializers.CharField(allow_null=True)
    results = UserAnswer(many=True)


class UserExport(serializers.Serializer[Any]):
    """All that is kept of a user."""

    user = serializers.CharField()
    namespaces = serializers.ListField(child=serializers.CharField())
    exported_at = serializers.DateTimeField()
    memories = FragmentAnswer(many=True)
    tombstones = TombstoneAnswer(many=True)


class UserErased(serializers.Serializer[Any]):
    """What was erased, or would be."""

    user = serializers.CharField()
    namespaces = serializers.ListField(child=serializers.CharField())
    count = serializers.IntegerField(help_text="How many memories.")
    backups = serializers.ListField(
        child=serializers.DictField(), help_text="Backups that still hold any of it; told to an admin of the project."
    )
    dry_run = serializers.BooleanField()


def _meant(request: Request, address: str) -> str:
    """Return the user of an address. Raise NotFound for what is none, or is not whom the request's header names."""
    user = user_at(address)
    try:
        if (header := request.headers.get(USER)) is not None and user_of(decoded_user(header)) != user:
            raise NotFound("user")
    except BadUser as error:
        raise NotFound("user") from error
    return user


def _after(query: dict[str, Any]) -> str:
    """Return the user behind whom a page begins. Raise ValidationError for a cursor that names none."""
    try:
        return user_at(query["cursor"]) if "cursor" in query else ""
    except NotFound as error:
        raise serializers.ValidationError({"cursor": [NO_CURSOR]}) from error


class UsersView(APIView):
    """Users."""

    @extend_schema(operation_id="users_list", parameters=[UsersQuery], responses={200: UserPage})
    def get(self, request: Request) -> Response:
        """The users whom the key reaches, by name, and how many memories are kept of each."""
        query = validated(UsersQuery, request.query_params.dict())
        after = _after(query)
        limit = query["limit"]
        found = users.known_users(key_of(request), query.get("namespace"), after=after, limit=limit + 1)
        more = address_of(found[limit - 1].user) if len(found) > limit else None
        url = request.build_absolute_uri(request.path)
        named = f"&namespace={query['namespace']}" if "namespace" in query else ""
        page = {"next": more and f"{url}?limit={limit}&cursor={more}{named}", "previous": None}
        return Response({**page, "results": UserAnswer(found[:limit], many=True).data})


class UserExportView(APIView):
    """All of one user."""

    @extend_schema(operation_id="users_export", parameters=[UserQuery], responses={200: UserExport})
    def get(self, request: Request, address: str) -> Response:
        """All that is kept of a user, in every status, the oldest first; `address` is the user in base64url."""
        query = validated(UserQuery, request.query_params.dict())
        return Response(exported(key_of(request), _meant(request, address), query.get("namespace"), now=timezone.now()))


class UserView(APIView):
    """One user."""

    verbs = {"DELETE": "admin"}

    @extend_schema(operation_id="users_erase", parameters=[EraseQuery], responses={200: UserErased})
    def delete(self, request: Request, address: str) -> Response:
        """Erases all that is kept of a user, every copy of it, if it is as much as expected; all of it or nothing."""
        query = validated(EraseQuery, request.query_params.dict())
        done = erasure.erase_user(
            key_of(request),
            _meant(request, address),
            query.get("namespace"),
            expected=query.get("expected_count"),
            dry_run=query["dry_run"],
            purge_backups=query["purge_backups"],
            now=timezone.now(),
        )
        answer = {"user": done.user, "namespaces": done.namespaces, "count": done.count, "backups": done.backups}
        return Response({**answer, "dry_run": query["dry_run"]})
