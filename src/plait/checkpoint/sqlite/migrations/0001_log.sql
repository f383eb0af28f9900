-- The log: lanes, checkpoints, versions of channels, task writes (see plait.checkpoint.log).
CREATE TABLE lanes (
  lane      INTEGER PRIMARY KEY AUTOINCREMENT,
  thread_id TEXT NOT NULL,
  ns        TEXT NOT NULL,
  head      BLOB,
  fence     INTEGER NOT NULL DEFAULT 0,
  owner     TEXT,
  lease     REAL
);
CREATE UNIQUE INDEX lanes_by_name ON lanes (thread_id, ns);

CREATE TABLE checkpoints (
  lane   INTEGER NOT NULL,
  id     BLOB NOT NULL,
  parent BLOB,
  record BLOB NOT NULL
);
CREATE UNIQUE INDEX checkpoints_by_id ON checkpoints (lane, id);

CREATE TABLE versions (
  lane    INTEGER NOT NULL,
  channel TEXT NOT NULL,
  id      BLOB NOT NULL,
  record  BLOB NOT NULL
);
CREATE UNIQUE INDEX versions_by_id ON versions (lane, channel, id);

CREATE TABLE writes (
  lane       INTEGER NOT NULL,
  checkpoint BLOB NOT NULL,
  task       BLOB NOT NULL,
  path       TEXT NOT NULL,
  record     BLOB NOT NULL
);
CREATE UNIQUE INDEX writes_by_task ON writes (lane, checkpoint, task);
