"""What joins memories: similar links, clusters, episodes, and the graph of what they speak of."""

from memories.upkeep.connections.episodes import (
    MOST_READ,
    Asked,
    episode,
    episodes,
    members,
    put_together,
    summary_of,
    title_of,
)
from memories.upkeep.connections.exploring import DEEPEST, Graph, Ground, entities, explore
from memories.upkeep.connections.keeping import keep_connections
from memories.upkeep.connections.labelling import Told, clusters, label, tell
from memories.upkeep.connections.renewing import (
    drop_unmentioned,
    drop_unspoken,
    recluster,
    regather,
    relink,
    reproject,
)

__all__ = [
    "DEEPEST",
    "MOST_READ",
    "Asked",
    "Graph",
    "Ground",
    "Told",
    "clusters",
    "drop_unmentioned",
    "drop_unspoken",
    "entities",
    "episode",
    "episodes",
    "explore",
    "keep_connections",
    "label",
    "members",
    "put_together",
    "recluster",
    "regather",
    "relink",
    "reproject",
    "summary_of",
    "tell",
    "title_of",
]
