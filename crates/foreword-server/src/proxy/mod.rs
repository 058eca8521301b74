//! Drop-in endpoints: a client that speaks to Anthropic or OpenAI speaks to them through here, with nothing changed but its
//! address. What passes is forwarded as bytes; what is recorded is recorded after the answer.

pub(crate) mod body;
pub(crate) mod exchange;
pub(crate) mod record;
pub(crate) mod route;
pub(crate) mod scan;
