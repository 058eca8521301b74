//! The frozen prompts of conversations: read, reused, opened anew.
