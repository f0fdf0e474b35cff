ALTER TABLE memories_claim DISABLE TRIGGER USER;
DELETE FROM memories_claim WHERE position > 0;
ALTER TABLE memories_claim ENABLE TRIGGER USER;
ALTER TABLE memories_claim DROP CONSTRAINT claim_named, DROP CONSTRAINT claim_position,
    DROP CONSTRAINT claim_project_id, DROP CONSTRAINT memories_claim_pkey, DROP COLUMN id, DROP COLUMN position,
    DROP COLUMN verdict, DROP COLUMN superseded_by_id, DROP COLUMN span_start, DROP COLUMN span_end,
    ADD PRIMARY KEY (fragment_id), ADD CONSTRAINT claim_project_id UNIQUE (project_id, fragment_id);
DROP FUNCTION nova_claim_status, nova_claim_id;
