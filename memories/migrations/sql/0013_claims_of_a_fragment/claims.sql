-- The first claim bears its fragment's id, so that what names it from before goes on naming it.
CREATE FUNCTION nova_claim_id(fragment uuid, place integer) RETURNS uuid LANGUAGE sql IMMUTABLE
    RETURN CASE WHEN place = 0 THEN fragment ELSE md5(fragment::text || place::text)::uuid END;
-- The fragment's or the claim's own, whichever stands less.
CREATE FUNCTION nova_claim_status(fragment text, verdict text) RETURNS text LANGUAGE sql IMMUTABLE
    RETURN CASE WHEN verdict <> '' AND array_position('{active,disputed,quarantined,superseded,archived}', verdict)
        > array_position('{active,disputed,quarantined,superseded,archived}', fragment) THEN verdict ELSE fragment END;

ALTER TABLE memories_claim DISABLE TRIGGER USER;
ALTER TABLE memories_claim
    ADD COLUMN id uuid,
    ADD COLUMN position smallint NOT NULL DEFAULT 0 CHECK (position >= 0),
    ADD COLUMN verdict varchar(16) NOT NULL DEFAULT '',
    ADD COLUMN superseded_by_id uuid,
    ADD COLUMN span_start integer CHECK (span_start >= 0),
    ADD COLUMN span_end integer CHECK (span_end >= 0);
UPDATE memories_claim SET id = fragment_id;
ALTER TABLE memories_claim ENABLE TRIGGER USER;
ALTER TABLE memories_claim
    ALTER COLUMN id SET NOT NULL, ALTER COLUMN position DROP DEFAULT, ALTER COLUMN verdict DROP DEFAULT,
    DROP CONSTRAINT claim_project_id, DROP CONSTRAINT memories_claim_pkey, ADD PRIMARY KEY (id),
    ADD CONSTRAINT claim_project_id UNIQUE (project_id, id),
    ADD CONSTRAINT claim_position UNIQUE (project_id, fragment_id, position),
    ADD CONSTRAINT claim_among_others CHECK (position >= 0 AND position <= 19),
    ADD CONSTRAINT claim_named CHECK (id = nova_claim_id(fragment_id, position)),
    ADD CONSTRAINT claim_verdict CHECK (verdict IN ('', 'quarantined', 'superseded', 'archived')),
    ADD CONSTRAINT claim_span CHECK (span_start IS NULL AND span_end IS NULL OR span_start < span_end);
CREATE INDEX claim_by_successor ON memories_claim (project_id, superseded_by_id) WHERE superseded_by_id IS NOT NULL;
