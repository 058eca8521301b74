//! What happened: written in batches off the caller's path, kept for a time, read and exported.
