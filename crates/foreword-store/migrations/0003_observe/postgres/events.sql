-- The model that was called, so that costs can be summed up by it: the engines read JSON in words of their own.
ALTER TABLE events ADD COLUMN model TEXT;
-- By its text: what is no JSON would keep the database from being opened.
UPDATE events SET model = substring(metadata from '"model":"([^"\\]+)"') WHERE event_type IN ('api_call', 'api_error');
