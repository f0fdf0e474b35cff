-- Under which namespace search keeps a scope: itself, or its parent.
CREATE FUNCTION nova_root(scope uuid) RETURNS uuid LANGUAGE sql STABLE
    RETURN (SELECT coalesce(n.parent_id, n.id) FROM memories_namespace n WHERE n.id = scope);

-- Whose memories a scope holds never changes, nor is there a scope below a scope.
CREATE FUNCTION nova_scope_fixed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND (NEW.id, NEW.project_id) IS DISTINCT FROM (OLD.id, OLD.project_id)
        OR TG_OP = 'UPDATE' AND (NEW.parent_id IS DISTINCT FROM OLD.parent_id OR NEW."user" IS DISTINCT FROM OLD."user")
        OR NEW.parent_id IS NOT NULL AND EXISTS (
            SELECT FROM memories_namespace p WHERE p.id = NEW.parent_id AND p.parent_id IS NOT NULL)
    THEN
        RAISE EXCEPTION 'whose memories a scope holds never changes' USING ERRCODE = 'NV001';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER scope_fixed BEFORE INSERT OR UPDATE ON memories_namespace
    FOR EACH ROW EXECUTE FUNCTION nova_scope_fixed();
