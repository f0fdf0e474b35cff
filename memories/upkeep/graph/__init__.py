"""What joins memories: similar links, clusters, episodes, and the graph of what they speak of."""

from memories.upkeep.graph.cluster_labels import Told, clusters, label, tell
from memories.upkeep.graph.episodes import (
    MOST_READ,
    Asked,
    episode,
    episodes,
    members,
    put_together,
    summary_of,
    title_of,
)
from memories.upkeep.graph.queries import DEEPEST, Graph, Ground, entities, explore
from memories.upkeep.graph.rebuild import (
    drop_unmentioned,
    drop_unspoken,
    recluster,
    regather,
    relink,
    reproject,
)
from memories.upkeep.graph.refresh import keep_connections

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
