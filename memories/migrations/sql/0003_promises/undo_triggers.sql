DROP TRIGGER llmcall_fixed ON memories_llmcall;
DROP TRIGGER seal_fixed ON memories_seal;
DROP TRIGGER grant_fixed ON memories_grant;
DROP TRIGGER claim_reach_gone ON memories_claim;
DROP TRIGGER claim_reach ON memories_claim;
DROP TRIGGER claim_reach_new ON memories_claim;
DROP TRIGGER revision_newest ON memories_revision;
DROP TRIGGER claim_before ON memories_claim;
DROP TRIGGER fragment_marks ON memories_fragment;
DROP TRIGGER fragment_status ON memories_fragment;
DROP TRIGGER fragment_before ON memories_fragment;
DROP FUNCTION nova_never_changes, nova_claim_reach, nova_revision_newest, nova_claim_before, nova_fragment_marks, nova_fragment_status, nova_fragment_before, nova_details_digest,
    nova_fingerprint, nova_keyed;
