//! Copies of everything, made while the store is in use, and brought back into an empty one.
