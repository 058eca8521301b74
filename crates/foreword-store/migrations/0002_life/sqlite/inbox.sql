-- A message whose turns keep failing is set aside after some attempts, so that it can't hold up the others.
-- `state` is one of staged, consumed, set_aside.
ALTER TABLE inbox ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
-- Those of them that may have been the message's own fault.
ALTER TABLE inbox ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;
ALTER TABLE inbox ADD COLUMN error TEXT;
-- How many wait, in all and of one sender.
CREATE INDEX idx_inbox_waiting ON inbox(sender) WHERE state = 'staged';
CREATE INDEX idx_inbox_set_aside ON inbox(seq) WHERE state = 'set_aside';
