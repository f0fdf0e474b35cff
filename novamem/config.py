"""The configuration file: every setting has a place in a TOML file, for who prefers one file to an environment.

Sections and keys follow older configuration files where these name a setting; either spelling of a key is
read, `top_k` or `topK`. The environment wins over the file, the file over the defaults.
"""

import os
import tomllib
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic.alias_generators import to_camel

NAME, FILE = "NOVAMEM_CONFIG", "config.toml"
# What older configuration files call a setting that has another place here.
FORMER = {
    "consolidation.deduplication_threshold": "consolidation.dedup_threshold",
    "consolidation.decay_rate": "decay.per_day",
    "consolidation.archive_threshold": "decay.cold_below",
    "consolidation.deletion_threshold": "decay.archive_below",
    "limits.max_fragments": "upkeep.capacity",
}
OPTIONS = {"--config": NAME, "--data-dir": "NOVAMEM_DATA_DIR"}


class Section(BaseModel):
    """Knows its keys in both spellings, and no others; a value has its type or is refused."""

    model_config = ConfigDict(extra="forbid", strict=True, alias_generator=to_camel, populate_by_name=True)


def read(root: Path, kinds: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the file gives, by places such as `server.port`; `kinds` has the type of each place.

    It is the file that NOVAMEM_CONFIG names, else config.toml beside the project, if it is there.
    Raise ImproperlyConfigured with the file, place and reason.
    """
    named = os.environ.get(NAME)
    path = Path(named).expanduser() if named else root / FILE
    if not named and not path.exists():
        return {}
    try:
        found = _shape(kinds).model_validate(_placed(tomllib.loads(path.read_text())))
    except OSError as error:
        raise ImproperlyConfigured(f"{path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ImproperlyConfigured(f"{path} is no TOML: {error}") from error
    except ValidationError as error:
        wrong = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()]
        raise ImproperlyConfigured(f"{path}: {'; '.join(wrong)}. See config.example.toml.") from error
    sections = found.model_dump(exclude_unset=True)
    return {f"{section}.{key}": value for section, values in sections.items() for key, value in values.items()}


def _placed(given: dict[str, Any]) -> dict[str, Any]:
    """Return the sections with each key of an older file in its place; what stands there already wins."""
    for former, place in FORMER.items():
        (section, key), (at, name) = former.split("."), place.split(".")
        for spelling in (key, to_camel(key)):
            if isinstance(given.get(section), dict) and spelling in given[section]:
                value = given[section].pop(spelling)
                given.setdefault(at, {})
                if isinstance(given[at], dict):
                    given[at].setdefault(name, value)
    return given


def _shape(kinds: Mapping[str, Any]) -> type[BaseModel]:
    """Return the model of the file: sections of keys."""
    sections: dict[str, Any] = defaultdict(dict)
    for place, kind in kinds.items():
        section, key = place.split(".")
        sections[section][key] = (kind | None, None)
    models: dict[str, Any] = {
        name: (create_model(name.title(), __base__=Section, **keys) | None, None) for name, keys in sections.items()
    }
    return create_model("Config", __base__=Section, **models)


def take_options(words: list[str]) -> list[str]:
    """Return the words of `manage.py …` without `--config PATH` and `--data-dir PATH`, which become the environment's.

    `--json` before the command's name goes behind it. Of any other command the words are its own.
    """
    rest: list[str] = []
    given = iter(words)
    begins = [Path(word).name for word in words[:2]]
    if "manage.py" not in begins:
        return words
    name = begins.index("manage.py") + 1
    for word in given:
        option, _, value = word.partition("=")
        if option in OPTIONS:
            os.environ[OPTIONS[option]] = value or next(given, "")
        else:
            rest.append(word)
    if rest[name : name + 1] == ["--json"]:
        rest.append(rest.pop(name))
    return rest
