"""What property tests stand on.

Each example is undone by a savepoint, so that all of a test share one transaction and none meets another's rows.
"""

from contextlib import contextmanager

from django.db import transaction
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

examples = settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
contents = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=200).filter(str.strip)
agents = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}", fullmatch=True).filter(lambda name: name.lower() != "shared")
names = agents.map(str.lower)
kinds = st.sampled_from(["episodic", "semantic", "procedural"])


@contextmanager
def undone():
    """Everything inside leaves no trace."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def post(agent, path, body, status):
    answer = agent.client.post(f"/api/v1/{path}", body, format="json")
    assert answer.status_code == status, answer.content
    return answer.json()
