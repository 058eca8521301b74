-- What runs by the clock. A schedule that is no longer configured is disabled and stays, with its history.
CREATE TABLE schedules (
    name                  TEXT PRIMARY KEY,
    cron                  TEXT NOT NULL,
    time_zone             TEXT NOT NULL,
    enabled               BIGINT NOT NULL,
    next_fire_at          TEXT,
    last_due_at           TEXT,
    last_ended_at         TEXT,
    last_error            TEXT,
    consecutive_failures  BIGINT NOT NULL DEFAULT 0,
    created_at            TEXT NOT NULL,
    updated_at            TEXT NOT NULL
);
CREATE INDEX idx_schedules_due ON schedules(next_fire_at) WHERE enabled = 1;

-- Each firing once, whichever node was first.
CREATE TABLE schedule_firings (
    schedule    TEXT NOT NULL REFERENCES schedules(name) ON DELETE CASCADE,
    due_at      TEXT NOT NULL,
    node        TEXT NOT NULL,
    claimed_at  TEXT NOT NULL,
    ended_at    TEXT,
    error       TEXT,
    PRIMARY KEY (schedule, due_at)
);
CREATE INDEX idx_schedule_firings_open ON schedule_firings(claimed_at) WHERE ended_at IS NULL;
