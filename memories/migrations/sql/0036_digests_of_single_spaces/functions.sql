-- The same digests as before. Texts without signs beyond ASCII are mostly spaced by single spaces: to see that takes a tenth
-- of replacing them.
CREATE OR REPLACE FUNCTION nova_keyed(salt bytea, content text) RETURNS bytea LANGUAGE sql STABLE
    RETURN sha256(salt || convert_to(lower(CASE
        WHEN octet_length(content) > length(content) THEN regexp_replace(normalize(btrim(content), NFKC), '\s+', ' ', 'g')
        WHEN btrim(content) ~ '[^\S ]|  ' THEN regexp_replace(btrim(content), '\s+', ' ', 'g')
        ELSE btrim(content) END), 'UTF8') || salt);
