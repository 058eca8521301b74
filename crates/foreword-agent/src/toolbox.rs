//! A tool at work for a turn: what it is given, and what the turn is told of what it gave.

use foreword_core::event::Event;
use foreword_core::taint::TaintSource;
use foreword_core::turn::{Permit, ToolEnded};
use foreword_prompt::untrusted::{Marker, Origin, Untrusted, frame};
use tokio::time::Instant;

use crate::tool::{ToolFuture, ToolOutput};

/// A tool at work. Dropping it stops it.
pub(crate) struct Running {
    pub(crate) permit: Permit,
    pub(crate) since: Instant,
    future: ToolFuture,
}

impl Running {
    pub(crate) fn new(permit: Permit, future: ToolFuture) -> Self {
        Self { permit, since: Instant::now(), future }
    }

    /// Waits for it.
    pub(crate) async fn output(&mut self) -> ToolOutput {
        (&mut self.future).await
    }
}

/// What the turn is told of an output, and what belongs into the log. Words from outside are framed with a marker made of
/// `random`, which they can't have known.
pub(crate) fn ended(permit: &Permit, output: ToolOutput, random: u128) -> (ToolEnded, Vec<Event>) {
    let ToolOutput { text, is_error, from_outside, events } = output;
    let origin = Origin::tool(permit.tool());
    let (content, source) = if from_outside {
        let marker = Marker::from_random_bytes(random.to_be_bytes());
        let framed = frame(&[Untrusted::new(origin.clone(), text)], &marker);
        (framed.as_str().to_owned(), Some(TaintSource::Outside(origin)))
    } else {
        (text, None)
    };
    // No provider takes an empty result.
    let content = if content.trim().is_empty() { "(nothing)".to_owned() } else { content };
    (ToolEnded { call: permit.call().clone(), content, is_error, from_outside: source }, events)
}
