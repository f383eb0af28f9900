-- The head of a lane is its newest checkpoint, unless the lane says otherwise: so an ordinary commit
-- is one row of one table, and a statement of its own.
--
-- head: NULL where it is the newest (or there is none); x'' where there are checkpoints and no head.
UPDATE lanes SET head = CASE
  WHEN head IS (SELECT max(id) FROM checkpoints WHERE checkpoints.lane = lanes.lane) THEN NULL
  ELSE coalesce(head, x'')
END;
ALTER TABLE lanes DROP COLUMN last;
CREATE VIEW lane_rows AS
SELECT lane, thread_id, ns, CASE
    WHEN head IS NULL THEN (SELECT max(id) FROM checkpoints WHERE checkpoints.lane = lanes.lane)
    WHEN head <> x'' THEN head
  END AS head, fence, owner, lease
FROM lanes;
