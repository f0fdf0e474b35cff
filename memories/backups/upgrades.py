"""Upgrades: records as earlier versions wrote them, as this one reads them."""

from typing import Any

from conflicts.public import Policy


def upgrade(told: dict[str, Any]) -> bool:
    """Brings a record up to date in place; whether there was anything to do."""
    row = told.get("row")
    if told.get("kind") != "predicate" or type(row) is not dict or "policy" in row:
        return False
    newest = row.pop("newer_wins", None)
    if type(newest) is not bool:
        return False
    row["policy"] = str(Policy.NEWEST if newest else Policy.REVIEW)
    return True
