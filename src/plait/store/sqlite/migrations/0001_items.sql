-- Items and their vectors. A namespace is packed: each label in UTF-8, ended by a zero byte.
CREATE TABLE items (
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  namespace BLOB NOT NULL,
  key       TEXT NOT NULL,
  value     BLOB NOT NULL,
  created   REAL NOT NULL,
  updated   REAL NOT NULL,
  ttl       REAL,
  expires   REAL
);
CREATE UNIQUE INDEX items_by_key ON items (namespace, key);
CREATE INDEX items_by_expiry ON items (expires) WHERE expires IS NOT NULL;

CREATE TABLE item_vectors (
  item   INTEGER NOT NULL,
  vector BLOB NOT NULL
);
CREATE INDEX item_vectors_by_item ON item_vectors (item);
