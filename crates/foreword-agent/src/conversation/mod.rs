//! Conversations: accept messages, route them to their agent, run one turn at a time, and deliver the answer.

pub(crate) mod accept_message;
pub(crate) mod agent_routing;
pub mod create;
pub mod feed;
pub mod hand_over;
pub mod inbound;
pub(crate) mod mailbox;
pub(crate) mod purpose;
pub mod settings;
pub mod wait_for_answer;
