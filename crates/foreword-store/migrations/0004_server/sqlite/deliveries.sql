-- Answers on their way to bridges. One that was not taken is tried again, by one node at a time.
CREATE TABLE deliveries (
    seq              INTEGER PRIMARY KEY,
    id               TEXT NOT NULL UNIQUE,
    family           TEXT NOT NULL,
    channel          TEXT NOT NULL,      -- family:identifier
    conversation_id  TEXT NOT NULL,
    turn_id          TEXT,
    in_reply_to      TEXT,               -- the message it answers
    body             TEXT NOT NULL,      -- JSON, as the bridge gets it
    created_at       TEXT NOT NULL,
    due_at           TEXT NOT NULL,
    attempts         INTEGER NOT NULL DEFAULT 0,
    claimed_by       TEXT,
    claimed_until    TEXT,
    delivered_at     TEXT,
    gave_up_at       TEXT,
    error            TEXT,
    UNIQUE (conversation_id, turn_id)
);
CREATE INDEX idx_deliveries_due ON deliveries(due_at) WHERE delivered_at IS NULL AND gave_up_at IS NULL;
CREATE INDEX idx_deliveries_waiting ON deliveries(channel, seq) WHERE delivered_at IS NULL AND gave_up_at IS NULL;
-- Answers that are not on their way yet are looked for among the turns that have ended lately.
CREATE INDEX idx_turns_ended ON turns(ended_at) WHERE state = 'done';
