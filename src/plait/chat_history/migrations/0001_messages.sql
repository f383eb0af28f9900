-- The messages of sessions, in the order in which they were added.
CREATE TABLE chat_messages (
  id INTEGER PRIMARY KEY,
  session TEXT NOT NULL,
  message TEXT NOT NULL
);
CREATE INDEX chat_messages_of_session ON chat_messages (session, id);
