"""LangGraph's tests of a store that can't hold for one that is a server, and why, by package and module."""

THEIR_EMBEDDING = "asks for the scores or the order of the test's own embedding of letters; here the server embeds"
SCORES_RANK = "a score ranks within one answer; it is not comparable with that of another one"
THEIR_INSIDE = "asks of the inside of the store that it is written for"
THEIR_CLOCK = "sets the time of its own database back; here what is over is never shown, and `sweep_ttl` archives it"
NO_STORE = "asks nothing of a store"
POSTGRES_TTL = {
    "test_store_ttl": THEIR_CLOCK,
    "test_omit_expired_filters_read_paths": THEIR_CLOCK,
    "test_omit_expired_disabled_preserves_expired_rows": THEIR_CLOCK,
    "test_omit_expired_refresh_ttl_only_refreshes_live_rows": THEIR_CLOCK,
    "test_omit_expired_search_pagination": THEIR_CLOCK,
}
LEFT_OUT: dict[tuple[str, str], dict[str, str]] = {
    ("langgraph-checkpoint", "test_store"): {
        "test_async_batch_store_resilience": NO_STORE,
        "test_dedupe_ops_maps_repeated_reads_and_puts_to_one_op": NO_STORE,
        "test_get_text_at_path": NO_STORE,
        "test_get_text_at_path_with_non_dict_mapping": NO_STORE,
        "test_async_batch_store": NO_STORE,
        "test_async_batch_store_handles_cancellation": NO_STORE,
        "test_validate_op_namespace_rejects_invalid_labels": NO_STORE,
        "test_validate_op_namespace_allows_empty_prefix_and_wildcards": NO_STORE,
        "test_vector_store_initialization": THEIR_INSIDE,
        "test_embed_with_path": THEIR_EMBEDDING,
        "test_vector_update_with_embedding": SCORES_RANK,
        "test_async_vector_update_with_embedding": SCORES_RANK,
    },
    ("langgraph-checkpoint-postgres", "test_store"): {
        "test_escape_like_literal": THEIR_INSIDE,
        "test_namespace_match_pattern": THEIR_INSIDE,
        "test_nonnull_migrations": THEIR_INSIDE,
        "test_vector_store_initialization": THEIR_INSIDE,
        "test_embed_with_path_sync": THEIR_EMBEDDING,
        "test_embed_with_path_operation_config": THEIR_EMBEDDING,
        "test_scores": THEIR_EMBEDDING,
        "test_vector_update_with_embedding": SCORES_RANK,
        **POSTGRES_TTL,
    },
    ("langgraph-checkpoint-postgres", "test_async_store"): {
        "test_no_running_loop": THEIR_INSIDE,
        "test_large_batches_async": "60,000 calls, one after the other over HTTP",
        "test_abatch_uses_single_pool_checkout": THEIR_INSIDE,
        "test_vector_store_initialization": THEIR_INSIDE,
        "test_embed_with_path": THEIR_EMBEDDING,
        "test_vector_update_with_embedding": SCORES_RANK,
        "test_vector_search_edge_cases": SCORES_RANK,
        **POSTGRES_TTL,
    },
}
