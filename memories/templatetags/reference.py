"""How the API reference shows what docstrings say."""

import re

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

register = template.Library()


@register.filter
def coded(text: str) -> SafeString:
    """Escaped, what stands in backticks as code."""
    return mark_safe(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))
