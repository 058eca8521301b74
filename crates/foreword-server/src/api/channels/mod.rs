//! Bridges to messengers: idempotent inbound messages, and answers as signed webhooks.

mod backoff;
pub(crate) mod deliveries;
pub(crate) mod inbound;
mod signature;
mod webhook;
mod webhook_worker;

pub(crate) use inbound::is_of_channel;
pub(crate) use webhook_worker::send_answers;
