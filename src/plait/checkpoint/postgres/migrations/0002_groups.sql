-- Several transactions of the log in one statement (`requests.Together`): each is a call of
-- plait_transact, in the order given, and has its own answer. Rows of all of them come as shared
-- arrays, of which each takes as many as its counts say. An error undoes all.
CREATE FUNCTION plait_transact_all(
  threads text[], nss text[], seeds bigint[], fences bigint[],
  claimers text[], claimed_fences bigint[], claimed_leases float8[], claimed_seconds float8[],
  checkpoint_counts bigint[], value_counts bigint[], write_counts bigint[],
  checkpoint_ids bytea[], checkpoint_parents bytea[], checkpoint_records bytea[],
  value_channels text[], value_ids bytea[], value_records bytea[],
  write_checkpoints bytea[], write_tasks bytea[], write_paths text[], write_records bytea[],
  heads bytea[], releases boolean[]
) RETURNS TABLE (
  is_done boolean, at_lane bigint, at_root bigint,
  root_head bytea, root_fence bigint, root_owner text, root_lease float8,
  clock float8
) LANGUAGE plpgsql AS $$
DECLARE
  c integer := 0;
  v integer := 0;
  w integer := 0;
  c_end integer;
  v_end integer;
  w_end integer;
BEGIN
  FOR i IN 1 .. cardinality(threads) LOOP
    c_end := c + checkpoint_counts[i];
    v_end := v + value_counts[i];
    w_end := w + write_counts[i];
    RETURN QUERY SELECT * FROM plait_transact(
      threads[i], nss[i], seeds[i], fences[i],
      claimers[i], claimed_fences[i], claimed_leases[i], claimed_seconds[i],
      CASE WHEN c_end > c THEN checkpoint_ids[c + 1 : c_end] END,
      CASE WHEN c_end > c THEN checkpoint_parents[c + 1 : c_end] END,
      CASE WHEN c_end > c THEN checkpoint_records[c + 1 : c_end] END,
      CASE WHEN v_end > v THEN value_channels[v + 1 : v_end] END,
      CASE WHEN v_end > v THEN value_ids[v + 1 : v_end] END,
      CASE WHEN v_end > v THEN value_records[v + 1 : v_end] END,
      CASE WHEN w_end > w THEN write_checkpoints[w + 1 : w_end] END,
      CASE WHEN w_end > w THEN write_tasks[w + 1 : w_end] END,
      CASE WHEN w_end > w THEN write_paths[w + 1 : w_end] END,
      CASE WHEN w_end > w THEN write_records[w + 1 : w_end] END,
      heads[i], releases[i], NULL, NULL, NULL
    );
    c := c_end;
    v := v_end;
    w := w_end;
  END LOOP;
END
$$;
