-- What came of a firing: done, failed or skipped; and where it happened.
ALTER TABLE schedule_firings ADD COLUMN outcome TEXT;
ALTER TABLE schedule_firings ADD COLUMN conversation_id TEXT;
ALTER TABLE schedule_firings ADD COLUMN message_id TEXT;
ALTER TABLE schedule_firings ADD COLUMN run_id TEXT;
UPDATE schedule_firings SET outcome = CASE WHEN error IS NULL THEN 'done' ELSE 'failed' END WHERE ended_at IS NOT NULL;
