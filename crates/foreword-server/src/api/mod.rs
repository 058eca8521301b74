//! The handlers of the HTTP interface, one file per group of routes. A handler parses the request, calls the crates
//! below and formats the response. The routes are listed in `router`.

pub(crate) mod cache;
pub(crate) mod channels;
pub(crate) mod conversations;
pub(crate) mod costs;
mod cursor;
mod error_responses;
mod etag;
mod event_body;
pub(crate) mod events;
pub(crate) mod extract;
pub(crate) mod inbox;
pub(crate) mod layers;
pub(crate) mod memory;
pub(crate) mod occasions;
pub(crate) mod pagination;
mod permission;
pub(crate) mod prompts;
pub(crate) mod schedules;
pub(crate) mod senders;
pub(crate) mod session;
pub(crate) mod simulate;
pub(crate) mod status;
pub(crate) mod template;
pub(crate) mod tokens;
pub(crate) mod tools;
pub(crate) mod traces;
pub(crate) mod turns;
mod utc_time;
mod viewer;
pub(crate) mod workflow_runs;
pub(crate) mod workflows;

pub(crate) use conversations::{change, present, refused};
pub(crate) use etag::json_with_etag;
