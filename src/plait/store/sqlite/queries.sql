-- Every statement of the SQLite store, by name. Values are always bound, never written into text.
-- Where times are compared, ?3 (of `get_some`: the last) is now, or NULL to read items that have expired, too.

-- name: get
SELECT id, namespace, key, value, created, updated, ttl, NULL FROM items
WHERE namespace = ?1 AND key = ?2 AND (?3 IS NULL OR expires IS NULL OR expires > ?3);

-- Fewer keys are given more than once.

-- name: get_some
SELECT id, namespace, key, value, created, updated, ttl, NULL FROM items
WHERE namespace = ?1 AND key IN (
  ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17,
  ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33
) AND (?34 IS NULL OR expires IS NULL OR expires > ?34);

-- Where a search sorts, it sorts ids, and reads the rows of the page after that, one by one. That
-- they come in the order of the ids is held by the LIMIT and the CROSS JOIN.

-- name: search
SELECT id, namespace, key, value, created, updated, ttl, NULL FROM (
  SELECT id AS found FROM items
  WHERE namespace >= ?1 AND namespace < ?2 AND (?3 IS NULL OR expires IS NULL OR expires > ?3)
  ORDER BY updated DESC, id DESC LIMIT ?4 OFFSET ?5
) CROSS JOIN items ON id = found;

-- Whoever has found enough reads no further: so the values are sifted after the sorting.

-- name: search_sifted
SELECT id, namespace, key, value, created, updated, ttl, NULL FROM (
  SELECT id AS found FROM items
  WHERE namespace >= ?1 AND namespace < ?2 AND (?3 IS NULL OR expires IS NULL OR expires > ?3)
  ORDER BY updated DESC, id DESC LIMIT -1
) CROSS JOIN items ON id = found WHERE may_hold(?4, value);

-- name: search_vectors
SELECT item, vector FROM item_vectors JOIN items ON items.id = item
WHERE namespace >= ?1 AND namespace < ?2 AND (?3 IS NULL OR expires IS NULL OR expires > ?3)
ORDER BY item;

-- name: search_scored
SELECT id, namespace, key, value, created, updated, ttl, score FROM items
LEFT JOIN (SELECT value ->> 0 AS item, value ->> 1 AS score FROM json_each(?6)) ON item = id
WHERE namespace >= ?1 AND namespace < ?2 AND (?3 IS NULL OR expires IS NULL OR expires > ?3)
ORDER BY score IS NULL, score DESC, updated DESC, id DESC LIMIT ?4 OFFSET ?5;

-- name: search_by_extension
SELECT id, namespace, key, value, created, updated, ttl, (
  SELECT MAX(COALESCE(1.0 - vec_distance_cosine(vector, ?6), 0.0)) FROM item_vectors
  WHERE item = id
) AS score FROM items
WHERE namespace >= ?1 AND namespace < ?2 AND (?3 IS NULL OR expires IS NULL OR expires > ?3)
ORDER BY score IS NULL, score DESC, updated DESC, id DESC LIMIT ?4 OFFSET ?5;

-- name: extension_version
SELECT vec_version();

-- name: list_namespaces
WITH RECURSIVE each (namespace) AS (
  SELECT MIN(namespace) FROM items
  WHERE namespace >= ?1 AND namespace < ?2 AND (?3 IS NULL OR expires IS NULL OR expires > ?3)
  UNION ALL
  SELECT (
    SELECT items.namespace FROM items
    WHERE items.namespace > each.namespace AND items.namespace < ?2
      AND (?3 IS NULL OR expires IS NULL OR expires > ?3)
    ORDER BY items.namespace LIMIT 1
  ) FROM each WHERE each.namespace IS NOT NULL
)
SELECT namespace FROM each WHERE namespace IS NOT NULL LIMIT ?4;

-- name: put
INSERT INTO items (namespace, key, value, created, updated, ttl, expires)
VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?6)
ON CONFLICT (namespace, key) DO UPDATE SET
  value = excluded.value, updated = excluded.updated, ttl = excluded.ttl, expires = excluded.expires;

-- name: drop
DELETE FROM items WHERE namespace = ?1 AND key = ?2;

-- name: put_vector
INSERT INTO item_vectors (item, vector)
SELECT id, ?3 FROM items WHERE namespace = ?1 AND key = ?2;

-- name: any_vector
SELECT 1 FROM item_vectors LIMIT 1;

-- name: drop_vectors
DELETE FROM item_vectors WHERE item IN (SELECT id FROM items WHERE namespace = ?1 AND key = ?2);

-- name: refresh
UPDATE items SET expires = ?1 + ttl * 60.0
WHERE ttl IS NOT NULL AND id IN (SELECT value FROM json_each(?2));

-- name: sweep_vectors
DELETE FROM item_vectors WHERE item IN (SELECT id FROM items WHERE expires <= ?1);

-- name: sweep
DELETE FROM items WHERE expires <= ?1;
