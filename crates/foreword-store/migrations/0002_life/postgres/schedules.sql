-- What came of a firing: done, failed or skipped; and where it happened.
ALTER TABLE schedule_firings ADD COLUMN outcome TEXT;
ALTER TABLE schedule_firings ADD COLUMN conversation_id TEXT;
ALTER TABLE schedule_firings ADD COLUMN message_id TEXT;
ALTER TABLE schedule_firings ADD COLUMN run_id TEXT;
ALTER TABLE schedule_firings ADD COLUMN note TEXT;
-- When its node last said that it is at it; NULL once it has given it up.
ALTER TABLE schedule_firings ADD COLUMN renewed_at TEXT;
UPDATE schedule_firings SET outcome = CASE WHEN error IS NULL THEN 'done' ELSE 'failed' END WHERE ended_at IS NOT NULL;
