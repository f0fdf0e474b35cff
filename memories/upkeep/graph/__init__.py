"""What joins memories: similar links, clusters, episodes, and the graph of what they speak of."""

from memories.upkeep.graph.cluster_labels import LabelledCluster, cluster_answers, clusters, set_label
from memories.upkeep.graph.derived_columns import route_said, write_routing
from memories.upkeep.graph.episode_list import (
    MOST_READ,
    EpisodeQuery,
    create_episode,
    episode,
    episodes,
    members,
    summary_of,
    title_of,
)
from memories.upkeep.graph.queries import DEEPEST, Graph, GraphGround, entities, explore
from memories.upkeep.graph.rebuild import (
    drop_unmentioned,
    drop_unspoken,
    rebuild_clusters,
    rebuild_episodes,
    rebuild_graph,
    relink,
)
from memories.upkeep.graph.refresh import refresh_graph

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
    "refresh_graph",
    "set_label",
    "members",
    "create_episode",
    "rebuild_clusters",
    "rebuild_episodes",
    "relink",
    "rebuild_graph",
    "summary_of",
    "cluster_answers",
    "title_of",
    "route_said",
    "write_routing",
]
