-- Cascades look children up by fragment; the search tables' keys begin with the namespace.
CREATE INDEX ON memories_embedding (fragment_id);
CREATE INDEX ON memories_keywords (fragment_id);
CREATE INDEX memories_link_other ON memories_link (project_id, other_id);
CREATE INDEX memories_episodemember_fragment ON memories_episodemember (project_id, fragment_id);
CREATE INDEX memories_proposal_fragment ON memories_proposal (project_id, fragment_id);
CREATE INDEX memories_task_fragment ON memories_task (project_id, fragment_id);
CREATE INDEX memories_planstep_fragment ON memories_planstep (project_id, fragment_id);
CREATE INDEX memories_planstep_other ON memories_planstep (project_id, other_id);
CREATE INDEX memories_runchange_fragment ON memories_runchange (project_id, fragment_id);
CREATE INDEX memories_heardpair_other ON memories_heardpair (project_id, other_id);
