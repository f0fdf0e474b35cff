"""Columns with defaults in tables whose rows a function takes, as Postgres before 18 lets them be added."""

import pytest
from django.db import connections, models, transaction
from django.db.models.functions import Now

from memories.schema_editor import SchemaEditor

TABLE = """
    CREATE TABLE added_columns (id bigint PRIMARY KEY);
    INSERT INTO added_columns VALUES (1);
    CREATE FUNCTION added_columns_of(one added_columns) RETURNS bigint LANGUAGE sql RETURN one.id;
    CREATE FUNCTION added_columns_refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE ''changed''; END';
    CREATE TRIGGER refuse AFTER UPDATE ON added_columns EXECUTE FUNCTION added_columns_refuse();
"""
COLUMNS = """SELECT column_name, is_nullable, column_default IS NOT NULL FROM information_schema.columns
    WHERE table_name = 'added_columns' AND column_name <> 'id' ORDER BY column_name"""


class AddedColumns(models.Model):
    """The table."""

    id = models.BigIntegerField(primary_key=True)

    class Meta:
        """No migration makes it."""

        app_label = "tests"
        db_table = "added_columns"


FIELDS = {
    "key": models.CharField(max_length=9, blank=True, default="", db_default=""),
    "made": models.DateTimeField(db_default=Now()),
    "maybe": models.IntegerField(null=True),
    "number": models.PositiveIntegerField(default=7),
}


@pytest.fixture
def owner(django_db_setup, django_db_blocker):
    """The owner's connection in a transaction that leaves nothing, with a table of its own."""
    connection = connections["owner"]
    with django_db_blocker.unblock(), transaction.atomic(using="owner"):
        with connection.cursor() as cursor:
            cursor.execute(TABLE)
        yield connection
        transaction.set_rollback(True, using="owner")
    connection.close()


@pytest.mark.parametrize("version", [170012, 180006])
def test_rows_get_the_default_and_no_trigger_hears_of_it(owner, monkeypatch, version):
    monkeypatch.setitem(vars(owner), "pg_version", version)
    said = []

    def listen(execute, sql, *more):
        said.append(str(sql))
        return execute(sql, *more)

    with owner.execute_wrapper(listen), owner.schema_editor() as editor:
        assert isinstance(editor, SchemaEditor)
        for name, field in FIELDS.items():
            field.set_attributes_from_name(name)
            field.model = AddedColumns
            editor.add_field(AddedColumns, field)
    with owner.cursor() as cursor:
        cursor.execute(COLUMNS)
        assert cursor.fetchall() == [
            ("key", "NO", True),
            ("made", "NO", True),
            ("maybe", "YES", False),
            ("number", "NO", False),
        ]
        cursor.execute("SELECT key, number, made IS NOT NULL, maybe FROM added_columns")
        assert cursor.fetchall() == [("", 7, True, None)]
        cursor.execute("SELECT tgenabled FROM pg_trigger WHERE tgname = 'refuse'")
        assert cursor.fetchall() == [("O",)]
    with_default = [each for each in said if "ADD COLUMN" in each and "DEFAULT" in each]
    assert bool(with_default) == (version >= 180000)
