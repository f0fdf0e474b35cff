-- The keywords of texts that are read otherwise now; what they are marked with stays.
UPDATE memories_keywords k
SET words = w.words || array_to_tsvector(ARRAY(SELECT l FROM unnest(tsvector_to_array(k.words)) AS l WHERE starts_with(l, E'\x01'))),
    length = (SELECT coalesce(sum(cardinality(x.positions)), 0) FROM unnest(w.words) AS x)
FROM memories_fragment f
CROSS JOIN LATERAL (SELECT nova_spaced(f.content) AS content OFFSET 0) AS s
JOIN memories_namespace r ON true
CROSS JOIN LATERAL (SELECT to_tsvector(r.language::regconfig, s.content) AS words OFFSET 0) AS w
WHERE f.project_id = k.project_id AND f.id = k.fragment_id AND r.project_id = k.project_id AND r.id = k.root_id
    AND octet_length(f.content) > length(f.content) AND s.content <> f.content;
