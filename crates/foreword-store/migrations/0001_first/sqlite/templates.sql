-- The global template: numbered versions that never change.
CREATE TABLE templates (
    version     INTEGER PRIMARY KEY,
    text        TEXT NOT NULL,
    hash        TEXT NOT NULL,
    author      TEXT NOT NULL,
    message     TEXT,
    created_at  TEXT NOT NULL
);
