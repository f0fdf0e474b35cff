"""The words in which tools describe their arguments; what a value may be in detail is checked as over HTTP."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Place = Annotated[str | None, Field(description="project:agent; may be left out when the connection or key names it.")]
User = Annotated[
    str | None, Field(description="Whose memory: the person behind the agent. Left out: the connection's, or nobody's.")
]
Source = Annotated[
    Literal["user_explicit", "system", "tool_output", "user_implicit", "document", "inference"] | None,
    Field(description="Who said it. Left out: inference. Above the key's ceiling it is refused."),
]
Id = Annotated[str, Field(description="The memory's id.")]
Kind = Annotated[Literal["episodic", "semantic", "procedural"] | None, Field(description="Left out: told by the text.")]
Wide = Annotated[bool | None, Field(description="Other agents' memories answer too; needs a key that may read wide.")]
Most = Annotated[int | None, Field(description="At most this many memories.", ge=1, le=200)]
Floor = Annotated[
    Literal["auto"] | Annotated[float, Field(ge=0, le=1)] | None,
    Field(description="What the best hit has to reach, or nothing is answered: auto (the model's own); 0: no floor."),
]
Tokens = Annotated[
    int | None,
    Field(description="The answer is never longer, in tokens: the last results are left out, and counted.", ge=100),
]
Tags = Annotated[list[str] | None, Field(description="Words to filter by.")]


class Exact(BaseModel):
    """Refuses what it does not know."""

    model_config = ConfigDict(extra="forbid")


class ClaimWords(Exact):
    """A fact: subject, predicate, value."""

    subject: str
    predicate: str
    value: str
    scope: Literal["global", "session", "temporal"] | None = None
    session_id: str | None = None
    valid_from: str | None = None
    valid_until: str | None = None


class MessageWords(Exact):
    """One turn of a conversation."""

    role: Literal["user", "assistant", "tool", "system"]
    content: str
    at: str | None = None
    id: str | None = None


class EntityWords(Exact):
    """A thing of the graph with what is said of it."""

    name: str
    entityType: str
    observations: list[str] = Field(default_factory=list)


class RelationWords(Exact):
    """A directed relation, named in active voice."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    source: str = Field(alias="from")
    to: str
    relationType: str


class Additions(Exact):
    """What is to be added to an entity."""

    entityName: str
    contents: list[str]


class Deletions(Exact):
    """What is no longer to be said of an entity."""

    entityName: str
    observations: list[str]
