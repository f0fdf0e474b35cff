-- What became of rows of a project, and its seals, before a transaction: of each row that was there at that time the first
-- event and the last stay, so that every state from then on can still be read. The app may not delete events; by this it
-- takes away old ones, and whoever injects SQL none of the last ninety days. Answers how many went.
CREATE FUNCTION nova_let_history_go(project uuid, before xid8, number integer) RETURNS bigint LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    old timestamptz := now() - interval '90 days';
    gone bigint := 0;
    here bigint;
    events regclass;
BEGIN
    PERFORM set_config('pgtrigger.ignore', (
        SELECT array_agg(tgname)::text FROM pg_trigger WHERE tgname LIKE 'pgtrigger_append_only%'), true);
    FOR events IN SELECT tgrelid FROM pg_trigger WHERE tgname LIKE 'pgtrigger_append_only%' ORDER BY tgrelid::regclass::text LOOP
        EXECUTE format('DELETE FROM %s e USING (
            SELECT pgh_id, pgh_label, row_number() OVER latest AS place, first_value(pgh_label) OVER latest AS became
            FROM %s WHERE project_id = $1 AND recorded_in < $2 AND pgh_created_at < $3
            WINDOW latest AS (PARTITION BY pgh_obj_id ORDER BY pgh_id DESC)
        ) o WHERE e.pgh_id = o.pgh_id AND (o.became = ''delete'' OR o.place > 1 AND o.pgh_label <> ''insert'')', events, events)
        USING project, before, old;
        GET DIAGNOSTICS here = ROW_COUNT;
        gone := gone + here;
    END LOOP;
    PERFORM set_config('pgtrigger.ignore', '{}', true);
    DELETE FROM memories_seal s WHERE s.project_id = project AND s.number <= nova_let_history_go.number AND s.sealed_at < old;
    RETURN gone;
END $$;
-- The same of projects that are no more, whose events nobody can read.
CREATE FUNCTION nova_let_lost_history_go(before timestamptz) RETURNS bigint LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    old timestamptz := least(before, now() - interval '90 days');
    gone bigint := 0;
    here bigint;
    events regclass;
BEGIN
    PERFORM set_config('pgtrigger.ignore', (
        SELECT array_agg(tgname)::text FROM pg_trigger WHERE tgname LIKE 'pgtrigger_append_only%'), true);
    FOR events IN SELECT tgrelid FROM pg_trigger WHERE tgname LIKE 'pgtrigger_append_only%' ORDER BY tgrelid::regclass::text LOOP
        EXECUTE format('DELETE FROM %s e WHERE pgh_created_at < $1
            AND NOT EXISTS (SELECT FROM memories_project p WHERE p.id = e.project_id)', events) USING old;
        GET DIAGNOSTICS here = ROW_COUNT;
        gone := gone + here;
    END LOOP;
    PERFORM set_config('pgtrigger.ignore', '{}', true);
    RETURN gone;
END $$;
REVOKE EXECUTE ON FUNCTION nova_let_history_go, nova_let_lost_history_go FROM PUBLIC;
GRANT EXECUTE ON FUNCTION nova_let_history_go, nova_let_lost_history_go TO nova_app;
