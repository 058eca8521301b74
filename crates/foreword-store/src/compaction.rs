//! Replacing a history by its summary, together with its epoch.
