-- What the owner has set for a conversation; it applies to all turns. A conversation without a row has no settings.
CREATE TABLE conversation_settings (
    conversation_id       TEXT PRIMARY KEY REFERENCES conversations(id) ON DELETE CASCADE,
    session_instructions  TEXT,
    cwd                   TEXT,     -- relative to the workspace, or absolute
    context               TEXT,     -- JSON: an object with values for templates
    updated_at            TEXT NOT NULL
);
-- Incremented with every change of the settings: a turn that read them earlier sees that it has to read them again.
ALTER TABLE conversations ADD COLUMN settings_version BIGINT NOT NULL DEFAULT 0;
