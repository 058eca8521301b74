-- The model that was called, so that costs can be summed up by it: the engines read JSON in words of their own.
ALTER TABLE events ADD COLUMN model TEXT;
UPDATE events SET model = json_extract(metadata, '$.model')
    WHERE event_type IN ('api_call', 'api_error') AND json_valid(metadata) AND json_type(metadata, '$.model') = 'text';
