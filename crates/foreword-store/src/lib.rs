//! What must last: conversations and their frozen prompts, turns, layers, senders, events. One contract on two engines:
//! SQLite for one machine, Postgres for several. Ids and times come in with what is stored; nothing here makes them,
//! and nothing here knows how a prompt is put together.
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

pub mod backup;
pub mod changes;
pub mod check;
pub mod compaction;
pub mod conversation_settings;
pub mod conversations;
pub mod deliveries;
mod engine;
pub mod epochs;
pub mod error;
pub mod events;
pub mod extents;
pub mod hand_overs;
pub mod health;
pub mod layers;
pub mod location;
pub mod mailboxes;
pub mod messages;
pub mod metrics;
mod migrations;
mod needle;
pub mod nodes;
pub mod observations;
pub mod openings;
pub mod progress;
pub mod proxied;
pub mod queues;
pub mod requests;
pub mod schedules;
mod schema;
pub mod senders;
pub mod source_versions;
mod spending;
pub mod store;
pub mod streams;
pub mod templates;
pub mod tokens;
pub mod turns;
pub mod workflow_runs;
