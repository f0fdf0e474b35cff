"""Many operations as one, so that Django makes its classes of all models twice, not after each operation."""

from collections.abc import Sequence
from typing import Any

from django.db.migrations.operations import CreateModel
from django.db.migrations.operations.base import Operation
from django.db.migrations.operations.fields import AddField
from django.db.migrations.operations.models import AddConstraint, AddIndex

PARTS = (AddField, AddIndex, AddConstraint)  # of a table, which is created with them


class AtOnce(Operation):
    """Creates tables as they are after all operations; what else there is to add (triggers) follows."""

    serialization_expand_args = ("operations",)

    def __init__(self, operations: Sequence[Operation]) -> None:
        self.operations = list(operations)
        created = {operation.name_lower for operation in self.operations if isinstance(operation, CreateModel)}
        parts = [operation for operation in self.operations if isinstance(operation, PARTS)]
        if strangers := {operation.model_name_lower for operation in parts} - created:
            raise ValueError(f"tables of other migrations are changed one by one: {', '.join(sorted(strangers))}")
        self.steps = [operation for operation in self.operations if operation not in parts]

    def state_forwards(self, app_label: str, state: Any) -> None:
        """All of them; the classes are made when the tables are."""
        vars(state).pop("apps", None)
        for operation in self.operations:
            operation.state_forwards(app_label, state)

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """The tables, then the rest."""
        for operation in self.steps:
            operation.database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """In the opposite order; all tables are still there when a trigger asks for its own."""
        for operation in reversed(self.steps):
            operation.database_backwards(app_label, schema_editor, from_state, from_state)

    def describe(self) -> str:
        """For people."""
        return f"{len(self.operations)} operations at once"
