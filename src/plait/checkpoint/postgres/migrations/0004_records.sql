-- One table instead of three: the rows of a commit go to the same pages in one insertion, which
-- leaves less of them empty and asks less of the server.
--
-- name  'c': a checkpoint; about is its parent
--       'w': what a task of the checkpoint wrote; about is the task's path
--       'v' and the name of a channel: its version
CREATE TABLE plait_records (
  lane   bigint NOT NULL,
  name   text COLLATE "C" NOT NULL,
  id     bytea NOT NULL,
  task   bytea NOT NULL,
  about  bytea,
  record bytea NOT NULL,
  PRIMARY KEY (lane, name, id, task)
);

INSERT INTO plait_records SELECT lane, 'c', id, '', parent, record FROM plait_checkpoints;
INSERT INTO plait_records
SELECT lane, 'w', checkpoint, task, convert_to(path, 'UTF8'), record FROM plait_writes;
INSERT INTO plait_records SELECT lane, 'v' || channel, id, '', NULL, record FROM plait_versions;

DROP TABLE plait_checkpoints, plait_writes, plait_versions;
DROP FUNCTION plait_transact(
  text, text, bigint, bigint, text, bigint, float8, float8, bytea[], bytea[], bytea[],
  text[], bytea[], bytea[], bytea[], bytea[], text[], bytea[], bytea, boolean,
  bytea[], text[], bytea[]
);
DROP FUNCTION plait_transact_all(
  text[], text[], bigint[], bigint[], text[], bigint[], float8[], float8[],
  bigint[], bigint[], bigint[], bytea[], bytea[], bytea[], text[], bytea[], bytea[],
  bytea[], bytea[], text[], bytea[], bytea[], boolean[]
);

-- One transaction of the log (`requests.Transact`): one statement, so one round trip.
-- Safe to repeat: what is sent again after a connection broke changes nothing that was stored, even
-- when the first sending arrives after the second. A claim was done before only if the thread's
-- owner is this very claim. Of the rows, checkpoints come first, then writes, then versions.
CREATE FUNCTION plait_transact(
  for_thread text, for_ns text, seed bigint, expected_fence bigint,
  claimer text, claimed_fence bigint, claimed_lease float8, claimed_seconds float8,
  names text[], ids bytea[], tasks bytea[], abouts bytea[], records bytea[],
  new_head bytea, releasing boolean,
  gone_checkpoints bytea[], gone_names text[], gone_ids bytea[],
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
      (names[1] = 'c' AND EXISTS (
        SELECT FROM plait_records
        WHERE lane = here AND name = 'c' AND id = ids[1] AND record = records[1]
      )) OR (
        refused AND claimer IS NULL AND names[1] = 'w' AND NOT EXISTS (
          SELECT FROM unnest(names, ids, tasks, records) AS sent (name, id, task, record)
          LEFT JOIN plait_records AS stored
            ON stored.lane = here AND stored.name = 'w' AND stored.id = sent.id
            AND stored.task = sent.task
          WHERE sent.name = 'w' AND stored.record IS DISTINCT FROM sent.record
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
    DELETE FROM plait_records
    WHERE lane = here AND name IN ('c', 'w') AND id = ANY (gone_checkpoints);
  END IF;
  IF gone_ids IS NOT NULL THEN
    DELETE FROM plait_records USING unnest(gone_names, gone_ids) AS gone (name, id)
    WHERE lane = here AND plait_records.name = gone.name AND plait_records.id = gone.id;
  END IF;
  IF names IS NOT NULL THEN
    INSERT INTO plait_records
    SELECT here, * FROM unnest(names, ids, tasks, abouts, records)
    ON CONFLICT (lane, name, id, task)
    DO UPDATE SET about = excluded.about, record = excluded.record;
  END IF;
  is_done := true;
  at_lane := here;
END
$$;

-- Several transactions of the log in one statement (`requests.Together`): each is a call of
-- plait_transact, in the order given, and has its own answer. Rows of all of them come as shared
-- arrays, of which each takes as many as its count says. An error undoes all.
CREATE FUNCTION plait_transact_all(
  threads text[], nss text[], seeds bigint[], fences bigint[],
  claimers text[], claimed_fences bigint[], claimed_leases float8[], claimed_seconds float8[],
  counts bigint[],
  names text[], ids bytea[], tasks bytea[], abouts bytea[], records bytea[],
  heads bytea[], releases boolean[]
) RETURNS TABLE (
  is_done boolean, at_lane bigint, at_root bigint,
  root_head bytea, root_fence bigint, root_owner text, root_lease float8,
  clock float8
) LANGUAGE plpgsql AS $$
DECLARE
  a integer;
  z integer := 0;
BEGIN
  FOR i IN 1 .. cardinality(threads) LOOP
    a := z + 1;
    z := z + counts[i];
    RETURN QUERY SELECT * FROM plait_transact(
      threads[i], nss[i], seeds[i], fences[i],
      claimers[i], claimed_fences[i], claimed_leases[i], claimed_seconds[i],
      CASE WHEN z >= a THEN names[a:z] END, ids[a:z], tasks[a:z], abouts[a:z], records[a:z],
      heads[i], releases[i], NULL, NULL, NULL
    );
  END LOOP;
END
$$;

CREATE OR REPLACE FUNCTION plait_drop_lane(
  gone bigint, of_thread text, expected_fence bigint,
  OUT is_done boolean, OUT at_lane bigint, OUT at_root bigint,
  OUT root_head bytea, OUT root_fence bigint, OUT root_owner text, OUT root_lease float8,
  OUT clock float8
) LANGUAGE plpgsql AS $$
DECLARE
  root plait_lanes;
BEGIN
  SELECT * INTO root FROM plait_lanes WHERE thread_id = of_thread AND ns = '' FOR UPDATE;
  is_done := expected_fence IS NULL OR coalesce(root.fence = expected_fence, false);
  at_root := root.lane;
  IF NOT is_done THEN
    root_head := root.head;
    root_fence := root.fence;
    root_owner := root.owner;
    root_lease := root.lease;
    clock := plait_clock();
    RETURN;
  END IF;
  at_lane := gone;
  DELETE FROM plait_records WHERE lane = gone;
  DELETE FROM plait_lanes WHERE lane = gone;
END
$$;
