"""SQL of migrations: functions and triggers stand in files of their own, `sql/<migration>/<name>.sql`."""

from pathlib import Path


def sql_of(migration: str, name: str) -> str:
    """Return the statements of a migration, which is given by its file."""
    path = Path(migration)
    return (path.parent / "sql" / path.stem / f"{name}.sql").read_text()
