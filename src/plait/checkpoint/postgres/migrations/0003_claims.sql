-- plait_transact, mended: a claim was done before only if the thread's owner is this very claim.
-- That its writes are stored says nothing: two runs may bring the same answer to the same question
-- at once, and the second would go on as if it had claimed. All else is as in 0001.
CREATE OR REPLACE FUNCTION plait_transact(
  for_thread text, for_ns text, seed bigint, expected_fence bigint,
  claimer text, claimed_fence bigint, claimed_lease float8, claimed_seconds float8,
  checkpoint_ids bytea[], checkpoint_parents bytea[], checkpoint_records bytea[],
  value_channels text[], value_ids bytea[], value_records bytea[],
  write_checkpoints bytea[], write_tasks bytea[], write_paths text[], write_records bytea[],
  new_head bytea, releasing boolean,
  gone_checkpoints bytea[], gone_channels text[], gone_ids bytea[],
  OUT is_done boolean, OUT at_lane bigint, OUT at_root bigint,
  OUT root_head bytea, OUT root_fence bigint, OUT root_owner text, OUT root_lease float8,
  OUT clock float8
) LANGUAGE plpgsql AS $$
DECLARE
  root plait_lanes;
  here bigint;
  refused boolean;
BEGIN
  LOOP
    SELECT * INTO root FROM plait_lanes
    WHERE thread_id = for_thread AND ns = '' FOR NO KEY UPDATE;
    EXIT WHEN FOUND;
    IF expected_fence IS NOT NULL THEN
      is_done := false;
      RETURN;
    END IF;
    INSERT INTO plait_lanes (thread_id, ns, fence) VALUES (for_thread, '', seed)
    ON CONFLICT DO NOTHING;
  END LOOP;
  at_root := root.lane;
  here := root.lane;
  IF for_ns <> '' THEN
    SELECT lane INTO here FROM plait_lanes WHERE thread_id = for_thread AND ns = for_ns;
  END IF;

  refused := coalesce(root.fence <> expected_fence, false) OR coalesce(
    claimer <> '' AND (root.fence <> claimed_fence OR root.lease IS DISTINCT FROM claimed_lease),
    false
  );
  IF expected_fence IS NOT NULL OR claimer IS NOT NULL THEN
    IF coalesce(root.owner = claimer, false) OR (gone_checkpoints IS NULL AND gone_ids IS NULL AND (
      EXISTS (
        SELECT FROM plait_checkpoints
        WHERE lane = here AND id = checkpoint_ids[1] AND record = checkpoint_records[1]
      ) OR (
        refused AND claimer IS NULL AND checkpoint_ids IS NULL AND write_tasks IS NOT NULL
        AND NOT EXISTS (
          SELECT FROM unnest(write_checkpoints, write_tasks, write_records)
            AS sent (checkpoint, task, record)
          LEFT JOIN plait_writes AS stored
            ON stored.lane = here AND stored.checkpoint = sent.checkpoint
            AND stored.task = sent.task
          WHERE stored.record IS DISTINCT FROM sent.record
        )
      )
    )) THEN
      is_done := true;
      at_lane := coalesce(here, root.lane);
      RETURN;
    END IF;
  END IF;
  IF refused THEN
    is_done := false;
    root_head := root.head;
    root_fence := root.fence;
    root_owner := root.owner;
    root_lease := root.lease;
    clock := plait_clock();
    RETURN;
  END IF;

  IF here IS NULL THEN
    INSERT INTO plait_lanes (thread_id, ns) VALUES (for_thread, for_ns) RETURNING lane INTO here;
  END IF;
  IF claimer IS NOT NULL OR releasing OR (new_head IS NOT NULL AND for_ns = '') THEN
    UPDATE plait_lanes SET
      fence = CASE WHEN claimer IS NULL THEN fence ELSE fence + 1 END,
      owner = CASE WHEN releasing THEN NULL ELSE coalesce(claimer, owner) END,
      lease = CASE
        WHEN releasing THEN NULL
        WHEN claimer IS NULL THEN lease
        ELSE plait_clock() + claimed_seconds
      END,
      head = CASE WHEN for_ns = '' THEN coalesce(new_head, head) ELSE head END
    WHERE lane = root.lane;
  END IF;
  IF new_head IS NOT NULL AND for_ns <> '' THEN
    UPDATE plait_lanes SET head = new_head WHERE lane = here;
  END IF;

  IF gone_checkpoints IS NOT NULL THEN
    DELETE FROM plait_checkpoints WHERE lane = here AND id = ANY (gone_checkpoints);
    DELETE FROM plait_writes WHERE lane = here AND checkpoint = ANY (gone_checkpoints);
  END IF;
  IF gone_ids IS NOT NULL THEN
    DELETE FROM plait_versions USING unnest(gone_channels, gone_ids) AS gone (channel, id)
    WHERE lane = here AND plait_versions.channel = gone.channel AND plait_versions.id = gone.id;
  END IF;
  IF checkpoint_ids IS NOT NULL THEN
    INSERT INTO plait_checkpoints
    SELECT here, * FROM unnest(checkpoint_ids, checkpoint_parents, checkpoint_records)
    ON CONFLICT (lane, id) DO UPDATE SET parent = excluded.parent, record = excluded.record;
  END IF;
  IF value_ids IS NOT NULL THEN
    INSERT INTO plait_versions
    SELECT here, * FROM unnest(value_channels, value_ids, value_records)
    ON CONFLICT (lane, channel, id) DO UPDATE SET record = excluded.record;
  END IF;
  IF write_tasks IS NOT NULL THEN
    INSERT INTO plait_writes
    SELECT here, * FROM unnest(write_checkpoints, write_tasks, write_paths, write_records)
    ON CONFLICT (lane, checkpoint, task)
    DO UPDATE SET path = excluded.path, record = excluded.record;
  END IF;
  is_done := true;
  at_lane := here;
END
$$;
