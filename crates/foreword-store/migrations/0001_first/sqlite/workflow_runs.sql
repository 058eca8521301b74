-- Runs of workflows, and how far each step came. `fence` grows with every node that takes a run.
CREATE TABLE workflow_runs (
    id                TEXT PRIMARY KEY,
    workflow          TEXT NOT NULL,
    parameters        TEXT NOT NULL,   -- JSON
    state             TEXT NOT NULL,   -- running, done, failed, cancelled
    conversation_id   TEXT REFERENCES conversations(id) ON DELETE SET NULL,
    started_by        TEXT,
    fence             INTEGER NOT NULL,
    holder            TEXT NOT NULL,
    lease_renewed_at  TEXT NOT NULL,
    lease_millis      INTEGER NOT NULL,
    output            TEXT,            -- JSON
    error             TEXT,
    started_at        TEXT NOT NULL,
    ended_at          TEXT
);
CREATE INDEX idx_workflow_runs_started ON workflow_runs(started_at, id);
CREATE INDEX idx_workflow_runs_running ON workflow_runs(id) WHERE state = 'running';
CREATE INDEX idx_workflow_runs_conversation ON workflow_runs(conversation_id);

CREATE TABLE workflow_steps (
    run_id      TEXT NOT NULL REFERENCES workflow_runs(id) ON DELETE CASCADE,
    number      INTEGER NOT NULL,
    name        TEXT NOT NULL,
    output      TEXT,            -- JSON
    error       TEXT,
    started_at  TEXT NOT NULL,
    ended_at    TEXT,
    PRIMARY KEY (run_id, number)
);
