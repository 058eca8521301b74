-- The last version of each prompt source that was read and rendered without an error. A new epoch uses it if the source fails.
CREATE TABLE source_versions (
    source    TEXT PRIMARY KEY,  -- a path below the workspace, or `stored template`
    resolved  TEXT NOT NULL,     -- the path with links resolved, or the template's version
    text      TEXT NOT NULL,
    read_at   TEXT NOT NULL
);
