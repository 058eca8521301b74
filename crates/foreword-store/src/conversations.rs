//! Conversations: made, found, listed, deleted with all that belongs to them.
