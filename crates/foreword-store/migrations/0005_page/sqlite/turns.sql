-- Turns are listed by when they began: all of them, somebody's, one conversation's, those that went wrong.
-- Whose conversation it is stands here again, so that somebody's turns are found without a look at anybody else's.
ALTER TABLE turns ADD COLUMN user_id TEXT;
UPDATE turns SET user_id = (SELECT c.user_id FROM conversations AS c WHERE c.id = turns.conversation_id);
CREATE INDEX idx_turns_started ON turns(started_at, id);
CREATE INDEX idx_turns_session ON turns(conversation_id, started_at, id);
CREATE INDEX idx_turns_user ON turns(user_id, started_at, id);
CREATE INDEX idx_turns_state ON turns(state, started_at, id);
