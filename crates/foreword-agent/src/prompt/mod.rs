//! The prompt of a turn: build it from the sources of the workspace, keep it frozen, and watch the sources.

pub(crate) mod build;
pub(crate) mod calibrations;
pub mod failing_sources;
pub(crate) mod frozen_prompt;
pub(crate) mod message_text;
pub mod proxy_prompt;
pub mod request_format;
pub mod stored_changes;
pub mod workspace_reload;
