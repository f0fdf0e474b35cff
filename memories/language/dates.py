"""The words of dates, lower-case. Who reads dates has a grammar of its own, for questions, claims and values differ."""

from collections.abc import Iterable

from memories.language.word_lists import entries, word_list

MONTH_NAMES = entries(__file__, "months")
# By name, and by its first three letters.
MONTHS = {short: number for number, name in enumerate(MONTH_NAMES, 1) for short in (name, name[:3])} | {"sept": 9}
# Monday is 0, as `datetime.weekday` has it.
WEEKDAYS = {name: number for number, name in enumerate(entries(__file__, "weekdays"))}
ORDINALS = {name: number for number, name in enumerate(entries(__file__, "ordinals"), 1)}
# Words with a capital that name a time.
CALENDAR = word_list(__file__, "calendar") | MONTHS.keys() | WEEKDAYS.keys() | {f"{name}s" for name in WEEKDAYS}


def _either(names: Iterable[str]) -> str:
    """Return a regular expression for one of the names, the longest first."""
    return "|".join(sorted(names, key=len, reverse=True))


A_MONTH, A_WEEKDAY, AN_ORDINAL = _either(MONTHS), _either(WEEKDAYS), _either(ORDINALS)
