-- Turns, and the journal of each: what was done, in order, before the next thing was begun.

-- `fence` and `holder` are those of the last node that ran it. Fences of a conversation only grow, so they are also
-- the order of its turns, whatever the clock says.
CREATE TABLE turns (
    id               TEXT PRIMARY KEY,
    conversation_id  TEXT NOT NULL REFERENCES conversations(id) ON DELETE CASCADE,
    state            TEXT NOT NULL,   -- running, done, failed, cancelled, interrupted
    trust            TEXT NOT NULL,
    fence            BIGINT NOT NULL,
    holder           TEXT NOT NULL,
    attempts         BIGINT NOT NULL DEFAULT 1,
    epoch            BIGINT,
    fingerprint      TEXT,            -- of the prompt that was sent
    layer_versions   TEXT,            -- JSON
    saved            TEXT,            -- JSON: what is needed to go on
    error            TEXT,
    started_at       TEXT NOT NULL,
    ended_at         TEXT
);
CREATE UNIQUE INDEX idx_turns_conversation ON turns(conversation_id, fence);
-- One at a time.
CREATE UNIQUE INDEX idx_turns_running ON turns(conversation_id) WHERE state = 'running';

CREATE TABLE turn_steps (
    turn_id     TEXT NOT NULL REFERENCES turns(id) ON DELETE CASCADE,
    number      BIGINT NOT NULL,
    kind        TEXT NOT NULL,   -- accepted, prompt_built, call, tool_started, tool_finished, replied
    data        TEXT NOT NULL,   -- JSON
    created_at  TEXT NOT NULL,
    PRIMARY KEY (turn_id, number)
);
