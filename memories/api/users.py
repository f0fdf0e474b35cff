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
from memories.api.pagination import cursor_of, links_of, page_of
from memories.cursors import Cursor
from memories.models.namespace import BadUser, user_of
from memories.rest.authentication import USER, decoded_user, key_of
from memories.rest.fields import Strict, Text, validated_query
from memories.rest.inputs import namespace_form
from memories.rest.users import UserExport, address_of, exported, user_at


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


def _place_of(row: users.User, *, back: bool) -> Cursor:
    return Cursor.at(row, ("user",), back=back)


class UsersView(APIView):
    """Users."""

    @extend_schema(operation_id="users_list", parameters=[UsersQuery], responses={200: page_of(UserAnswer)})
    def get(self, request: Request) -> Response:
        """The users whom the key reaches, by name, and how many memories are kept of each."""
        query = validated_query(UsersQuery, request)
        cursor, limit = cursor_of(query.get("cursor"), times=0, ids=0, texts=1), query["limit"]
        after, back = (cursor.values[0], cursor.back) if cursor else ("", False)
        found = users.known_users(key_of(request), query.get("namespace"), after=after, limit=limit + 1, back=back)
        page = found[:limit][::-1] if back else found[:limit]
        links = links_of(request, page, _place_of, more=len(found) > limit, cursor=cursor)
        return Response({**links, "results": UserAnswer(page, many=True).data})


class UserExportView(APIView):
    """All of one user."""

    @extend_schema(operation_id="users_export", parameters=[UserQuery], responses={200: UserExport})
    def get(self, request: Request, address: str) -> Response:
        """All that is kept of a user, in every status, the oldest first; `address` is the user in base64url."""
        query = validated_query(UserQuery, request)
        return Response(exported(key_of(request), _meant(request, address), query.get("namespace"), now=timezone.now()))


class UserView(APIView):
    """One user."""

    verbs = {"DELETE": "admin"}

    @extend_schema(operation_id="users_erase", parameters=[EraseQuery], responses={200: UserErased})
    def delete(self, request: Request, address: str) -> Response:
        """Erases all that is kept of a user, every copy of it, if it is as much as expected; all of it or nothing."""
        query = validated_query(EraseQuery, request)
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
