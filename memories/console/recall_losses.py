"""The recall checks that an operation lost or would lose, as its page shows them."""

from collections.abc import Mapping
from typing import Any

from memories import recall_checks
from memories.access import Principal
from memories.models import RecallCheck


def lost_checks(principal: Principal, report: Mapping[str, Any]) -> list[RecallCheck]:
    """Return the checks that an operation lost or would lose, as far as they are still kept. Inside `access.enter`."""
    parts = [report, *(part for part in (report.get("namespaces") or {}).values() if isinstance(part, dict))]
    ids = [each for part in parts for each in (part.get("recall") or {}).get("lost", [])]
    rows = recall_checks.checks_of(principal).filter(id__in=ids)
    return list(rows.in_order()) if ids else []
