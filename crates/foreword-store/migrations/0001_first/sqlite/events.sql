-- What happened. No reference to `conversations`: events outlive what they tell of.
CREATE TABLE events (
    id                  INTEGER PRIMARY KEY,
    timestamp           TEXT NOT NULL,
    level               TEXT NOT NULL,   -- debug, info, warn, error
    category            TEXT NOT NULL,   -- gateway, router, prompt, agent, tool, channel, …
    session_id          TEXT,
    agent_id            TEXT,
    user_id             TEXT,
    channel             TEXT,
    event_type          TEXT NOT NULL,   -- message_received, turn_started, tool_call, api_error, …
    duration_ms         INTEGER,
    tokens_in           INTEGER,
    tokens_out          INTEGER,
    cost_usd            REAL,
    error               TEXT,
    metadata            TEXT,            -- JSON
    turn_id             TEXT,
    trace_id            TEXT,
    span_id             TEXT,
    parent_span_id      TEXT,
    cache_read_tokens   INTEGER,
    cache_write_tokens  INTEGER,
    prompt_fingerprint  TEXT,
    layer_versions      TEXT             -- JSON
);
CREATE INDEX idx_events_session ON events(session_id, timestamp);
CREATE INDEX idx_events_error ON events(level, timestamp) WHERE level IN ('warn', 'error');
CREATE INDEX idx_events_type ON events(event_type, timestamp);
CREATE INDEX idx_events_timestamp ON events(timestamp);
CREATE INDEX idx_events_turn ON events(turn_id, timestamp) WHERE turn_id IS NOT NULL;
CREATE INDEX idx_events_trace ON events(trace_id, timestamp) WHERE trace_id IS NOT NULL;
