"""The schema editor: adds columns also where Postgres before 18 refuses to."""

import copy
from typing import Any

from django.db.backends.postgresql.schema import DatabaseSchemaEditor
from django.db.models import Field, Model
from django.db.models.fields import NOT_PROVIDED

TAKEN_BY_A_FUNCTION = """SELECT EXISTS (SELECT FROM pg_depend d JOIN pg_class c ON c.reltype = d.refobjid
    WHERE d.refclassid = 'pg_type'::regclass AND d.classid = 'pg_proc'::regclass AND c.oid = to_regclass(%s))"""


class SchemaEditor(DatabaseSchemaEditor):
    """Gives a column its default after it was added, where functions take rows of the table as their argument.

    Postgres before 18 holds a new column with a default against those functions although no row is written anew.
    """

    def add_field(self, model: type[Model], field: "Field[Any, Any]") -> None:
        """Add a column; rows that are there get its default."""
        if field.null or not self._holds_defaults_against_functions(model):
            super().add_field(model, field)
            return
        bare = copy.copy(field)
        bare.null, bare.default, bare.db_default = True, NOT_PROVIDED, NOT_PROVIDED
        super().add_field(model, bare)
        # A default is no change of a row, so that no trigger is to hear of it.
        table = self.quote_name(model._meta.db_table)
        self.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        super().alter_field(model, bare, field)
        self.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")

    def _holds_defaults_against_functions(self, model: type[Model]) -> bool:
        if self.connection.pg_version >= 180000:
            return False
        with self.connection.cursor() as cursor:
            cursor.execute(TAKEN_BY_A_FUNCTION, [self.quote_name(model._meta.db_table)])
            return bool(cursor.fetchone()[0])


def use_schema_editor(connection: Any, **_: Any) -> None:
    """Let a new connection change tables by this editor: hears `connection_created`."""
    connection.SchemaEditorClass = SchemaEditor
