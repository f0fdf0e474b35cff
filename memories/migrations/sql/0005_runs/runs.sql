-- What of a row a digest is made of: the columns of `part`, or, of a row that was made, all that have no life of their own.
CREATE FUNCTION nova_part_digest(whole jsonb, part jsonb) RETURNS text LANGUAGE sql IMMUTABLE
    RETURN encode(sha256(convert_to((CASE WHEN part IS NULL THEN whole - '{change,last_seen_at}'::text[]
        ELSE (SELECT jsonb_object_agg(key, whole -> key) FROM jsonb_object_keys(part) AS key) END)::text, 'UTF8')), 'hex');

-- While `nova.run` names an operation, the former values of every row that changes are kept, those of its first change.
-- Arguments: the columns (the first that is not null counts) that identify the row, and its fragment.
CREATE FUNCTION nova_keep_before() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    past jsonb := CASE TG_OP WHEN 'INSERT' THEN NULL ELSE to_jsonb(OLD) - '{change,fingerprint,details_digest,validity}'::text[] END;
    present jsonb := CASE TG_OP WHEN 'DELETE' THEN past ELSE to_jsonb(NEW) END;
    former jsonb;
    about uuid := (SELECT present ->> name FROM unnest(string_to_array(TG_ARGV[1], ',')) WITH ORDINALITY AS t (name, place)
        WHERE present ->> name IS NOT NULL ORDER BY place LIMIT 1);
BEGIN
    -- Similar links follow by themselves.
    IF about IS NULL OR TG_TABLE_NAME = 'memories_link' AND present ->> 'kind' = 'similar' THEN
        RETURN NULL;
    END IF;
    IF TG_OP = 'DELETE' THEN
        former := past;
    ELSIF TG_OP = 'UPDATE' THEN
        SELECT jsonb_object_agg(o.key, o.value) INTO former FROM jsonb_each(past) o
            WHERE o.value IS DISTINCT FROM present -> o.key;
        IF former IS NULL THEN
            RETURN NULL;
        END IF;
    END IF;
    INSERT INTO memories_runchange AS c (id, project_id, operation_id, fragment_id, place, row_id, before, after)
    VALUES (gen_random_uuid(), (present ->> 'project_id')::uuid, current_setting('nova.run')::uuid, about,
        TG_TABLE_NAME, (present ->> TG_ARGV[0])::uuid, former, '')
    ON CONFLICT (project_id, operation_id, place, row_id) DO UPDATE SET before =
        CASE WHEN c.before IS NOT NULL THEN coalesce(excluded.before, '{}') || c.before END;
    RETURN NULL;
END $$;
