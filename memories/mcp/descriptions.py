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


Session = Annotated[str | None, Field(description="The session that it holds in, or that asks.")]
_subject = Field(description="Whom or what it is about; any spelling.")
_predicate = Field(description="What is said of the subject, such as `works_at`; any spelling.")
Subject = Annotated[str, _subject]
AnySubject = Annotated[str | None, _subject]
Predicate = Annotated[str, _predicate]
AnyPredicate = Annotated[str | None, _predicate]
Name = Annotated[str, Field(description="The entity's name; any spelling.")]
Observations = Annotated[list[str], Field(description="What is said of it, each in plain words.")]


class Exact(BaseModel):
    """Refuses what it does not know."""

    model_config = ConfigDict(extra="forbid")


class ClaimWords(Exact):
    """A fact: subject, predicate, value."""

    subject: Subject
    predicate: Predicate
    value: Annotated[str, Field(description="What it says.")]
    scope: Annotated[
        Literal["global", "session", "temporal"] | None,
        Field(description="Whether it holds always, in one session, or in a period."),
    ] = None
    session_id: Session = None
    valid_from: Annotated[str | None, Field(description="From when on it holds; left out: always.")] = None
    valid_until: Annotated[str | None, Field(description="Until when it holds; left out: for ever.")] = None


class MessageWords(Exact):
    """One turn of a conversation."""

    role: Annotated[Literal["user", "assistant", "tool", "system"], Field(description="Who speaks.")]
    content: Annotated[str, Field(description="What was said.")]
    at: Annotated[str | None, Field(description="When it was said: ISO 8601 with an offset.")] = None
    id: Annotated[str | None, Field(description="The turn's own id.")] = None


class EntityWords(Exact):
    """A thing of the graph with what is said of it."""

    name: Name
    entityType: Annotated[str, Field(description="What kind of thing it is.")]
    observations: Observations = Field(default_factory=list)


class RelationWords(Exact):
    """A directed relation, named in active voice."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    source: str = Field(alias="from", description="The entity that the relation begins at.")
    to: Annotated[str, Field(description="The entity that it leads to.")]
    relationType: Annotated[str, Field(description="What relates them, in active voice.")]


class Additions(Exact):
    """What is to be added to an entity."""

    entityName: Name
    contents: Observations


class Deletions(Exact):
    """What is no longer to be said of an entity."""

    entityName: Name
    observations: Observations
