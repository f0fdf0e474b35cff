"""Predicates: their other names, how many values they take, how values are read (docs/spec.md §4).

A namespace registers rules of its own; they come before the seeds. A predicate nobody knows takes one value, as text:
what is taken for exclusive by mistake asks a person, what is taken for multi-valued by mistake opposes nobody.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from conflicts.enums import Normaliser, Policy
from conflicts.keys.aliases import BRACKETED, spelled
from conflicts.keys.normalization import canonical_key
from memories.errors import NovaError


class AliasCollision(NovaError):
    """Two rules claim one spelling."""

    code = "alias_taken"

    def __init__(self, *, spelling: str, names: tuple[str, str]) -> None:
        super().__init__(f"{spelling!r} names both {names[0]} and {names[1]}")
        self.spelling, self.names = spelling, names


@dataclass(frozen=True, slots=True)
class Rule:
    """One predicate. `policy`: what a value of equal authority, of another owner, does to the one that stands."""

    name: str
    exclusive: bool = True
    normaliser: str = Normaliser.TEXT
    aliases: tuple[str, ...] = ()
    policy: str = Policy.REVIEW

    def spellings(self) -> frozenset[str]:
        """Return the canonical keys under which this predicate goes."""
        return frozenset(map(canonical_key, (self.name, *self.aliases)))


def spellings_of(rules: Iterable[Rule]) -> dict[str, Rule]:
    """Canonical spelling → rule. Raise AliasCollision when two rules share one."""
    found: dict[str, Rule] = {}
    for rule in rules:
        for spelling in sorted(rule.spellings()):
            other = found.setdefault(spelling, rule)
            if other is not rule:
                raise AliasCollision(spelling=spelling, names=(other.name, rule.name))
    return found


def rule_for(*, predicate: str, registered: Mapping[str, Rule] = MappingProxyType({})) -> Rule:
    """The rule of a predicate in any spelling: a registered one (as `spellings_of` maps them), a seed, or the default.

    Its `name` is the predicate's canonical name. An alias of a seed leads on to the rule that was registered in the
    seed's place.
    """
    return _known(predicate, registered) or Rule(spelled(predicate).plainest.replace(" ", "_"))


def canonical_predicate(predicate: str) -> str:
    """Return the name under which the built-in set knows a predicate, in snake case."""
    return rule_for(predicate=predicate).name


def is_known(*, predicate: str, registered: Mapping[str, Rule] = MappingProxyType({})) -> bool:
    """Return whether there is a rule for it, registered or built in."""
    return _known(predicate, registered) is not None


def _known(predicate: str, registered: Mapping[str, Rule]) -> Rule | None:
    return _found(predicate, registered) if registered else _built_in(predicate)


@lru_cache(maxsize=4096)
def _built_in(predicate: str) -> Rule | None:
    """Return the seed that knows a predicate; remembered, as each question and each text names a few hundred."""
    return _found(predicate, {})


def _found(predicate: str, registered: Mapping[str, Rule]) -> Rule | None:
    """Return the rule that knows a predicate by its most literal reading, or else sees through its disguise."""
    written = spelled(predicate)
    for spelling in written.spellings:
        if spelling in registered:
            return registered[spelling]
        if seed := KNOWN.get(spelling):
            return registered.get(canonical_key(seed.name), seed)
    known = [rules for rules in (registered, KNOWN) if rules]
    for rules in known:
        if name := written.seen_through(rules):
            return _known(name, registered)
    # A wrong guess has to ask a person: no reading is replaced by it, and no value stands beside others.
    for rules in known:
        if name := written.guessed(REVIEWED if rules is KNOWN else _reviewed(rules)):
            return _known(name, registered)
    return _of_parts(predicate, registered)


def _reviewed(rules: Mapping[str, Rule]) -> tuple[str, ...]:
    """Return the spellings of those that take one value, over which a person decides."""
    return tuple(name for name, rule in rules.items() if rule.exclusive and rule.policy == Policy.REVIEW)


def _of_parts(predicate: str, registered: Mapping[str, Rule]) -> Rule | None:
    """Return the rule that both a name and what stands behind it in brackets lead to."""
    parts = BRACKETED.fullmatch(predicate)
    found = {_known(part, registered) for part in parts.groups()} if parts else set()
    return found.pop() if len(found) == 1 else None


def _one(name: str, *aliases: str, normaliser: str = Normaliser.TEXT) -> Rule:
    """Return a predicate with one value at a time."""
    return Rule(name, aliases=aliases, normaliser=normaliser)


def _many(name: str, *aliases: str) -> Rule:
    """Return a predicate with any number of values."""
    return Rule(name, exclusive=False, aliases=aliases)


def _reading(name: str, *aliases: str, normaliser: str = Normaliser.TEXT) -> Rule:
    """What is measured again and again: the newer reading replaces the older."""
    return Rule(name, aliases=aliases, normaliser=normaliser, policy=Policy.NEWEST)


PEOPLE = (
    _one("name", "full_name", "is_called", "called", "name_is", "legal_name"),
    _one("nickname", "preferred_name", "goes_by"),
    _one("email", "e_mail", "email_address", "e_mail_address", "mail_address", "electronic_mail",
         "electronic_mail_address"),
    _one("phone", "phone_number", "telephone", "telephone_number", "mobile", "mobile_number", "cell_phone",
         "cell_number"),
    _one("address", "street_address", "postal_address", "mailing_address"),
    _one("lives_in", "location", "home", "residence", "resides_in", "city", "lives_at", "living_in", "based_in",
         "located_in", "home_city", "current_city", "residing_in", "moved_to", "place_of_residence",
         "city_of_residence", "domicile", "resident_of", "resident_in", "dwells_in", "home_in", "residence_city"),
    _one("born_in", "birthplace", "place_of_birth", "hometown", "home_town"),
    _many("from", "comes_from", "originally_from"),
    _one("birthday", "birth_date", "birthdate", "date_of_birth", "dob", "born_on", normaliser=Normaliser.DATE),
    _one("age", "age_is", "years_old", normaliser=Normaliser.NUMBER),
    _one("height", "body_height"),
    _one("gender", "sex"),
    _one("pronouns", "preferred_pronouns"),
    _one("nationality", "citizenship", "citizen_of"),
    _one("religion", "faith"),
    _one("blood_type", "blood_group"),
    _one("spouse", "husband", "wife", "married_to"),
    _one("marital_status", "relationship_status"),
    _many("child", "children", "has_child", "son", "daughter", "kid", "kids"),
    _many("sibling", "siblings", "brother", "sister", "has_sibling"),
    _many("parent", "parents", "mother", "father", "mum", "mom", "dad"),
    _many("pet", "pets", "has_pet"),
    _many("friend", "friends", "friend_of", "has_friend", "best_friend"),
    _one("emergency_contact"),
)  # fmt: skip
HEALTH = (
    _one("diet", "dietary_preference", "diet_is", "eating_habit"),
    _many("allergic_to", "allergy", "allergies", "has_allergy"),
    _many("intolerant_to", "intolerance", "intolerances"),
    _many("takes_medication", "medication", "medications", "medicine"),
    _many("has_condition", "diagnosed_with", "diagnosis"),
    _one("doctor", "physician", "general_practitioner"),
)
WORK = (
    _one("works_at", "employer", "works_for", "employed_by", "employed_at", "company", "workplace"),
    _one("role", "job_title", "job", "occupation", "profession", "works_as"),
    _one("team", "works_on_team", "member_of_team"),
    _one("manager", "boss", "reports_to", "supervisor"),
    _one("salary", "annual_salary", normaliser=Normaliser.MONEY),
    _one("rent", "monthly_rent", normaliser=Normaliser.MONEY),
    _many("has_skill", "skill", "skills", "skilled_in", "proficient_in"),
    _many("knows", "acquainted_with", "has_met"),
    _many("studied_at", "alma_mater", "graduated_from"),
    _many("studies", "field_of_study"),
    _many("certified_in", "certification", "certifications", "certificate"),
    _many("works_on", "working_on", "contributes_to"),
    _many("colleague", "colleagues", "coworker", "works_with"),
    _many("member_of", "membership", "belongs_to"),
    _many("responsible_for", "responsibility", "responsibilities", "in_charge_of"),
)
TASTES = (
    _many("likes", "loves", "enjoys", "fond_of", "is_fond_of", "interested_in", "hobby", "hobbies"),
    _many("dislikes", "hates", "does_not_like", "doesn't_like"),
    _many("prefers", "preference", "preferences", "would_rather"),
    _many("avoids", "avoiding", "stays_away_from"),
    _many("wants", "wishes_for", "would_like"),
    _many("needs", "requires", "in_need_of"),
    _many("goal", "goals", "aims_to", "has_goal"),
    _many("eats"),
    _many("drinks"),
    _many("plays", "plays_sport", "plays_instrument", "instrument"),
    _many("watches"),
    _many("reads", "has_read", "is_reading"),
    _many("listens_to"),
    _many("collects"),
    _many("owns", "has_bought", "possesses"),
    _many("drives"),
    _many("visited", "has_visited", "traveled_to", "travelled_to", "has_been_to"),
    _many("has_done", "has_experienced", "took_part_in", "has_taken_part_in"),
    _many("busy_with", "is_busy_with", "spends_time_on", "practises", "practices"),
    _many("plans_to", "is_planning_to", "intends_to", "plans"),
    _many("plans_to_visit", "wants_to_visit", "travel_plan", "travel_plans"),
    _many("lived_in", "used_to_live_in", "formerly_lived_in"),
    _many("worked_at", "formerly_worked_at", "previous_employer", "former_employer"),
    _many("attended", "attends", "goes_to"),
    _many("subscribes_to", "subscription", "subscriptions", "subscribed_to"),
    _many("speaks", "speaks_language", "spoken_languages", "native_language", "mother_tongue", "first_language"),
    _one("language", "preferred_language", "prefers_language", "locale"),
    _one("timezone", "time_zone", "tz", "timezone_is"),
    _one("prefers_theme", "theme", "ui_theme", "color_theme", "colour_theme", "preferred_theme"),
    _one("favorite_color", "favourite_color", "favorite_colour", "favourite_colour"),
    _one("favorite_food", "favourite_food", "favorite_dish", "favourite_dish"),
    _one("preferred_editor", "prefers_editor", "editor", "ide"),
    _one("notifications", "notifications_enabled", "wants_notifications", normaliser=Normaliser.BOOLEAN),
)
PROJECTS = (
    _one("budget", "budget_is", "has_budget", "total_budget", "max_budget", "maximum_budget", "overall_budget",
         "budget_limit", "budget_cap", "spending_limit", "spending_cap", "spend_limit", "max_spend", "maximum_spend",
         "max_spending_limit",
         normaliser=Normaliser.MONEY),
    _one("deadline", "due_date", "due", "due_on", "due_by", "deadline_is", "deadline_date", "cutoff_date",
         "cut_off_date", "cut_off", "cutoff", "hand_in_date", "ddl", normaliser=Normaliser.DATE),
    _one("start_date", "starts_on", "started_on", normaliser=Normaliser.DATE),
    _one("end_date", "ends_on", "ended_on", normaliser=Normaliser.DATE),
    _one("owner", "owned_by", "project_owner"),
    _one("repository", "repo", "repository_url", "repo_url"),
    _one("url", "website", "homepage", "web_site"),
    _one("port", "port_number", "listens_on_port", normaliser=Normaliser.NUMBER),
    _one("database", "uses_database", "db"),
    _one("programming_language", "written_in", "implemented_in"),
    _one("license", "licence", "licensed_under"),
    _many("uses", "uses_tool", "depends_on", "dependency"),
    _many("supports", "compatible_with"),
    _many("maintainer", "maintainers", "maintained_by"),
    _many("stakeholder", "stakeholders"),
    _many("tag", "tags", "label", "labels"),
)  # fmt: skip
READINGS = (
    _reading("status", "current_status", "status_is"),
    _reading("version", "current_version", "version_is"),
    _reading("temperature", "current_temperature", "temp"),
    _reading("weather", "current_weather"),
    _reading("price", "current_price", "price_is", "costs", "cost", normaliser=Normaliser.MONEY),
    _reading("balance", "account_balance", "current_balance", normaliser=Normaliser.MONEY),
    _reading("stock", "in_stock", "quantity", "inventory", normaliser=Normaliser.NUMBER),
    _reading("count", "counter", "current_count", normaliser=Normaliser.NUMBER),
    _reading("progress", "current_progress"),
    _reading("weight", "body_weight", "current_weight"),
    _reading("mood", "current_mood"),
    _reading("last_seen", "last_seen_at", "last_login"),
)

SEEDS = (*PEOPLE, *HEALTH, *WORK, *TASTES, *PROJECTS, *READINGS)
KNOWN = MappingProxyType(spellings_of(SEEDS))
REVIEWED = _reviewed(KNOWN)
