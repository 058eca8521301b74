//! Durable storage: conversations and their frozen prompts, turns, layers, senders, events. The same interface on two
//! engines: SQLite for one machine, Postgres for several. Callers pass ids and times; the store generates neither. It
//! knows nothing about building prompts.
//!
//! Every operation fails if the database can't be read or written. The documentation of an operation lists only its
//! other errors.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! use foreword_core::timestamp::Timestamp;
//! use foreword_store::location::Location;
//! use foreword_store::store::Store;
//! use foreword_store::templates::NewTemplate;
//!
//! let location = Location::file(folder.path().join("foreword.db"));
//! let now: Timestamp = "2026-11-16T08:00:00Z".parse()?;
//! let store = Store::open(&location, now).await?;
//! let first = store.add_template(NewTemplate::new("You are kind.", "alice", now)).await?;
//! assert_eq!(first.version, 1);
//! # Ok(()) }
//! ```

#![allow(missing_docs, reason = "an internal crate: names say what most public items are")]

pub mod backup;
pub mod changes;
pub mod check;
pub mod compaction;
mod conversation_lock;
pub mod conversation_settings;
pub mod conversation_size;
pub mod conversations;
pub mod deliveries;
mod engine;
pub mod epochs;
pub mod error;
pub mod events;
pub mod hand_overs;
pub mod health;
pub mod layers;
mod lease;
pub mod location;
pub mod mailboxes;
pub mod messages;
pub mod metrics;
pub mod migrated;
pub mod nodes;
pub mod observations;
pub mod progress;
pub mod proxied;
#[cfg(test)]
mod query_plans;
pub mod queues;
pub mod requests;
pub mod schedules;
mod schema;
mod search_pattern;
pub mod senders;
pub mod source_versions;
mod spending;
pub mod store;
pub mod streams;
pub mod templates;
pub mod tokens;
pub mod turn_inputs;
pub mod turns;
pub mod workflow_runs;
