-- What an ordinary commit stores beside its checkpoint lies in the checkpoint's own row: a commit
-- costs about as much as the pages that it writes, and three tables with an index each are many.
--
-- kept: msgpack [channel, record, ...], small versions that this checkpoint made.
-- acks: msgpack [task, path, record, ...], what tasks of its parent wrote. Only where the parent is
--       the checkpoint before it in the lane, so that who knows a checkpoint finds them, too.
-- last: the newest checkpoint of the lane, so that what comes after it is known to.
ALTER TABLE checkpoints ADD COLUMN kept BLOB;
ALTER TABLE checkpoints ADD COLUMN acks BLOB;
ALTER TABLE lanes ADD COLUMN last BLOB;
UPDATE lanes SET last = (SELECT max(id) FROM checkpoints WHERE checkpoints.lane = lanes.lane);
