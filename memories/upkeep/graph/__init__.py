"""What joins memories: similar links, clusters, episodes, and the graph of what they speak of."""

from memories.upkeep.graph.cluster_labels import LabelledCluster, clusters, label, tell
from memories.upkeep.graph.episode_list import (
    MOST_READ,
    EpisodeQuery,
    episode,
    episodes,
    members,
    put_together,
    summary_of,
    title_of,
)
from memories.upkeep.graph.queries import DEEPEST, Graph, GraphGround, entities, explore
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
    "EpisodeQuery",
    "Graph",
    "GraphGround",
    "LabelledCluster",
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
