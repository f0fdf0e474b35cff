"""Reports in words, for people: what each number of a run counts. Pure."""

from collections.abc import Mapping
from typing import Any

Line = tuple[str, str]


def report_lines(report: Mapping[str, Any]) -> list[Line]:
    """Return a consolidation's or undo's report, line by line: what, and how much; only what the report holds."""
    if "operation" in report:
        return _of_undo(report)
    found: list[Line] = []
    if "before" in report and "after" in report:
        before, after = report["before"], report["after"]
        found.append(("memories", f"{before['total']} → {after['total']}"))
        found.append(("of these active", f"{before['active']} → {after['active']}"))
    if "recorded" in report:
        found.append(("counts match changes", _matching(report)))
    if "merged" in report:
        found += _counts(report)
    if waiting := {name: number for name, number in report.get("deferred", {}).items() if number}:
        found.append(("put off to the next run", ", ".join(f"{n} {name}" for name, n in waiting.items())))
    if aside := report.get("set_aside"):
        found.append(("set aside, for the run failed on them", str(len(aside))))
    found += recall_lines(report)
    if "duration_ms" in report:
        found.append(("took", f"{report['duration_ms'] / 1000:.1f} s"))
    return found


def recall_lines(report: Mapping[str, Any]) -> list[Line]:
    """Return what recall checks found, where any were asked."""
    if not (recall := report.get("recall")):
        return []
    lost = f", {len(recall['lost'])} lost" if recall["lost"] else ""
    return [("recall checks that pass", f"{recall['passed']} of {recall['checked']}{lost}")]


def matches(report: Mapping[str, Any]) -> bool:
    """Return whether the totals before and after differ by just what the triggers recorded."""
    before, after, seen = report["before"], report["after"], report["recorded"]
    total = before["total"] + seen["made"] == after["total"]
    return bool(total and before["active"] + seen["became_active"] - seen["ceased"] == after["active"])


def _matching(report: Mapping[str, Any]) -> str:
    seen = report["recorded"]
    anew = f"{seen['became_active']} became active, {seen['ceased']} ceased"
    text = f"{seen['changed']} recorded: {seen['made']} made, {anew}"
    return f"✓ {text}" if matches(report) else f"✗ they do not; {text}"


def _counts(report: Mapping[str, Any]) -> list[Line]:
    claims, digests, pruned = report["contradictions"], report["compressed"], report["pruned"]
    return [
        ("embedded before", str(report.get("reembedded", 0))),
        ("duplicates merged", str(report["merged"])),
        ("contradictions settled", str(claims["resolved"])),
        ("contradictions that wait for a person", str(claims["pending"])),
        ("claims read out of texts", str(claims["claims"])),
        ("speak for each other", str(report["corroborated"])),
        ("digests", _with(digests["clusters"], f"of {digests['source_memories']} memories")),
        ("gone cold", str(report["decayed"])),
        (
            "archived",
            _with(report["archived"], ", ".join(f"{number} {why}" for why, number in pruned.items() if number)),
        ),
        ("skipped (changed since the plan)", str(report.get("stale", {}).get("count", 0))),
    ]


def _with(number: int, details: str) -> str:
    return f"{number} ({details})" if number else "0"


def _of_undo(report: Mapping[str, Any]) -> list[Line]:
    found: list[Line] = [("takes back", report["operation"])]
    if "restored" in report:
        found.append(("rows as before", str(report["restored"])))
    if gone := report.get("deleted"):  # namespaces that a restore had made, by name
        found.append(("memories taken away with their namespaces", str(sum(gone.values()))))
    if "changed_since" in report:
        found.append(("memories changed since", str(report["changed_since"]["count"])))
    return found
