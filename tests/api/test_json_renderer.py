"""Answers as JSON: what the faster library can't write, the framework does, and both word it alike."""

import datetime
import decimal
import json
import uuid

import pytest
from django.utils.translation import gettext_lazy
from rest_framework.renderers import JSONRenderer

from memories.models.enums import Status
from memories.rest.json_renderer import FastJSONRenderer

BODY = {
    "id": uuid.UUID(int=7),
    "status": Status.ACTIVE,
    Status.ACTIVE: gettext_lazy("yes"),
    "at": datetime.datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=datetime.UTC),
    "day": datetime.date(2026, 1, 2),
    "share": decimal.Decimal("0.10"),
    "took": datetime.timedelta(seconds=1.5),
    "text": 'Grüße, 🦢 </script> \\ "',
    "rows": ({"a": 1}, [], None, 1.5, True, 1e-7, -0.0),
}


def test_both_word_it_alike():
    assert json.loads(FastJSONRenderer().render(BODY)) == json.loads(JSONRenderer().render(BODY))


@pytest.mark.parametrize("data", [None, {"most": 2**70}])
def test_what_it_can_not_write_the_framework_does(data):
    assert FastJSONRenderer().render(data) == JSONRenderer().render(data)


def test_whoever_asks_for_indented_json_gets_it():
    assert FastJSONRenderer().render({"a": 1}, "application/json; indent=2") == b'{\n  "a": 1\n}'
