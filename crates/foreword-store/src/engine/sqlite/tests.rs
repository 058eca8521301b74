//! What the writing thread does when a disk is full.
