-- The messages of sessions, in the order in which they were added. What was added in one call has
-- one batch: to add it again, after a broken connection, changes nothing.
CREATE TABLE plait_chat_messages (
  id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  session text COLLATE "C" NOT NULL,
  batch   text COLLATE "C" NOT NULL,
  place   bigint NOT NULL,
  message text NOT NULL,
  UNIQUE (batch, place)
);
CREATE INDEX plait_chat_messages_of_session ON plait_chat_messages (session, id);
