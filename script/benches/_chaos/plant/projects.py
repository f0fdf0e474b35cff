"""Makes so many projects in the product's database, each with a key that may do everything; a line each."""

import sys
import uuid

import django

django.setup()

# Django has to be set up before its models can be imported.
from memories.access import keys

for _ in range(int(sys.argv[1])):
    name = f"spare{uuid.uuid4().hex[:12]}"
    wish = keys.KeyRequest([f"{name}:*"], ["read", "write", "admin"], "tool_output", requests_per_minute=0)
    print(name, keys.issue(keys.ensure_project(name), wish, owner=None).text)
