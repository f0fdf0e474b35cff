    WHEN 'webhooks' THEN
        RETURN QUERY SELECT DISTINCT w.project_id FROM memories_webhook w WHERE w.enabled AND w.not_before <= at AND (
            'recall_notice' = ANY (w.kinds) AND EXISTS (
                SELECT FROM memories_recallnotice h WHERE h.project_id = w.project_id AND h.recorded_in >= w.upto)
            OR 'consolidate' = ANY (w.kinds) AND EXISTS (
                SELECT FROM memories_operationevent h WHERE h.project_id = w.project_id AND h.recorded_in >= w.upto)
            OR w.kinds && '{conflict_pending,conflict_resolved}' AND EXISTS (
                SELECT FROM conflicts_pendingconflictevent h
                WHERE h.project_id = w.project_id AND h.recorded_in >= w.upto)
            OR w.kinds && '{supersede,dispute,corroborate,erase}' AND (
                EXISTS (
                    SELECT FROM memories_fragmentevent h
                    WHERE h.project_id = w.project_id AND h.recorded_in >= w.upto)
                OR EXISTS (
                    SELECT FROM memories_tombstoneevent h
                    WHERE h.project_id = w.project_id AND h.recorded_in >= w.upto)));
