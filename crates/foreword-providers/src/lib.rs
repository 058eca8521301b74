//! The ways to language models: wire dialects as pure codecs, one transport, provider rows as data, and a model that
//! needs no network. Knows nothing of conversations, databases or the environment.

pub mod offline;
