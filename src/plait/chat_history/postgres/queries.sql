-- Every statement of the Postgres chat history, by name. Values are always bound.

-- name: read_messages
SELECT message FROM plait_chat_messages WHERE session = $1::text ORDER BY id;

-- name: add_messages
INSERT INTO plait_chat_messages (session, batch, place, message)
SELECT $1::text, $2::text, place, message
FROM unnest($3::text[]) WITH ORDINALITY AS given (message, place) ORDER BY place
ON CONFLICT (batch, place) DO NOTHING;

-- name: clear
DELETE FROM plait_chat_messages WHERE session = $1::text;
