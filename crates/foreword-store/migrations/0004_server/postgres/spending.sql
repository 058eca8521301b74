-- What each token has spent on each day (UTC), in picodollars: the sum that its limit is held against, on whichever node.
CREATE TABLE token_spending (
    token_id     TEXT NOT NULL,
    day          TEXT NOT NULL,      -- such as 2026-11-16
    picodollars  BIGINT NOT NULL,
    PRIMARY KEY (token_id, day)
);
CREATE INDEX idx_token_spending_day ON token_spending(day);
