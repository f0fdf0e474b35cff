"""Icons are the library's, drawn once."""

from unittest import mock

import heroicons
import pytest
from django.template import Context, Template
from heroicons.templatetags.heroicons import heroicon_micro

LINES = '{% load icons %}{% for name in names %}{% heroicon_micro name class="good" %}{% endfor %}'


def test_an_icon_is_as_the_library_draws_it():
    drawn = Template(LINES).render(Context({"names": ["check", "folder", "check"]}))
    check, folder = (heroicon_micro(name, **{"class": "good"}) for name in ("check", "folder"))
    assert drawn == check + folder + check
    assert 'class="good"' in check


def test_what_was_drawn_is_not_drawn_again():
    names = {"names": ["check", "folder"]}
    Template(LINES).render(Context(names))
    with mock.patch.object(heroicons, "_render_icon") as draw:
        assert "<svg" in Template(LINES).render(Context(names))
    draw.assert_not_called()


def test_an_icon_that_does_not_exist_says_so():
    with pytest.raises(heroicons.IconDoesNotExist, match="'heron'"):
        Template(LINES).render(Context({"names": ["heron"]}))
