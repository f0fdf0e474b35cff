-- Beside the policy by project: of users' scopes a transaction sees those that it names in `nova.users` (`*`: all). What
-- joins its namespace is guarded by it, without a look-up for each row (docs/decisions/0081).
CREATE FUNCTION nova_sees_user(wanted text) RETURNS boolean LANGUAGE sql STABLE
    RETURN CASE current_setting('nova.users', true) WHEN '*' THEN true
        ELSE wanted = ANY (NULLIF(current_setting('nova.users', true), '')::text[]) END;
CREATE POLICY by_user ON memories_namespace AS RESTRICTIVE
    USING (parent_id IS NULL OR nova_sees_user("user"));
