DROP TRIGGER mention_last ON memories_mention;
DROP TRIGGER fragment_connect_left ON memories_fragment;
DROP TRIGGER claim_connect_anew ON memories_claim;
DROP TRIGGER claim_connect_new ON memories_claim;
DROP TRIGGER fragment_connect_anew ON memories_fragment;
DROP TRIGGER embedding_connect ON memories_embedding;
DROP TRIGGER fragment_connect_new ON memories_fragment;
DROP FUNCTION nova_unmentioned, nova_connect_left, nova_connect_claim, nova_connect_anew, nova_connect_embedded,
    nova_connect_new;
