-- What one token may ask for, where it differs from the configuration: JSON.
ALTER TABLE tokens ADD COLUMN limits TEXT;
