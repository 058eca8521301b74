//! A running tool call, and the conversion of its output for the turn.

use foreword_core::event::Event;
use foreword_core::taint::TaintSource;
use foreword_core::turn::{Permit, ToolEnded};
use foreword_prompt::untrusted::{Marker, Origin, Untrusted, frame};
use tokio::time::Instant;

use crate::tool::{ToolFuture, ToolOutput};

/// A running tool call. Dropping it cancels the tool.
pub(crate) struct Running {
    pub(crate) permit: Permit,
    pub(crate) since: Instant,
    future: ToolFuture,
}

impl Running {
    pub(crate) fn new(permit: Permit, future: ToolFuture) -> Self {
        Self { permit, since: Instant::now(), future }
    }

    /// Waits for the output.
    pub(crate) async fn output(&mut self) -> ToolOutput {
        (&mut self.future).await
    }
}

/// Converts an output to the input of the turn and the events to log. Untrusted text is framed with an unpredictable
/// marker made from `random`.
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
    // Providers reject empty results.
    let content = if content.trim().is_empty() { "(nothing)".to_owned() } else { content };
    (ToolEnded { call: permit.call().clone(), content, is_error, from_outside: source }, events)
}
