-- What a run needs to be gone on with: the occasion it was started on, the file it was started from, and whether it has
-- read text from outside.
ALTER TABLE workflow_runs ADD COLUMN occasion TEXT;
ALTER TABLE workflow_runs ADD COLUMN workflow_hash TEXT;
ALTER TABLE workflow_runs ADD COLUMN tainted INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workflow_steps ADD COLUMN attempts INTEGER NOT NULL DEFAULT 1;
ALTER TABLE workflow_steps ADD COLUMN side_effects INTEGER NOT NULL DEFAULT 0;
-- The hash of what the step said when it was begun: a file that has changed since is noticed.
ALTER TABLE workflow_steps ADD COLUMN definition TEXT;
