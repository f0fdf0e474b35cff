-- What two texts have in common that say the same: not case, width, spaces, punctuation, nor letters that only look
-- like others. Signs that change what is said stay: of money, of numbers, of addresses. The order of words stays.
CREATE FUNCTION nova_folded(content text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT btrim(regexp_replace(regexp_replace(regexp_replace(
        translate(lower(normalize(content, NFKC)), '{lookalikes}', '{letters}'),
        '[\u00ad\u0300\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff''`´‘’]', '', 'g'),
        '(^|\s)[-−‐‑](?=[0-9$€£])', '\1¬', 'g'),
        '[\s!"()*,.:;?\[\\\]^_{{|}}~/¡¿«»§¶·\u2010-\u2027\u2030-\u205e\u2e00-\u2e7f\u3001-\u303f-]+', ' ', 'g'))
$$;
-- Erasures of before hold the first alone; of a text that is punctuation only there is no other.
CREATE FUNCTION nova_fingerprints(project uuid, content text) RETURNS bytea[] LANGUAGE sql STABLE AS $$
    SELECT CASE nova_folded(content) WHEN '' THEN ARRAY[nova_keyed(p.salt, content)]
        ELSE ARRAY[nova_keyed(p.salt, content), nova_keyed(p.salt, nova_folded(content))] END
    FROM memories_project p WHERE p.id = project
$$;
-- Of what is forgotten from now on: the last of them, by which it is known in every guise.
CREATE FUNCTION nova_erasure_print(project uuid, content text) RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT f.prints[cardinality(f.prints)] FROM (SELECT nova_fingerprints(project, content) AS prints) AS f
$$;
