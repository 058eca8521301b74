//! One file for each command: what it asks of the crates below, and how it shows the answer.

pub(crate) mod agents;
pub(crate) mod build;
pub(crate) mod chat;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod conversations;
pub(crate) mod diff;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod inbox;
pub(crate) mod init;
pub(crate) mod layers;
pub(crate) mod memory;
pub(crate) mod outbox;
pub(crate) mod render;
pub(crate) mod run;
pub(crate) mod schedules;
pub(crate) mod schema;
pub(crate) mod senders;
pub(crate) mod skills;
pub(crate) mod status;
pub(crate) mod store;
pub(crate) mod template;
pub(crate) mod tick;
pub(crate) mod tools;
pub(crate) mod workflows;
