-- Tokens that open the HTTP interface; only their hashes.
CREATE TABLE tokens (
    id            TEXT PRIMARY KEY,
    name          TEXT NOT NULL,
    user_name     TEXT NOT NULL,
    scopes        TEXT NOT NULL,          -- JSON, a list of words
    mode          TEXT,
    hash          TEXT NOT NULL UNIQUE,
    created_at    TEXT NOT NULL,
    last_used_at  TEXT,
    expires_at    TEXT,
    revoked_at    TEXT
);
