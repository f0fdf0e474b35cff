"""The form of /operations/ that starts upkeep by hand: what each kind is asked, and what holds where it is not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.http import Http404
from django.urls import reverse
from django.utils import timezone

from memories import access, jobs
from memories.access import Principal
from memories.models import Namespace, Operation
from memories.models.enums import Tier
from memories.upkeep.reindex import TARGETS
from memories.upkeep.thresholds import Thresholds, thresholds_of

SAID = {
    "tier": "Moves memories between hot, warm and cold by use, age and size.",
    "compact": "Shortens what was not used for long; the archive keeps what was said.",
    "evict": "Takes out what weighs least where the project is nearly full; a tombstone and a copy stay.",
    "archive": "Moves what lay archived for long to the archive; a tombstone stays.",
    "rebuild": "Makes what is derived of the memories anew.",
    "evolve": "Asks the language model which newer texts make older ones untrue, and proposes what it finds.",
}


@dataclass(frozen=True, slots=True)
class OptionField:
    """An option as the form has it: a number, or one of some words; what holds where it is empty."""

    name: str
    said: str
    default: str
    words: Sequence[str] = ()
    value: str = ""


@dataclass(frozen=True, slots=True)
class JobForm:
    """The form of one kind; without `names` it is about the whole project, else about one, or all where it may."""

    kind: str
    said: str
    fields: list[OptionField]
    names: list[str]
    place: str
    takes_all: bool
    dry_runs: bool

    @property
    def place_shown(self) -> str:
        """The namespace that the form has chosen: what it was given, else the first where it has to be one."""
        return self.place or ("" if self.takes_all else next(iter(self.names), ""))


def form_of(principal: Principal, given: Mapping[str, Any]) -> JobForm | None:
    """Return the form of the kind that an address or a form names, with what else it has. Raise Http404."""
    name = given.get("run", "")
    if not name:
        return None
    if name not in SAID:
        raise Http404
    kind, place = jobs.KINDS[name], given.get("namespace", "")
    names: list[str] = []
    if not kind.whole_project:
        with access.enter(principal, why="console"):
            names = [row.name for row in access.all_readable(principal)]
    if place and place not in names:
        raise Http404
    asked = [
        OptionField(field, said, default, words, str(given.get(field, "")))
        for field, said, default, words in _options(name, thresholds_of(principal.project_id))
    ]
    return JobForm(name, SAID[name], asked, names, place, not kind.one_namespace, kind.dry_runs)


def _options(kind: str, own: Thresholds) -> list[tuple[str, str, str, Sequence[str]]]:
    """Return name, words, default and choices of what a kind may be asked."""
    tier = ("tier", "only of the tier", "all", Tier.values)
    until = f"{own.eviction_target}, once it holds {own.eviction_start}"
    found: dict[str, list[tuple[str, str, str, Sequence[str]]]] = {
        "tier": [
            ("warm_days", "warm after days without use", str(own.warm_days), ()),
            ("cold_below", "cold below a relevance of", str(own.cold_below), ()),
            ("promote_at", "reads that bring one up a tier", str(settings.TIERING["promote_at"]), ()),
        ],
        "compact": [
            tier,
            ("summary_days", "shortened to its first sentences after days", str(own.summary_days), ()),
            ("keywords_days", "to words after days", str(own.keywords_days), ()),
            ("hash_days", "to its vector after days", str(own.hash_days), ()),
        ],
        "evict": [tier, ("target", "down to this share of the capacity", until, ())],
        "rebuild": [("target", "what", "", list(TARGETS))],
    }
    return found.get(kind, [])


def read_options(form: JobForm) -> dict[str, Any]:
    """Return what the form was filled with: numbers where a number is asked, as far as they are; what is empty not."""
    filled = [(field, text) for field in form.fields if (text := field.value.strip())]
    return {field.name: text if field.words else _number(text) for field, text in filled}


def _number(text: str) -> int | float | str:
    """Return the number that a text says, else the text: the kind tells what it takes."""
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def start_job(principal: Principal, form: JobForm, namespace: Namespace | None, *, dry_run: bool) -> Operation:
    """Start what the form says. Raise BadOptions and what the kind refuses."""
    wish: dict[str, Any] = {"kind": form.kind, "namespace": namespace, "options": read_options(form)}
    return jobs.start(principal, **wish, dry_run=dry_run, now=timezone.now())


def run_address(row: Operation) -> str:
    """Return where a preview that was started here is started for good, its options filled in; empty for others."""
    if not row.dry_run or row.kind not in SAID or (row.namespace and row.namespace.user is not None):
        return ""
    place = {"namespace": row.namespace.name} if row.namespace else {}
    return f"{reverse('console:operations')}?{urlencode({'run': row.kind, **place, **row.options})}#run"
