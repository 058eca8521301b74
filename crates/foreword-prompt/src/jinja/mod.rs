//! The Jinja dialect.
