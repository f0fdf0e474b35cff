    WHEN 'webhooks' THEN
        RETURN QUERY SELECT DISTINCT w.project_id FROM memories_webhook w WHERE w.enabled AND w.not_before <= at AND (
            'recall_notice' = ANY (w.kinds) AND EXISTS (
                SELECT FROM memories_recallnotice e WHERE e.project_id = w.project_id AND e.recorded_in >= w.upto)
            OR 'consolidate' = ANY (w.kinds) AND EXISTS (
                SELECT FROM memories_operationevent e WHERE e.project_id = w.project_id AND e.recorded_in >= w.upto)
            OR w.kinds && '{conflict_pending,conflict_resolved}' AND EXISTS (
                SELECT FROM conflicts_pendingconflictevent e
                WHERE e.project_id = w.project_id AND e.recorded_in >= w.upto)
            OR w.kinds && '{supersede,dispute,corroborate,erase}' AND (
                EXISTS (
                    SELECT FROM memories_fragmentevent e
                    WHERE e.project_id = w.project_id AND e.recorded_in >= w.upto)
                OR EXISTS (
                    SELECT FROM memories_tombstoneevent e
                    WHERE e.project_id = w.project_id AND e.recorded_in >= w.upto)));
