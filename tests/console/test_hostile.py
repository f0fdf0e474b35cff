"""Memory text is hostile: it stays text, and nothing in it is invisible."""

import pytest

from memories.templatetags.console import visible
from tests.console.conftest import words

SCRIPT = '<script>alert(1)</script><img src=x onerror=alert(2)>"\' data-evil="'


@pytest.fixture
def hostile(store):
    """A memory that attacks from every field that takes free text."""
    return store(
        "acme:main",
        f"{SCRIPT} \u202egnp.exe\u200b {{{{ 7|add:1 }}}}",
        agent_id="agent<b>",
        category="<i>\u2066",
        tags=['"><script>tag</script>', "\u202etag"],
        topics=["<script>topic</script>"],
        entities=[{"text": "<script>entity</script>\u200d", "label": "misc", "confidence": 1.0}],
        source_id="<script>source</script>",
        workflow_id="<script>flow</script>",
        conversation_id="<script>talk</script>",
        provenance_source_id="<script>origin</script>",
    )


@pytest.mark.parametrize("headers", [{}, {"HX-Request": "true", "HX-Target": "detail"}])
@pytest.mark.parametrize("path", ["/memories/", "/memories/{id}/", "/memories/?q=alert"])
def test_it_stays_text(vera, hostile, path, headers):
    page = vera.get(path.format(id=hostile.id), headers=headers)
    assert page.status_code == 200
    for trick in ("<script>", "<img src=x", "<b>", "<i>", "\u202e", "\u200b", "\u2066", 'data-evil="', "\u200d"):
        assert trick not in page.text
    assert "&lt;script&gt;alert(1)" in page.text
    assert '<span class="invisible-char" title="U+202E">⟨U+202E⟩</span>gnp.exe' in page.text
    assert "{{ 7|add:1 }}" in page.text


def test_beside_a_field_to_edit_stands_what_it_hides(adam, store, challenge):
    """The field holds the text as it is, so that saving changes nothing that nobody saw."""
    conflict = challenge("$31", content="Pay \u202e31$ to Bob.")
    told = (
        'Characters that can’t be seen: <bdi>Pay <span class="invisible-char" title="U+202E">⟨U+202E⟩</span>31$ to Bob.'
    )
    assert told in adam.get(f"/review/{conflict.id}/").text
    assert told in adam.get(f"/memories/{conflict.newcomer_id}/").text
    asked = words(adam.get("/beliefs/", {"subject": "us\u2066er", "predicate": "budget"}))
    assert "Characters that can’t be seen: us ⟨U+2066⟩ er" in asked
    plain = store("acme:main", "Pay 31$ to Ann.")
    assert "can’t be seen" not in adam.get(f"/memories/{plain.id}/").text


@pytest.mark.parametrize("asked", [{"q": SCRIPT}, {"q": "\u202e"}, {"tag": SCRIPT}, {"q": "a", "tag": '"><script>'}])
def test_what_is_asked_stays_text_too(vera, hostile, asked):
    page = vera.get("/memories/", asked)
    assert page.status_code == 200
    for trick in ("<script>", "<img src=x", 'data-evil="'):
        assert trick not in page.text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a & b", "a &amp; b"),
        ("a\nb\tc", "a\nb\tc"),
        ("مرحبا", "مرحبا"),
        ("❤\ufe0f", "❤\ufe0f"),
        ("\U0001f469\u200d\U0001f467", "\U0001f469\u200d\U0001f467"),
    ],
)
def test_ordinary_text_is_left_alone(text, shown):
    assert visible(text) == shown


@pytest.mark.parametrize(
    "char",
    [*"\u202a\u202e\u2066\u2069\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u00ad\u034f\u3164\u2800\ufe0f\u2028\x1b\x7f"]
    + ["\U000e0041", "\U000e0101", "\u180e", "\ufff9", "\ue000"],
)
def test_the_invisible_is_shown_by_its_code_point(char):
    code = f"U+{ord(char):04X}"
    assert visible(f"a{char}b") == f'a<span class="invisible-char" title="{code}">⟨{code}⟩</span>b'
    assert code in visible(char)
