-- Conversations that were given from one agent to another.
CREATE TABLE hand_overs (
    conversation_id  TEXT NOT NULL REFERENCES conversations(id) ON DELETE CASCADE,
    number           BIGINT NOT NULL,
    from_agent       TEXT NOT NULL,
    to_agent         TEXT NOT NULL,
    by_user          TEXT,
    reason           TEXT,
    said             TEXT NOT NULL,      -- JSON: who has spoken since the one before it
    trust            TEXT NOT NULL,      -- of whoever wished it: below that only the fact is told
    turn_id          TEXT,               -- the turn in which an agent wished it
    after_seq        BIGINT,             -- the last message before it; none while the turn that wished it is not over
    created_at       TEXT NOT NULL,
    PRIMARY KEY (conversation_id, number)
);
-- Databases of an early version lack it.
CREATE INDEX IF NOT EXISTS idx_messages_audience ON messages (conversation_id, trust) WHERE role = 'user' AND kind = 'message';
-- Whether its agent was one of several when it was made: then no other answers once that one is gone.
ALTER TABLE conversations ADD COLUMN one_of_several BIGINT NOT NULL DEFAULT 0;
