-- Servers that share this database, as they last said of themselves.
CREATE TABLE nodes (
    node        TEXT PRIMARY KEY,
    version     TEXT NOT NULL,
    listen      TEXT NOT NULL,   -- the address it listens on
    started_at  TEXT NOT NULL,
    seen_at     TEXT NOT NULL
);
