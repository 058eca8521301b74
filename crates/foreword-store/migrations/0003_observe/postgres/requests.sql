-- The last request of each conversation, and of each line of requests that passes through, as hashes: what the next one is
-- compared with.
CREATE TABLE last_requests (
    thread     TEXT PRIMARY KEY,   -- the conversation, or what stands for one
    at         TEXT NOT NULL,
    shape      TEXT NOT NULL,      -- JSON without any text of the request
    epoch      BIGINT,        -- the epoch it was sent in, if it is ours
    usage      TEXT,               -- JSON: what the provider said it took
    answer_id  TEXT                -- the provider's name for the answer
);
CREATE INDEX idx_last_requests_at ON last_requests (at);
-- What those hashes are keyed with. One row.
CREATE TABLE shape_keys (
    number     BIGINT PRIMARY KEY,
    key        TEXT NOT NULL,
    made_at    TEXT NOT NULL
);
