-- Items and their vectors. A namespace is packed: each label in UTF-8, ended by a zero byte.
CREATE TABLE plait_items (
  id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  namespace bytea NOT NULL,
  key       text COLLATE "C" NOT NULL,
  value     bytea NOT NULL,
  created   float8 NOT NULL,
  updated   float8 NOT NULL,
  ttl       float8,
  expires   float8,
  UNIQUE (namespace, key)
);
CREATE INDEX plait_items_by_expiry ON plait_items (expires) WHERE expires IS NOT NULL;

-- pgvector reads real[] as its own type; so the tables are the same with and without it.
CREATE TABLE plait_item_vectors (
  item   bigint NOT NULL REFERENCES plait_items ON DELETE CASCADE,
  vector real[] NOT NULL
);
CREATE INDEX plait_item_vectors_by_item ON plait_item_vectors (item);

-- Seconds since the epoch by this server's clock. The log of checkpoints makes the same function.
CREATE OR REPLACE FUNCTION plait_clock() RETURNS float8 LANGUAGE sql VOLATILE
AS 'SELECT extract(epoch FROM clock_timestamp())::float8';

-- Put and delete items (those without a value): one statement, so one round trip.
CREATE FUNCTION plait_put_items(
  for_namespaces bytea[], for_keys text[], new_values bytea[], minutes float8[],
  vector_owners integer[], new_vectors text[]
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  moment float8 := plait_clock();
BEGIN
  DELETE FROM plait_items USING unnest(for_namespaces, for_keys, new_values)
    AS put (namespace, key, value)
  WHERE plait_items.namespace = put.namespace AND plait_items.key = put.key AND put.value IS NULL;
  INSERT INTO plait_items (namespace, key, value, created, updated, ttl, expires)
  SELECT namespace, key, value, moment, moment, ttl, moment + ttl * 60.0
  FROM unnest(for_namespaces, for_keys, new_values, minutes) AS put (namespace, key, value, ttl)
  WHERE value IS NOT NULL ORDER BY namespace, key
  ON CONFLICT (namespace, key) DO UPDATE SET
    value = excluded.value, updated = excluded.updated, ttl = excluded.ttl,
    expires = excluded.expires;
  DELETE FROM plait_item_vectors USING plait_items, unnest(for_namespaces, for_keys)
    AS put (namespace, key)
  WHERE item = id AND plait_items.namespace = put.namespace AND plait_items.key = put.key;
  IF vector_owners IS NOT NULL THEN
    INSERT INTO plait_item_vectors
    SELECT id, vector::real[] FROM unnest(vector_owners, new_vectors) AS new (place, vector)
    JOIN plait_items ON namespace = for_namespaces[place] AND key = for_keys[place];
  END IF;
END
$$;
