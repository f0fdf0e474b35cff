-- Fills in the fingerprints of what rulings of these namespaces (null: of all) ruled out and have none of yet, by the
-- texts as they stand now.
CREATE FUNCTION nova_print_ruled_out(of_project uuid, places uuid[]) RETURNS void LANGUAGE sql AS $$
    UPDATE conflicts_ruling r SET ruled_out_prints = ARRAY(
        SELECT DISTINCT encode(nova_erasure_print(f.project_id, f.content), 'hex') AS print FROM memories_fragment f
        WHERE f.project_id = r.project_id AND f.id = ANY (r.ruled_out_fragments) ORDER BY print)
    WHERE r.project_id = of_project AND (places IS NULL OR r.namespace_id = ANY (places))
        AND r.ruled_out_prints = '{}' AND cardinality(r.ruled_out_fragments) > 0;
$$;
