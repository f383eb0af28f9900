-- A run begins with two checkpoints in one transaction: its input, and what the start makes of it.
-- Each is an ordinary commit, so that its company travels with it (see `0005_company.sql`); the
-- second is done if the first is, under the fence that the claim of the first has made.
DROP FUNCTION plait_transact_all(
  text[], text[], bigint[], bigint[], text[], bigint[], float8[], float8[],
  bigint[], text[], bytea[], bytea[], bytea[], bytea[], bytea[], bytea[], bytea[], boolean[]
);

-- Several transactions of the log in one statement (`requests.Together`): each is a call of
-- plait_transact, in the order given, and has its own answer; one that follows the one before it
-- shares its answer. Rows of all of them come as shared arrays, of which each takes as many as its
-- count says. An error undoes all.
CREATE FUNCTION plait_transact_all(
  threads text[], nss text[], seeds bigint[], fences bigint[],
  claimers text[], claimed_fences bigint[], claimed_leases float8[], claimed_seconds float8[],
  counts bigint[],
  names text[], ids bytea[], tasks bytea[], abouts bytea[], records bytea[],
  kepts bytea[], ackss bytea[],
  heads bytea[], releases boolean[], follows boolean[]
) RETURNS TABLE (
  is_done boolean, at_lane bigint, at_root bigint,
  root_head bytea, root_fence bigint, root_owner text, root_lease float8,
  clock float8
) LANGUAGE plpgsql AS $$
DECLARE
  a integer;
  z integer := 0;
  expected bigint;
BEGIN
  FOR i IN 1 .. cardinality(threads) LOOP
    a := z + 1;
    z := z + counts[i];
    expected := fences[i];
    IF follows[i] THEN
      CONTINUE WHEN NOT is_done;
      SELECT fence INTO expected FROM plait_lanes WHERE lane = at_root;
    END IF;
    SELECT made.is_done, made.at_lane, made.at_root, made.root_head, made.root_fence,
      made.root_owner, made.root_lease, made.clock
    INTO is_done, at_lane, at_root, root_head, root_fence, root_owner, root_lease, clock
    FROM plait_transact(
      threads[i], nss[i], seeds[i], expected,
      claimers[i], claimed_fences[i], claimed_leases[i], claimed_seconds[i],
      CASE WHEN z >= a THEN names[a:z] END, ids[a:z], tasks[a:z], abouts[a:z], records[a:z],
      kepts[i], ackss[i], heads[i], releases[i], NULL, NULL, NULL
    ) AS made;
    IF NOT (is_done AND coalesce(follows[i + 1], false)) THEN
      RETURN NEXT;
    END IF;
  END LOOP;
END
$$;
