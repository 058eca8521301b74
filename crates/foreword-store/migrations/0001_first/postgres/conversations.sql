-- What conversations are made of. Whatever belongs to one conversation goes with it.

-- `next_seq` numbers messages; the lease says which node runs a turn. `lease_fence` grows with every holder, so that
-- one that was thought dead and is not can no longer write.
CREATE TABLE conversations (
    id                TEXT PRIMARY KEY,
    agent             TEXT NOT NULL,
    user_id           TEXT,
    channel           TEXT,
    situation         TEXT NOT NULL,
    title             TEXT,
    created_at        TEXT NOT NULL,
    last_activity_at  TEXT NOT NULL,
    next_seq          BIGINT NOT NULL DEFAULT 1,
    lease_holder      TEXT,
    lease_turn        TEXT,
    lease_fence       BIGINT NOT NULL DEFAULT 0,
    lease_renewed_at  TEXT,
    lease_millis      BIGINT
);
CREATE INDEX idx_conversations_activity ON conversations(last_activity_at, id);
CREATE INDEX idx_conversations_user ON conversations(user_id, last_activity_at, id);

-- Frozen prompts, each text once whoever uses it.
CREATE TABLE texts (
    hash  TEXT PRIMARY KEY,
    text  TEXT NOT NULL
);

-- The frozen prompts of a conversation, numbered from 1, each for one trust; the highest number is in force, at its own
-- trust and at no other.
CREATE TABLE epochs (
    conversation_id   TEXT NOT NULL REFERENCES conversations(id) ON DELETE CASCADE,
    number            BIGINT NOT NULL,
    trust             TEXT NOT NULL,
    text_hash         TEXT NOT NULL REFERENCES texts(hash),
    built_from        TEXT NOT NULL,   -- one name for all of `dependencies`
    dependencies      TEXT NOT NULL,   -- JSON
    blocks            TEXT NOT NULL,   -- JSON
    layers            TEXT NOT NULL,   -- JSON
    layer_versions    TEXT NOT NULL,   -- JSON
    template_version  BIGINT,
    reason            TEXT NOT NULL,   -- JSON
    tokens            BIGINT NOT NULL,
    opened_at         TEXT NOT NULL,
    PRIMARY KEY (conversation_id, number)
);
CREATE INDEX idx_epochs_text ON epochs(text_hash);

CREATE TABLE messages (
    conversation_id    TEXT NOT NULL REFERENCES conversations(id) ON DELETE CASCADE,
    seq                BIGINT NOT NULL,
    id                 TEXT NOT NULL UNIQUE,
    role               TEXT NOT NULL,   -- user, assistant, tool, system
    kind               TEXT NOT NULL,   -- message, summary, notice, sent
    content            TEXT NOT NULL,   -- JSON, a list of blocks
    trust              TEXT NOT NULL,   -- at which it was written
    provenance         TEXT NOT NULL,   -- owner, user, outside, agent
    author             TEXT,
    turn_id            TEXT,
    idempotency_scope  TEXT,
    idempotency_key    TEXT,
    tokens_in          BIGINT,
    tokens_out         BIGINT,
    cache_read         BIGINT,
    cache_write        BIGINT,
    created_at         TEXT NOT NULL,
    PRIMARY KEY (conversation_id, seq),
    UNIQUE (idempotency_scope, idempotency_key)
);
-- Messages that no turn has taken up yet.
CREATE INDEX idx_messages_pending ON messages(conversation_id, seq) WHERE turn_id IS NULL AND role = 'user' AND kind = 'message';
-- Who hears what is said in a shared place.
CREATE INDEX idx_messages_audience ON messages (conversation_id, trust) WHERE role = 'user' AND kind = 'message';

-- From the newest row on, the history is its summary and what came behind `covered_to`; what is covered stays readable.
CREATE TABLE compactions (
    conversation_id  TEXT NOT NULL REFERENCES conversations(id) ON DELETE CASCADE,
    number           BIGINT NOT NULL,
    covered_to       BIGINT NOT NULL,
    summary_seq      BIGINT NOT NULL,
    epoch            BIGINT NOT NULL,
    created_at       TEXT NOT NULL,
    PRIMARY KEY (conversation_id, number)
);
