-- Who writes to the agent, and what was said; the inbox and the outbox.

-- `next_seq` numbers a sender's exchanges; numbers are never used again.
CREATE TABLE senders (
    address        TEXT PRIMARY KEY,
    first_seen     TEXT NOT NULL,
    last_activity  TEXT NOT NULL,
    next_seq       INTEGER NOT NULL DEFAULT 1
);
CREATE INDEX idx_senders_activity ON senders(last_activity, address);

-- When new senders were let in lately, whether they are still there or not.
CREATE TABLE sender_admissions (
    address      TEXT NOT NULL,
    admitted_at  TEXT NOT NULL,
    PRIMARY KEY (admitted_at, address)
);

-- Texts are cut to a limit here; in the inbox and the outbox they are whole.
CREATE TABLE exchanges (
    sender            TEXT NOT NULL REFERENCES senders(address) ON DELETE CASCADE,
    seq               INTEGER NOT NULL,
    inbox_message_id  TEXT NOT NULL UNIQUE,
    sender_body       TEXT NOT NULL,
    agent_reply       TEXT,
    turn_id           TEXT NOT NULL,
    timestamp         TEXT NOT NULL,
    PRIMARY KEY (sender, seq)
);

CREATE TABLE inbox (
    seq          INTEGER PRIMARY KEY,
    id           TEXT NOT NULL UNIQUE,
    sender       TEXT NOT NULL,
    body         TEXT NOT NULL,
    received_at  TEXT NOT NULL,
    state        TEXT NOT NULL,   -- staged, consumed
    turn_id      TEXT,
    consumed_at  TEXT
);
CREATE INDEX idx_inbox_staged ON inbox(seq) WHERE state = 'staged';
CREATE INDEX idx_inbox_sender ON inbox(sender, seq);

CREATE TABLE outbox (
    seq           INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    recipient     TEXT NOT NULL,
    body          TEXT NOT NULL,
    in_reply_to   TEXT,
    turn_id       TEXT NOT NULL,
    created_at    TEXT NOT NULL,
    delivered_at  TEXT,
    attempts      INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX idx_outbox_undelivered ON outbox(seq) WHERE delivered_at IS NULL;
CREATE INDEX idx_outbox_recipient ON outbox(recipient, seq);
