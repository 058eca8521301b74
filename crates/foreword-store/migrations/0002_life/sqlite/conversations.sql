-- Conversations that were given from one agent to another.
CREATE TABLE hand_overs (
    conversation_id  TEXT NOT NULL REFERENCES conversations(id) ON DELETE CASCADE,
    number           INTEGER NOT NULL,
    from_agent       TEXT NOT NULL,
    to_agent         TEXT NOT NULL,
    by_user          TEXT,
    reason           TEXT,
    after_seq        INTEGER NOT NULL,   -- the last message before it
    created_at       TEXT NOT NULL,
    PRIMARY KEY (conversation_id, number)
);
-- Databases of an early version lack it.
CREATE INDEX IF NOT EXISTS idx_messages_audience ON messages (conversation_id, trust) WHERE role = 'user' AND kind = 'message';
