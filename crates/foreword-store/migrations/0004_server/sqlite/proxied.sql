-- Lines of requests that passed through the drop-in endpoints: which conversation a request goes on with is found by how it
-- begins, as keyed hashes.
CREATE TABLE proxied (
    conversation_id  TEXT PRIMARY KEY REFERENCES conversations(id) ON DELETE CASCADE,
    token_id         TEXT NOT NULL,
    dialect          TEXT NOT NULL,
    last_at          TEXT NOT NULL,
    chain            TEXT NOT NULL       -- JSON: a hash for every message, each over all before it
);
CREATE INDEX idx_proxied_token ON proxied(token_id, last_at);
