-- Cached values (see plait.cache.sqlite); expires is NULL for those that stay for ever.
CREATE TABLE cache (
  ns      TEXT NOT NULL,
  key     TEXT NOT NULL,
  expires REAL,
  tag     TEXT NOT NULL,
  data    BLOB NOT NULL
);
CREATE UNIQUE INDEX cache_by_key ON cache (ns, key);
CREATE INDEX cache_by_expiry ON cache (expires) WHERE expires IS NOT NULL;
