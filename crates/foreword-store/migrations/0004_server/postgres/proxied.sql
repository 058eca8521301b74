-- Lines of requests that passed through the drop-in endpoints: which conversation a request goes on with is found by how it
-- begins, as keyed hashes.
CREATE TABLE proxied (
    conversation_id  TEXT PRIMARY KEY REFERENCES conversations(id) ON DELETE CASCADE,
    payer            TEXT NOT NULL,      -- the token's id, or what a client's own key is known by
    dialect          TEXT NOT NULL,
    last_at          TEXT NOT NULL,
    chain            TEXT NOT NULL       -- sixteen digits for every message, each over all before it
);
CREATE INDEX idx_proxied_payer ON proxied(payer, last_at);
CREATE INDEX idx_proxied_last ON proxied(last_at);
