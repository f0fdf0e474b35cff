"""Every tool, with what it needs and does; what can be read by an address; and what may open a conversation."""

from memories.mcp import graph, prompts, tools
from memories.mcp.server import ServedPrompt, ServedResource, Tool
from memories.models.enums import Verb

TOOLS = (
    Tool(tools.retain, "Remember a fact", Verb.WRITE),
    Tool(tools.retain_conversation, "Remember a conversation", Verb.WRITE),
    Tool(tools.recall, "Find memories"),
    Tool(tools.context, "Context for a prompt"),
    Tool(tools.read_memory, "Read a memory"),
    Tool(tools.list_memories, "List memories"),
    Tool(tools.update_memory, "Change a memory", Verb.WRITE, destructive=True),
    Tool(tools.memory_history, "History of a memory"),
    Tool(tools.forget, "Forget for good", Verb.WRITE, destructive=True),
    Tool(tools.archive, "Archive a memory", Verb.WRITE, destructive=True),
    Tool(tools.unarchive, "Take a memory out of the archive", Verb.WRITE),
    Tool(tools.reinforce, "It helped", Verb.WRITE),
    Tool(tools.dispute, "It is wrong", Verb.WRITE),
    Tool(tools.corroborate, "Another source says so too", Verb.WRITE, idempotent=True),
    Tool(tools.list_conflicts, "Conflicts waiting for a person"),
    Tool(tools.list_claims, "What is believed"),
    Tool(tools.claim_timeline, "What was believed, and when"),
    Tool(tools.list_namespaces, "Namespaces"),
    # What connectors of chat programs ask for, by these names.
    Tool(tools.search_documents, "Search", name="search"),
    Tool(tools.fetch_document, "Fetch", name="fetch"),
    # Those of the reference memory server.
    Tool(graph.create_entities, "Create entities", Verb.WRITE, idempotent=True),
    Tool(graph.create_relations, "Create relations", Verb.WRITE, idempotent=True),
    Tool(graph.add_observations, "Add observations", Verb.WRITE, idempotent=True),
    Tool(graph.delete_entities, "Delete entities", Verb.WRITE, destructive=True, idempotent=True),
    Tool(graph.delete_observations, "Delete observations", Verb.WRITE, destructive=True, idempotent=True),
    Tool(graph.delete_relations, "Delete relations", Verb.WRITE, destructive=True, idempotent=True),
    Tool(graph.read_graph, "Read the graph"),
    Tool(graph.search_nodes, "Search nodes"),
    Tool(graph.open_nodes, "Open nodes"),
)

RESOURCES = (
    ServedResource("novamem://namespaces{?user}", tools.list_namespaces, "Namespaces"),
    ServedResource("novamem://memories{?namespace,user,cursor}", tools.list_memories, "The newest memories"),
    ServedResource("novamem://memories/{id}{?user}", tools.read_memory, "A memory"),
    ServedResource("novamem://memories/{id}/history{?user}", tools.memory_history, "History of a memory"),
    ServedResource("novamem://claims{?namespace,user}", tools.list_claims, "What is believed"),
    ServedResource("novamem://claims/{subject}{?namespace,user}", tools.list_claims, "What is believed of a subject"),
    ServedResource(
        "novamem://claims/{subject}/{predicate}{?namespace,user}", tools.claim_timeline, "What was believed, and when"
    ),
    ServedResource("novamem://conflicts{?namespace,user}", tools.list_conflicts, "Conflicts waiting for a person"),
)

PROMPTS = (
    ServedPrompt(prompts.answer_from_memory, "Answer from memory"),
    ServedPrompt(prompts.remember_conversation, "Remember this conversation"),
    ServedPrompt(prompts.tell_what_is_known, "Tell what is known"),
    ServedPrompt(prompts.explain_conflicts, "Explain what waits for a person"),
)
