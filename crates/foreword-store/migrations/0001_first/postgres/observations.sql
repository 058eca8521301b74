-- Things worth remembering. They outlive the conversation they were made in.
CREATE TABLE observations (
    id               TEXT PRIMARY KEY,
    store            TEXT NOT NULL,   -- private, shared, social
    title            TEXT NOT NULL,
    text             TEXT NOT NULL,
    trust            TEXT NOT NULL,   -- of the turn that wrote it
    provenance       TEXT NOT NULL,   -- owner, user, outside, agent
    tainted          BIGINT NOT NULL,
    conversation_id  TEXT REFERENCES conversations(id) ON DELETE SET NULL,
    turn_id          TEXT REFERENCES turns(id) ON DELETE SET NULL,
    author           TEXT,
    created_at       TEXT NOT NULL
);
CREATE INDEX idx_observations_store ON observations(store, created_at, id);
CREATE INDEX idx_observations_conversation ON observations(conversation_id);
CREATE INDEX idx_observations_turn ON observations(turn_id);
