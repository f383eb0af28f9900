-- The number of the last migration of each component that shares a database.

-- name: has_versions
SELECT to_regclass('plait_schema_versions') IS NOT NULL;

-- name: read_version
SELECT version FROM plait_schema_versions WHERE component = $1::text;

-- name: see_others
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

-- name: alone
SELECT pg_advisory_xact_lock($1::bigint);

-- name: make_versions
CREATE TABLE IF NOT EXISTS plait_schema_versions (
  component text PRIMARY KEY, version integer NOT NULL
);

-- name: write_version
INSERT INTO plait_schema_versions (component, version) VALUES ($1::text, $2::integer)
ON CONFLICT (component) DO UPDATE SET version = excluded.version;
