-- Every statement of the Postgres store, by name. Values are always bound, never written into text.
-- The boolean is whether to pass over items that have expired.

-- name: get
SELECT id, namespace, key, value, created, updated, ttl, NULL::float8 FROM plait_items
WHERE namespace = $1::bytea AND key = $2::text
  AND (NOT $3::boolean OR expires IS NULL OR expires > (SELECT plait_clock()));

-- name: search
SELECT id, namespace, key, value, created, updated, ttl, NULL::float8 FROM plait_items
WHERE namespace >= $1::bytea AND namespace < $2::bytea
  AND (NOT $3::boolean OR expires IS NULL OR expires > (SELECT plait_clock()))
ORDER BY updated DESC, id DESC LIMIT $4::bigint OFFSET $5::bigint;

-- What has more than a page to be looked through is read by its ids, which are found in one moment:
-- what is put again meanwhile moves to the front, and would be passed over.

-- name: search_ids
SELECT id FROM plait_items
WHERE namespace >= $1::bytea AND namespace < $2::bytea
  AND (NOT $3::boolean OR expires IS NULL OR expires > (SELECT plait_clock()))
ORDER BY updated DESC, id DESC;

-- name: search_page
SELECT id, namespace, key, value, created, updated, ttl, NULL::float8
FROM unnest($1::bigint[]) WITH ORDINALITY AS page (item, place) JOIN plait_items ON id = item
ORDER BY place;

-- name: search_vectors
SELECT item, vector FROM plait_item_vectors JOIN plait_items ON id = item
WHERE namespace >= $1::bytea AND namespace < $2::bytea
  AND (NOT $3::boolean OR expires IS NULL OR expires > (SELECT plait_clock()))
ORDER BY item;

-- name: search_scored
SELECT id, namespace, key, value, created, updated, ttl, score FROM plait_items
LEFT JOIN unnest($6::bigint[], $7::float8[]) AS scored (item, score) ON item = id
WHERE namespace >= $1::bytea AND namespace < $2::bytea
  AND (NOT $3::boolean OR expires IS NULL OR expires > (SELECT plait_clock()))
ORDER BY score DESC NULLS LAST, updated DESC, id DESC LIMIT $4::bigint OFFSET $5::bigint;

-- name: search_by_extension
SELECT id, namespace, key, value, created, updated, ttl, (
  SELECT max(CASE
    WHEN cardinality(vector) <> cardinality($6::real[]) THEN 'Infinity'::float8
    WHEN $7::text = 'l2' THEN -(vector::vector <-> $6::real[]::vector)
    WHEN $7::text = 'inner_product' THEN -(vector::vector <#> $6::real[]::vector)
    ELSE coalesce(nullif(1.0 - (vector::vector <=> $6::real[]::vector), 'NaN'), 0.0)
  END) FROM plait_item_vectors WHERE item = id
) AS score FROM plait_items
WHERE namespace >= $1::bytea AND namespace < $2::bytea
  AND (NOT $3::boolean OR expires IS NULL OR expires > (SELECT plait_clock()))
ORDER BY score DESC NULLS LAST, updated DESC, id DESC LIMIT $4::bigint OFFSET $5::bigint;

-- name: has_extension
SELECT to_regtype('vector') IS NOT NULL,
  EXISTS (SELECT FROM pg_available_extensions WHERE name = 'vector');

-- name: make_extension
CREATE EXTENSION IF NOT EXISTS vector;

-- name: list_namespaces
WITH RECURSIVE each (namespace) AS (
  (SELECT namespace FROM plait_items WHERE namespace >= $1::bytea AND namespace < $2::bytea
     AND (NOT $3::boolean OR expires IS NULL OR expires > (SELECT plait_clock()))
   ORDER BY namespace LIMIT 1)
  UNION ALL
  SELECT (
    SELECT next.namespace FROM plait_items AS next
    WHERE next.namespace > each.namespace AND next.namespace < $2::bytea
      AND (NOT $3::boolean OR next.expires IS NULL OR next.expires > (SELECT plait_clock()))
    ORDER BY next.namespace LIMIT 1
  ) FROM each WHERE each.namespace IS NOT NULL
)
SELECT namespace FROM each WHERE namespace IS NOT NULL;

-- name: put
SELECT plait_put_items(
  $1::bytea[], $2::text[], $3::bytea[], $4::float8[], $5::integer[], $6::text[]
);

-- name: refresh
UPDATE plait_items SET expires = plait_clock() + ttl * 60.0
WHERE ttl IS NOT NULL AND id = ANY ($1::bigint[]);

-- name: sweep
WITH gone AS (DELETE FROM plait_items WHERE expires <= (SELECT plait_clock()) RETURNING 1)
SELECT count(*) FROM gone;
