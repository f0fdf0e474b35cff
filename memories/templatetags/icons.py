"""Icons: the library's tags, each drawn once; it draws an icon anew wherever it stands, a fifth of a page's time."""

from functools import lru_cache

from django import template
from heroicons.templatetags.heroicons import heroicon_micro, heroicon_outline

register = template.Library()
for tag in (heroicon_micro, heroicon_outline):
    register.simple_tag(lru_cache(maxsize=512)(tag))
