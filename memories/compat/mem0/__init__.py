"""/compat/mem0/: mem0's REST shapes, for its MemoryClient(host=…).

A user is the request's (docs/spec.md §2.2), a run a conversation, an app a workflow; an agent is the fragment's agent.
Everything lies in one namespace and its users' scopes: the header's, the key's only one, or `mem0` of the project.
"""
