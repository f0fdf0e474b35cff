CREATE FUNCTION nova_conflict_claims() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.newcomer_claim := coalesce(NEW.newcomer_claim, CASE WHEN NEW.kind = 'claim' THEN NEW.newcomer_id END);
    NEW.existing_claim := coalesce(NEW.existing_claim,
        CASE WHEN length(NEW.key_digest) > 0 THEN NEW.existing_id END);
    RETURN NEW;
END $$;
CREATE TRIGGER conflict_claims BEFORE INSERT ON conflicts_pendingconflict
    FOR EACH ROW EXECUTE FUNCTION nova_conflict_claims();
