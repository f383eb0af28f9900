-- Every statement of the SQLite cache, by name. Values are always bound, never written into text.

-- name: read_value
SELECT tag, data FROM cache WHERE ns = ?1 AND key = ?2 AND (expires IS NULL OR expires > ?3);

-- name: write_value
INSERT INTO cache (ns, key, expires, tag, data) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (ns, key) DO UPDATE
SET expires = excluded.expires, tag = excluded.tag, data = excluded.data;

-- name: drop_expired
DELETE FROM cache WHERE expires IS NOT NULL AND expires <= ?1;

-- name: drop_namespace
DELETE FROM cache WHERE ns = ?1;

-- name: drop_all
DELETE FROM cache;
