-- What happens in conversations, numbered for whoever looks on, whichever node runs the turn. Kept for a while: what lasts is
-- in the messages.
CREATE TABLE stream_items (
    conversation_id  TEXT NOT NULL REFERENCES conversations(id) ON DELETE CASCADE,
    seq              BIGINT NOT NULL,   -- from 1, without gaps
    at               TEXT NOT NULL,
    trust            TEXT NOT NULL,      -- whoever is trusted less does not see it
    item             TEXT NOT NULL,      -- JSON, as clients get it
    PRIMARY KEY (conversation_id, seq)
);
CREATE INDEX idx_stream_items_at ON stream_items(at);
-- The last number given out, which outlives the items.
ALTER TABLE conversations ADD COLUMN stream_seq BIGINT NOT NULL DEFAULT 0;
