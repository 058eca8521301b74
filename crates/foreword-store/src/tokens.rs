//! Tokens that open the HTTP interface. Only their hashes are kept.
