-- What an ordinary commit stores beside its checkpoint travels in the checkpoint's own row: one row
-- and one entry of the index instead of three or four, each with some 60 bytes around it.
--
-- kept: versions that this checkpoint made: channel, record, channel, record, ...
-- acks: what tasks of its parent wrote: task, path, record, task, ... Only where the parent is the
--       checkpoint before it in the lane, so that who knows a checkpoint finds them, too.
--
-- Each field follows its length in two bytes. Whoever changes one of these, or puts a checkpoint
-- between the two, first splits the row into those of `0004_records.sql`, which hold all else. Rows
-- of before stay as they are.
ALTER TABLE plait_records ADD COLUMN kept bytea, ADD COLUMN acks bytea;

DROP FUNCTION plait_transact(
  text, text, bigint, bigint, text, bigint, float8, float8,
  text[], bytea[], bytea[], bytea[], bytea[], bytea, boolean, bytea[], text[], bytea[]
);
DROP FUNCTION plait_transact_all(
  text[], text[], bigint[], bigint[], text[], bigint[], float8[], float8[],
  bigint[], text[], bytea[], bytea[], bytea[], bytea[], bytea[], boolean[]
);

-- The fields that were packed into one value; none for NULL.
CREATE FUNCTION plait_fields(packed bytea) RETURNS bytea[] LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  fields bytea[] := '{}';
  place integer := 0;
  size integer;
BEGIN
  WHILE place < octet_length(packed) LOOP
    size := get_byte(packed, place) * 256 + get_byte(packed, place + 1);
    fields := array_append(fields, substring(packed FROM place + 3 FOR size));
    place := place + 2 + size;
  END LOOP;
  RETURN fields;
END
$$;

-- Give rows of their own to what travels with some checkpoints.
CREATE FUNCTION plait_split(here bigint, splits bytea[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  packed record;
  fields bytea[];
BEGIN
  FOR packed IN
    SELECT id, about, kept, acks FROM plait_records
    WHERE lane = here AND name = 'c' AND id = ANY (splits)
      AND (kept IS NOT NULL OR acks IS NOT NULL)
  LOOP
    fields := plait_fields(packed.kept);
    INSERT INTO plait_records (lane, name, id, task, record)
    SELECT here, 'v' || convert_from(fields[n], 'UTF8'), packed.id, '', fields[n + 1]
    FROM generate_series(1, cardinality(fields), 2) AS n
    ON CONFLICT (lane, name, id, task) DO UPDATE SET record = excluded.record;
    fields := plait_fields(packed.acks);
    INSERT INTO plait_records (lane, name, id, task, about, record)
    SELECT here, 'w', packed.about, fields[n], fields[n + 1], fields[n + 2]
    FROM generate_series(1, cardinality(fields), 3) AS n
    ON CONFLICT (lane, name, id, task)
    DO UPDATE SET about = excluded.about, record = excluded.record;
    UPDATE plait_records SET kept = NULL, acks = NULL
    WHERE lane = here AND name = 'c' AND id = packed.id;
  END LOOP;
END
$$;

-- One transaction of the log (`requests.Transact`): one statement, so one round trip.
-- Safe to repeat: what is sent again after a connection broke changes nothing that was stored, even
-- when the first sending arrives after the second. A claim was done before only if the thread's
-- owner is this very claim. Of the rows, checkpoints come first, then writes, then versions; only
-- the first may have company, and only if it is the only checkpoint.
CREATE FUNCTION plait_transact(
  for_thread text, for_ns text, seed bigint, expected_fence bigint,
  claimer text, claimed_fence bigint, claimed_lease float8, claimed_seconds float8,
  names text[], ids bytea[], tasks bytea[], abouts bytea[], records bytea[],
  new_kept bytea, new_acks bytea,
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
  newest bytea;
  is_next boolean;
  fields bytea[];
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

  is_done := true;
  at_lane := here;
  IF names IS NULL AND gone_checkpoints IS NULL AND gone_ids IS NULL THEN
    RETURN;
  END IF;

  SELECT id INTO newest FROM plait_records
  WHERE lane = here AND name = 'c' ORDER BY id DESC LIMIT 1;
  is_next := names[1] = 'c' AND coalesce(newest < ids[1], true)
    AND (new_acks IS NULL OR coalesce(newest = abouts[1], false));
  IF gone_checkpoints IS NOT NULL OR gone_ids IS NOT NULL OR NOT is_next OR 'w' = ANY (names) THEN
    PERFORM plait_split(here, array_agg(changed.id)) FROM (
      SELECT sent.id FROM unnest(names, ids) AS sent (name, id) WHERE sent.name <> 'w'
      UNION ALL SELECT unnest(gone_checkpoints)
      UNION ALL SELECT unnest(gone_ids)
      UNION ALL SELECT after.id FROM (
        SELECT sent.id FROM unnest(names, ids) AS sent (name, id) WHERE sent.name IN ('c', 'w')
        UNION ALL SELECT abouts[1] WHERE new_acks IS NOT NULL
        UNION ALL SELECT unnest(gone_checkpoints)
      ) AS place, LATERAL (
        SELECT stored.id FROM plait_records AS stored
        WHERE stored.lane = here AND stored.name = 'c' AND stored.id > place.id
        ORDER BY stored.id LIMIT 1
      ) AS after
    ) AS changed;
  END IF;
  IF NOT is_next THEN
    fields := plait_fields(new_kept);
    FOR n IN 1 .. cardinality(fields) BY 2 LOOP
      names := names || ('v' || convert_from(fields[n], 'UTF8'));
      ids := array_append(ids, ids[1]);
      tasks := array_append(tasks, ''::bytea);
      abouts := array_append(abouts, NULL::bytea);
      records := array_append(records, fields[n + 1]);
    END LOOP;
    fields := plait_fields(new_acks);
    FOR n IN 1 .. cardinality(fields) BY 3 LOOP
      names := names || 'w'::text;
      ids := array_append(ids, abouts[1]);
      tasks := array_append(tasks, fields[n]);
      abouts := array_append(abouts, fields[n + 1]);
      records := array_append(records, fields[n + 2]);
    END LOOP;
    new_kept := NULL;
    new_acks := NULL;
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
    INSERT INTO plait_records (lane, name, id, task, about, record, kept, acks)
    SELECT here, sent.name, sent.id, sent.task, sent.about, sent.record,
      CASE WHEN sent.name = 'c' THEN new_kept END, CASE WHEN sent.name = 'c' THEN new_acks END
    FROM unnest(names, ids, tasks, abouts, records) AS sent (name, id, task, about, record)
    ON CONFLICT (lane, name, id, task)
    DO UPDATE SET about = excluded.about, record = excluded.record;
  END IF;
END
$$;

-- The commit of an ordinary super-step, which is most of them: one checkpoint after all others of
-- its lane, its company with it. It is no repetition then, and the rest is as in plait_transact,
-- which does whatever is not so.
CREATE FUNCTION plait_commit(
  for_thread text, for_ns text, seed bigint, expected_fence bigint,
  new_id bytea, new_parent bytea, new_record bytea, new_kept bytea, new_acks bytea,
  moving boolean, releasing boolean,
  OUT is_done boolean, OUT at_lane bigint, OUT at_root bigint,
  OUT root_head bytea, OUT root_fence bigint, OUT root_owner text, OUT root_lease float8,
  OUT clock float8
) LANGUAGE plpgsql AS $$
BEGIN
  SELECT lane INTO at_root FROM plait_lanes
  WHERE thread_id = for_thread AND ns = '' AND fence = expected_fence FOR NO KEY UPDATE;
  at_lane := at_root;
  IF for_ns <> '' THEN
    SELECT lane INTO at_lane FROM plait_lanes WHERE thread_id = for_thread AND ns = for_ns;
  END IF;
  INSERT INTO plait_records (lane, name, id, task, about, record, kept, acks)
  SELECT at_lane, 'c', new_id, '', new_parent, new_record, new_kept, new_acks
  FROM (
    SELECT id FROM plait_records WHERE lane = at_lane AND name = 'c' ORDER BY id DESC LIMIT 1
  ) AS newest
  WHERE at_root IS NOT NULL AND id < new_id AND (new_acks IS NULL OR id = new_parent);
  IF NOT FOUND THEN
    SELECT * INTO is_done, at_lane, at_root, root_head, root_fence, root_owner, root_lease, clock
    FROM plait_transact(
      for_thread, for_ns, seed, expected_fence, NULL, NULL, NULL, NULL,
      ARRAY['c'], ARRAY[new_id], ARRAY[''::bytea], ARRAY[new_parent], ARRAY[new_record],
      new_kept, new_acks, CASE WHEN moving THEN new_id END, releasing, NULL, NULL, NULL
    );
    RETURN;
  END IF;
  is_done := true;
  IF for_ns <> '' AND moving THEN
    UPDATE plait_lanes SET head = new_id WHERE lane = at_lane;
  END IF;
  IF releasing THEN
    UPDATE plait_lanes SET
      owner = NULL, lease = NULL, head = CASE WHEN moving AND for_ns = '' THEN new_id ELSE head END
    WHERE lane = at_root;
  ELSIF moving AND for_ns = '' THEN
    UPDATE plait_lanes SET head = new_id WHERE lane = at_root;
  END IF;
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
  kepts bytea[], ackss bytea[],
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
      kepts[i], ackss[i], heads[i], releases[i], NULL, NULL, NULL
    );
  END LOOP;
END
$$;
