-- The number of the last migration of each component that shares a file.

-- name: make_versions
CREATE TABLE IF NOT EXISTS schema_versions (component TEXT PRIMARY KEY, version INTEGER NOT NULL);

-- name: has_versions
SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'schema_versions';

-- name: read_version
SELECT version FROM schema_versions WHERE component = ?1;

-- name: write_version
INSERT INTO schema_versions (component, version) VALUES (?1, ?2)
ON CONFLICT (component) DO UPDATE SET version = excluded.version;
