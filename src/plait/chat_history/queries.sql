-- Every statement of the SQLite chat history, by name. Values are always bound.

-- name: read_messages
SELECT message FROM chat_messages WHERE session = ?1 ORDER BY id;

-- name: add_message
INSERT INTO chat_messages (session, message) VALUES (?1, ?2);

-- name: clear
DELETE FROM chat_messages WHERE session = ?1;
