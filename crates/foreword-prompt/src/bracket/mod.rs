//! The bracket dialect.
