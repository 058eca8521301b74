//! What is recorded of requests that pass: usage, cost and cache diagnosis, after the answer.

use foreword_core::id::ConversationId;
use foreword_core::provider::WireDialect;

use super::body::RequestBody;
use super::exchange::{Exchange, Payer};
use crate::app::App;
use crate::problem::Problem;

/// Whoever records. One for the whole server.
#[derive(Debug, Default)]
pub(crate) struct Recording;

impl Recording {
    /// Somebody who looks at an answer as it passes.
    pub(crate) fn tap(&self, _dialect: WireDialect, _is_stream: bool) -> Tap {
        Tap
    }

    /// Takes note of what passed. Never waits.
    pub(crate) fn note(&self, _app: &App, _exchange: Exchange) {}

    /// The conversation a request goes on with: the one the client names, if that is the payer's, else the one of the payer's
    /// that begins like it, else a new one.
    pub(crate) async fn thread(
        &self,
        app: &App,
        _payer: &Payer,
        _dialect: WireDialect,
        (_body, named): (&RequestBody<'_>, Option<&str>),
    ) -> Result<ConversationId, Problem> {
        let id = match named {
            Some(named) => ConversationId::new(named),
            None => app.surroundings.id("px"),
        };
        id.map_err(|error| Problem::bad_request("bad_id", error.to_string()))
    }
}

/// Looks at an answer as it passes.
#[derive(Debug)]
pub(crate) struct Tap;

impl Tap {
    /// The next piece of the body, as it came.
    pub(crate) fn feed(&mut self, _piece: &[u8]) {}

    /// That was all.
    pub(crate) fn end(self) -> Tapped {
        Tapped
    }
}

/// What was seen in an answer.
#[derive(Debug, Default)]
pub(crate) struct Tapped;
