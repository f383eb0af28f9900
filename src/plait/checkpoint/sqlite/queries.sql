-- Every statement of the SQLite saver, by name. Values are always bound, never written into text.

-- name: read_lane
SELECT lane, thread_id, ns, head, fence, owner, lease FROM lane_rows
WHERE thread_id = ?1 AND ns = ?2;

-- name: list_lanes
SELECT lane, thread_id, ns, head, fence, owner, lease FROM lane_rows ORDER BY lane;

-- name: list_lanes_of
SELECT lane, thread_id, ns, head, fence, owner, lease FROM lane_rows
WHERE thread_id = ?1 ORDER BY lane;

-- Lanes without such a checkpoint come last: to leave them out here, the newest would be looked up
-- twice.

-- name: list_newest
SELECT (SELECT max(id) FROM checkpoints WHERE checkpoints.lane = lanes.lane AND id < ?1) AS newest,
  lane, thread_id, ns
FROM lanes WHERE head IS NOT x'' ORDER BY newest DESC LIMIT ?2;

-- name: list_newest_of
SELECT (SELECT max(id) FROM checkpoints WHERE checkpoints.lane = lanes.lane AND id < ?1) AS newest,
  lane, thread_id, ns
FROM lanes WHERE thread_id = ?3 AND head IS NOT x'' ORDER BY newest DESC LIMIT ?2;

-- name: list_newest_in
SELECT (SELECT max(id) FROM checkpoints WHERE checkpoints.lane = lanes.lane AND id < ?1) AS newest,
  lane, thread_id, ns
FROM lanes WHERE thread_id = ?3 AND ns = ?4 AND head IS NOT x'' LIMIT ?2;

-- name: list_threads
SELECT lane, thread_id, ns, head, fence, owner, lease FROM lane_rows
WHERE ns = '' AND lane > ?1 ORDER BY lane LIMIT ?2;

-- name: read_checkpoint
SELECT id, parent, record FROM checkpoints WHERE lane = ?1 AND id = ?2;

-- name: read_head
SELECT lane, id, parent, record,
  EXISTS (SELECT 1 FROM writes AS w WHERE w.lane = c.lane AND w.checkpoint = c.id)
  OR EXISTS (SELECT 1 FROM checkpoints AS later WHERE later.lane = c.lane AND later.id > c.id)
FROM lane_rows JOIN checkpoints AS c USING (lane)
WHERE thread_id = ?1 AND ns = ?2 AND id = lane_rows.head;

-- name: read_head_at
SELECT lane, id, parent, record, 1 FROM lanes JOIN checkpoints USING (lane)
WHERE thread_id = ?1 AND ns = ?2 AND id = ?3;

-- name: read_checkpoints
SELECT id, parent, record FROM checkpoints
WHERE lane = ?1 AND id >= ?2 AND id <= ?3 AND id < ?4 ORDER BY id LIMIT ?5;

-- name: read_checkpoints_down
SELECT id, parent, record FROM checkpoints
WHERE lane = ?1 AND id >= ?2 AND id <= ?3 AND id < ?4 ORDER BY id DESC LIMIT ?5;

-- What tasks of a checkpoint wrote lies in the row that comes next, or else among the writes. So a
-- page begins one row too early, and says whether there may be such writes.

-- name: read_page
SELECT id, parent, record, kept, acks,
  EXISTS (SELECT 1 FROM writes WHERE lane = ?1 AND checkpoint < ?2)
FROM checkpoints
WHERE lane = ?1
  AND id <= coalesce((SELECT min(id) FROM checkpoints WHERE lane = ?1 AND id >= ?2), ?2)
ORDER BY id DESC LIMIT ?3 + 1;

-- name: read_page_holding
SELECT id, parent, record, kept,
  (SELECT later.acks FROM checkpoints AS later
    WHERE later.lane = ?1 AND later.id > found.id ORDER BY later.id LIMIT 1),
  EXISTS (SELECT 1 FROM writes WHERE lane = ?1 AND checkpoint = found.id)
FROM checkpoints AS found
WHERE lane = ?1 AND id < ?2 AND instr(record, ?4) ORDER BY id DESC LIMIT ?3;

-- name: read_company
SELECT id, parent, kept, acks FROM checkpoints WHERE lane = ?1 AND id = ?2;

-- name: read_company_after
SELECT id, parent, kept, acks FROM checkpoints WHERE lane = ?1 AND id > ?2 ORDER BY id LIMIT 1;

-- name: read_value
SELECT (SELECT kept FROM checkpoints WHERE lane = ?1 AND id = ?3),
  (SELECT record FROM versions WHERE lane = ?1 AND channel = ?2 AND id = ?3);

-- name: read_kept
SELECT id, kept FROM checkpoints
WHERE lane = ?1 AND id >= ?2 AND id <= ?3 AND kept IS NOT NULL;

-- name: read_versions
SELECT id, record FROM versions
WHERE lane = ?1 AND channel = ?2 AND id >= ?3 AND id <= ?4 ORDER BY id;

-- name: list_values
SELECT channel, id FROM versions WHERE lane = ?1 ORDER BY channel, id;

-- name: read_writes
SELECT checkpoint, task, path, record FROM writes
WHERE lane = ?1 AND checkpoint >= ?2 AND checkpoint <= ?3 ORDER BY checkpoint, path, task;

-- name: read_acks
SELECT parent, acks FROM checkpoints
WHERE lane = ?1 AND id > ?2 AND parent >= ?2 AND acks IS NOT NULL AND id <= coalesce(
  (SELECT min(id) FROM checkpoints WHERE lane = ?1 AND id > ?3), x'ffff');

-- name: make_lane
INSERT INTO lanes (thread_id, ns, fence) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING;

-- name: claim
UPDATE lanes SET fence = fence + 1, owner = ?2, lease = ?3
WHERE lane = ?1 AND fence = ?4 AND lease IS ?5;

-- name: pin_head
UPDATE lanes SET head = coalesce((SELECT max(id) FROM checkpoints WHERE lane = ?1), x'')
WHERE lane = ?1 AND head IS NULL;

-- name: move_head
UPDATE lanes SET head = ?2 WHERE lane = ?1;

-- name: free_head
UPDATE lanes SET head = NULL
WHERE lane = ?1 AND head IS coalesce((SELECT max(id) FROM checkpoints WHERE lane = ?1), x'');

-- name: release
UPDATE lanes SET owner = NULL, lease = NULL WHERE lane = ?1;

-- name: put_checkpoint
INSERT INTO checkpoints (lane, id, parent, record) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (lane, id) DO UPDATE SET parent = excluded.parent, record = excluded.record;

-- name: append
INSERT INTO checkpoints (lane, id, parent, record, kept, acks)
SELECT ?1, ?2, ?3, ?4, ?5, ?6 FROM lanes
WHERE lane = ?1 AND head IS NULL AND ?3 IS (SELECT max(id) FROM checkpoints WHERE lane = ?1)
  AND (?7 IS NULL OR (thread_id = ?7 AND fence = ?8));

-- name: drop_company
UPDATE checkpoints SET kept = NULL, acks = NULL WHERE lane = ?1 AND id = ?2;

-- name: put_version
INSERT INTO versions (lane, channel, id, record) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (lane, channel, id) DO UPDATE SET record = excluded.record;

-- name: put_write
INSERT INTO writes (lane, checkpoint, task, path, record) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (lane, checkpoint, task) DO UPDATE SET path = excluded.path, record = excluded.record;

-- name: drop_checkpoint
DELETE FROM checkpoints WHERE lane = ?1 AND id = ?2;

-- name: drop_writes
DELETE FROM writes WHERE lane = ?1 AND checkpoint = ?2;

-- name: drop_version
DELETE FROM versions WHERE lane = ?1 AND channel = ?2 AND id = ?3;

-- name: drop_lane_checkpoints
DELETE FROM checkpoints WHERE lane = ?1;

-- name: drop_lane_versions
DELETE FROM versions WHERE lane = ?1;

-- name: drop_lane_writes
DELETE FROM writes WHERE lane = ?1;

-- name: drop_lane
DELETE FROM lanes WHERE lane = ?1;

-- name: renew
UPDATE lanes SET lease = ?2
WHERE owner IS NOT NULL
  AND (lane, fence) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?1));
