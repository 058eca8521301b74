-- Mutable layers. Versions are added and never changed; `applied` is 0 for a built-in default that was only put on
-- record, because the layer does not follow the defaults.
CREATE TABLE layer_versions (
    blueprint    TEXT NOT NULL,
    layer_id     TEXT NOT NULL,
    version      BIGINT NOT NULL,
    content      TEXT NOT NULL,
    hash         TEXT NOT NULL,
    origin       TEXT NOT NULL,   -- default, edit, rollback
    restores     BIGINT,          -- the version a rollback is to
    applied      BIGINT NOT NULL,
    writer_kind  TEXT NOT NULL,   -- program, owner, agent
    writer       TEXT,
    turn_id      TEXT,
    message      TEXT,
    created_at   TEXT NOT NULL,
    PRIMARY KEY (blueprint, layer_id, version)
);
CREATE INDEX idx_layer_versions_default ON layer_versions(blueprint, layer_id, version) WHERE origin = 'default';
CREATE INDEX idx_layer_versions_hash ON layer_versions(blueprint, layer_id, hash);

-- Which version of each is in force.
CREATE TABLE layers (
    blueprint  TEXT NOT NULL,
    layer_id   TEXT NOT NULL,
    version    BIGINT NOT NULL,
    PRIMARY KEY (blueprint, layer_id)
);
