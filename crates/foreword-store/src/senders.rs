//! What was said with each sender, bounded.
