//! The agent's own life: messages that others leave for it are answered in batches, and where none waits it has turns of
//! its own. What belongs into a batch and what it answers is decided by `foreword_core::sender`; here it is done.
//!
//! Every batch is a conversation of its own, so that nothing one sender wrote is ever in another's history. Its turn has
//! read text from outside before it begins. What it answers goes out when it ends, in one step with taking its messages
//! out of the inbox, so that a crash loses nothing and sends nothing twice.

mod alone;
mod answering;
mod command;
mod context;
mod ending;
mod picking;
mod preview;
mod staging;
mod state;
mod tick;
mod tools_of;

pub(crate) use alone::is_own;
pub use answering::{Answering, InboxNews};
pub(crate) use context::{obligations, situate};
pub(crate) use ending::settle;
pub(crate) use picking::CONVERSATION;
pub use preview::Preview;
pub use staging::{LONGEST_BODY, NotTaken, stage};
pub use tick::{Tick, Ticked};
pub(crate) use tools_of::{more_tools, with_tools};

use foreword_core::message::Provenance;
use foreword_core::retry::RetryPolicy;

use crate::inbound::Purpose;

/// Whether the words a turn begins with are our own: nobody has said them.
pub(crate) fn is_own_words(purpose: &Purpose) -> bool {
    matches!(purpose, Purpose::Inbox { .. } | Purpose::Alone)
}

/// Where what a turn has sent comes from, at worst, given where the words it began with come from.
pub(crate) fn provenance_of(purpose: &Purpose, begun: Provenance) -> Provenance {
    match purpose {
        // The messages stand in its context.
        Purpose::Inbox { .. } => Provenance::Outside,
        _ => begun,
    }
}

/// How failed calls of such a turn are tried again.
pub(crate) fn retry(policy: &RetryPolicy, purpose: &Purpose) -> RetryPolicy {
    match purpose {
        // The inbox is a queue already: there messages wait without holding up those of others.
        Purpose::Inbox { .. } => RetryPolicy { max_requeues: 0, ..policy.clone() },
        _ => policy.clone(),
    }
}
