"""The OpenAPI document: complete, as it was agreed, and true of what the server answers."""

from copy import deepcopy
from pathlib import Path
from urllib.parse import urlencode

import pytest
import schemathesis
import yaml
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from django.urls import reverse
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiYamlRenderer
from hypothesis import HealthCheck, given, settings
from jsonschema import Draft202012Validator
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance

from memories.access import ONE_OR_ALL
from memories.api import vocabulary
from tests.openapi_document import DOCUMENT

EXAMPLES = 12


@pytest.fixture(scope="module")
def document():
    """The document as it is served."""
    return SchemaGenerator().get_schema(request=None, public=True)


def test_it_is_the_agreed_one(document):
    """After a wanted change: `script/manage spectacular --file tests/api/openapi.yaml`."""
    assert yaml.load(OpenApiYamlRenderer().render(document), Loader=yaml.CSafeLoader) == DOCUMENT


def test_it_is_served_with_its_page(client, db):
    assert client.get(reverse("schema")).status_code == 200
    page = client.get(reverse("docs"))
    assert page.status_code == 200
    assert b"API reference" in page.content
    assert b"http://" not in page.content.replace(b"http://testserver", b"")


def _schemas(node):
    """Every part of the document that is a mapping."""
    if isinstance(node, dict):
        yield node
    for part in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _schemas(part)


def test_every_default_may_be_sent(document):
    """As the generator writes none beside a reference, each schema tells of its default by itself."""
    given_defaults = [each for each in _schemas(document) if "type" in each and "default" in each]
    assert len(given_defaults) > 50
    assert [each for each in given_defaults if not Draft202012Validator(each).is_valid(each["default"])] == []


def test_a_search_within_no_session_is_one_within_none(alice):
    for path in ("claims", "claims/timeline?subject=Ada&predicate=age"):
        answer = alice.client.get(f"/api/v1/{path}{'&' if '?' in path else '?'}session_id=")
        assert answer.status_code == 200, answer.json()


def test_every_operation_has_a_description(document):
    bare = [
        f"{method} {path}"
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if not operation.get("description")
    ]
    assert bare == []


def test_every_property_and_parameter_says_what_it_is(document):
    named = [
        (f"{name}.{field}", shape)
        for name, schema in document["components"]["schemas"].items()
        for field, shape in schema.get("properties", {}).items()
    ]
    named += [
        (f"{operation['operationId']}.{one['name']}", one)
        for methods in document["paths"].values()
        for operation in methods.values()
        for one in operation.get("parameters", ())
    ]
    assert [name for name, shape in named if not shape.get("description")] == []
    known = {name for name, _ in named} | {name.partition(".")[2] for name, _ in named}
    assert {*vocabulary.WORDS, *vocabulary.EXAMPLES} - known == set(), "nothing is called so"


OF_PROJECTS = {"backups", "bridges", "containments", "namespaces", "predicates", "restores", "webhooks"}
BOTH = {"user", "all_users"}


def _asked_of(operation, place="query"):
    return {one["name"] for one in operation.get("parameters", ()) if one["in"] == place}


def test_whose_memories_it_is_about_is_told_wherever_the_address_is_read(agent_of, project, document):
    """Who names a user and all of them at once is told so: that is how an operation shows that it reads them."""
    verbs = ["read", "write", "review", "admin"]
    agent = agent_of(project, verbs=verbs, ceiling="user_explicit", requests_per_minute=0)
    told, read = set(), set()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if "requestBody" in operation:
                continue
            if _asked_of(operation) >= BOTH:
                told.add(operation["operationId"])
            values = dict.fromkeys(_asked_of(operation, "path"), "00000000-0000-4000-8000-000000000000")
            required = {one["name"]: "x" for one in operation.get("parameters", ()) if one.get("required")}
            query = {name: value for name, value in required.items() if name in _asked_of(operation)}
            query |= {"user": "ann", "all_users": "true"}
            answer = agent.client.generic(method.upper(), f"{path.format(**values)}?{urlencode(query)}")
            if answer.status_code == 400 and answer.json()["errors"][0]["message"] == ONE_OR_ALL:
                read.add(operation["operationId"])
    assert "fragments_history" in read & told
    assert read - told == {"projects_delete"}  # where one user is refused
    # What is refused before: a filter, or a name, that the test made up.
    assert told - read <= {"cases_groups", "claims_timeline", "timeline_difference", "namespaces_compare"}


def test_a_body_about_memories_tells_whose_they_are(document):
    bare = []
    for methods in document["paths"].values():
        for operation in methods.values():
            for content in list(operation.get("requestBody", {}).get("content", {}).values())[:1]:
                schema = document["components"]["schemas"][content["schema"]["$ref"].rpartition("/")[2]]
                if "user" not in schema["properties"] and operation["tags"][0] not in OF_PROJECTS:
                    bare.append(operation["operationId"])
    assert bare == []


def test_every_answer_says_what_it_is(document):
    answers = [
        (operation["operationId"], status, answer)
        for methods in document["paths"].values()
        for operation in methods.values()
        for status, answer in operation["responses"].items()
        if "$ref" not in answer
    ]
    assert [(name, status) for name, status, answer in answers if not answer["description"]] == []


def test_every_problem_has_an_example_of_a_code_that_is_told_of(document):
    told = Path("docs/api.md").read_text()
    for status, answer in document["components"]["responses"].items():
        ((code, example),) = answer["content"]["application/problem+json"]["examples"].items()
        assert example["value"]["status"] == int(status)
        assert example["value"]["code"] == code
        assert f"| `{code}` |" in told
        Draft202012Validator(document["components"]["schemas"]["Problem"]).validate(example["value"])


LOADED = schemathesis.openapi.from_dict(deepcopy(DOCUMENT))
LOADED.app = get_wsgi_application()
LOADED.config.checks.negative_data_rejection.expected_statuses.append("413")  # too large is refused before it is read
OPERATIONS = [(path, method) for path in LOADED for method in LOADED[path]]


@pytest.fixture
def kept_connection():
    """Lets requests run in this test's transaction: their end must not close the connection."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.mark.long
@pytest.mark.usefixtures("kept_connection")
@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize(("path", "method"), OPERATIONS, ids=lambda part: str(part))
def test_the_server_keeps_to_it(path, method, mode, agent_of, project):
    """No server error, no answer that the document does not describe; bad input is refused."""
    agent = agent_of(
        project, verbs=["read", "write", "review", "admin"], ceiling="user_explicit", requests_per_minute=0
    )

    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
    @given(case=LOADED[path][method].as_strategy(generation_mode=mode))
    def keeps(case):
        # What a schema can't say (one of two fields, periods that run forward) is refused with a 400 as well.
        case.call_and_validate(
            headers={"Authorization": f"Bearer {agent.key}"}, excluded_checks=[positive_data_acceptance]
        )

    keeps()


def test_answers_have_the_headers_that_the_document_names(alice, agent_of, project, document):
    operation = document["paths"]["/api/v1/namespaces"]["get"]["responses"]
    answer = alice.client.get("/api/v1/namespaces")
    assert set(operation["200"]["headers"]) <= set(answer.headers)
    slow = agent_of(project, requests_per_minute=1)
    slow.client.get("/api/v1/namespaces")
    refused = document["components"]["responses"][operation["429"]["$ref"].rpartition("/")[2]]
    assert set(refused["headers"]) <= set(slow.client.get("/api/v1/namespaces").headers)
    for name, header in document["components"]["headers"].items():
        if header["schema"]["type"] == "integer" and name in answer.headers:
            assert answer.headers[name].isdigit()
