-- Every statement of the Postgres saver, by name. Values are always bound, never written into text.

-- name: read_lane
SELECT lane, thread_id, ns, head, fence, owner, lease, plait_clock() FROM plait_lanes
WHERE thread_id = $1::text AND ns = $2::text;

-- name: read_lanes
SELECT asked.place, lane, thread_id, ns, head, fence, owner, lease, plait_clock()
FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS asked (thread_id, ns, place)
JOIN plait_lanes USING (thread_id, ns);

-- name: list_lanes
SELECT lane, thread_id, ns, head, fence, owner, lease, plait_clock() FROM plait_lanes
ORDER BY lane;

-- name: list_lanes_of
SELECT lane, thread_id, ns, head, fence, owner, lease, plait_clock() FROM plait_lanes
WHERE thread_id = $1::text ORDER BY lane;

-- name: list_newest
SELECT newest.id, lanes.lane, thread_id, ns FROM plait_lanes AS lanes CROSS JOIN LATERAL (
  SELECT id FROM plait_records WHERE lane = lanes.lane AND name = 'c' AND id < $1::bytea
  ORDER BY id DESC LIMIT 1) AS newest
WHERE head IS NOT NULL
ORDER BY newest.id DESC LIMIT $2::bigint;

-- name: list_newest_of
SELECT newest.id, lanes.lane, thread_id, ns FROM plait_lanes AS lanes CROSS JOIN LATERAL (
  SELECT id FROM plait_records WHERE lane = lanes.lane AND name = 'c' AND id < $1::bytea
  ORDER BY id DESC LIMIT 1) AS newest
WHERE head IS NOT NULL AND thread_id = $3::text AND ($4::text IS NULL OR ns = $4::text)
ORDER BY newest.id DESC LIMIT $2::bigint;

-- name: list_threads
SELECT lane, thread_id, ns, head, fence, owner, lease, plait_clock() FROM plait_lanes
WHERE ns = '' AND lane > $1::bigint ORDER BY lane LIMIT $2::bigint;

-- name: read_checkpoints
SELECT id, about, record FROM plait_records
WHERE lane = $1::bigint AND name = 'c' AND id >= $2::bytea AND id <= $3::bytea AND id < $4::bytea
ORDER BY id LIMIT $5::bigint;

-- name: read_checkpoints_down
SELECT id, about, record FROM plait_records
WHERE lane = $1::bigint AND name = 'c' AND id >= $2::bytea AND id <= $3::bytea AND id < $4::bytea
ORDER BY id DESC LIMIT $5::bigint;

-- The checkpoints of each page, what tasks wrote there, and what tasks wrote that lies with the
-- checkpoint after: task is empty, a task, and NULL.

-- name: read_pages
WITH page AS (
  SELECT place, asked.lane, found.id, about, record, kept
  FROM unnest($1::bigint[], $2::bytea[]) WITH ORDINALITY AS asked (lane, below, place)
  CROSS JOIN LATERAL (
    SELECT id, about, record, kept FROM plait_records
    WHERE lane = asked.lane AND name = 'c' AND id < asked.below
      AND ($4::bytea IS NULL OR position($4::bytea IN record) > 0)
    ORDER BY id DESC LIMIT $3::bigint
  ) AS found
)
SELECT place, id, ''::bytea AS task, about, record, kept AS company FROM page
UNION ALL
SELECT place, page.id, stored.task, stored.about, stored.record, NULL
FROM page JOIN plait_records AS stored
  ON stored.lane = page.lane AND stored.name = 'w' AND stored.id = page.id
UNION ALL
SELECT place, page.id, NULL, NULL, NULL, after.acks
FROM page CROSS JOIN LATERAL (
  SELECT about, acks FROM plait_records
  WHERE lane = page.lane AND name = 'c' AND id > page.id ORDER BY id LIMIT 1
) AS after
WHERE after.about = page.id AND after.acks IS NOT NULL
ORDER BY place, id DESC;

-- name: read_values
SELECT company.kept, stored.record
FROM unnest($1::bigint[], $2::text[], $3::bytea[]) WITH ORDINALITY AS wanted (lane, name, id, place)
LEFT JOIN plait_records AS stored ON stored.lane = wanted.lane
  AND stored.name = wanted.name AND stored.id = wanted.id
LEFT JOIN plait_records AS company ON company.lane = wanted.lane
  AND company.name = 'c' AND company.id = wanted.id
ORDER BY place;

-- name: read_versions
SELECT id, record, NULL AS kept FROM plait_records
WHERE lane = $1::bigint AND name = $2::text AND id >= $3::bytea AND id <= $4::bytea
UNION ALL
SELECT id, NULL, kept FROM plait_records
WHERE lane = $1::bigint AND name = 'c' AND id >= $3::bytea AND id <= $4::bytea
  AND position($5::bytea IN kept) > 0;

-- name: list_values
SELECT substr(name, 2), id FROM plait_records
WHERE lane = $1::bigint AND name >= 'v' AND name < 'w'
UNION
SELECT convert_from(fields[n], 'UTF8'), id
FROM (
  SELECT id, plait_fields(kept) AS fields FROM plait_records
  WHERE lane = $1::bigint AND name = 'c' AND kept IS NOT NULL
) AS company, generate_series(1, cardinality(fields), 2) AS n;

-- name: read_writes
SELECT id, task, about, record, NULL AS acks FROM plait_records
WHERE lane = $1::bigint AND name = 'w' AND id >= $2::bytea AND id <= $3::bytea
UNION ALL
SELECT about, NULL, NULL, NULL, acks FROM plait_records
WHERE lane = $1::bigint AND name = 'c' AND acks IS NOT NULL AND id > $2::bytea
  AND id <= coalesce((
    SELECT id FROM plait_records
    WHERE lane = $1::bigint AND name = 'c' AND id > $3::bytea ORDER BY id LIMIT 1
  ), decode('ffff', 'hex'));

-- name: commit
SELECT * FROM plait_commit(
  $1::text, $2::text, $3::bigint, $4::bigint,
  $5::bytea, $6::bytea, $7::bytea, $8::bytea, $9::bytea, $10::boolean, $11::boolean
);

-- name: transact
SELECT * FROM plait_transact(
  $1::text, $2::text, $3::bigint, $4::bigint,
  $5::text, $6::bigint, $7::float8, $8::float8,
  $9::text[], $10::bytea[], $11::bytea[], $12::bytea[], $13::bytea[],
  $14::bytea, $15::bytea,
  $16::bytea, $17::boolean,
  $18::bytea[], $19::text[], $20::bytea[]
);

-- name: transact_all
SELECT * FROM plait_transact_all(
  $1::text[], $2::text[], $3::bigint[], $4::bigint[],
  $5::text[], $6::bigint[], $7::float8[], $8::float8[],
  $9::bigint[],
  $10::text[], $11::bytea[], $12::bytea[], $13::bytea[], $14::bytea[],
  $15::bytea[], $16::bytea[],
  $17::bytea[], $18::boolean[], $19::boolean[]
);

-- name: drop_lanes
SELECT gone.* FROM unnest($1::bigint[]) AS each (lane),
  LATERAL plait_drop_lane(each.lane, $2::text, $3::bigint) AS gone;

-- Claims whose rows nobody has locked at this moment.

-- name: renew
UPDATE plait_lanes SET lease = plait_clock() + $3::float8
WHERE lane IN (
  SELECT held.lane FROM plait_lanes AS held
  JOIN unnest($1::bigint[], $2::bigint[]) AS claim (lane, fence)
    ON held.lane = claim.lane AND held.fence = claim.fence
  WHERE held.owner IS NOT NULL ORDER BY held.thread_id FOR UPDATE OF held SKIP LOCKED
) RETURNING lane;

-- name: be_brief
SELECT set_config('lock_timeout', '500', true);

-- name: renew_in_turn
UPDATE plait_lanes SET lease = plait_clock() + $3::float8
WHERE lane IN (
  SELECT held.lane FROM plait_lanes AS held
  JOIN unnest($1::bigint[], $2::bigint[]) AS claim (lane, fence)
    ON held.lane = claim.lane AND held.fence = claim.fence
  WHERE held.owner IS NOT NULL ORDER BY held.thread_id FOR UPDATE OF held
) RETURNING lane;
