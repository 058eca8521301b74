//! What passed through a drop-in endpoint, for whoever records it.
//!
//! The forwarding side makes one [`Exchange`] for each request that was let in, and gives it to
//! [`Recording::note`](super::record::Recording::note) exactly once: when the last byte of the answer has been passed on, when
//! it broke off, or when the client went away. It is given after the answer, on the task of the connection, so noting must
//! not wait for anything. While the answer passes, each piece of it is shown to a [`Tap`](super::record::Tap), unless it is
//! encoded in a way the client asked for and a tap can't read.
//!
//! In `prepend` and `replace` the conversation is decided before the request is sent, by
//! [`Recording::thread`](super::record::Recording::thread), because its epoch is what is sent. In `observe` it is not decided
//! at all on the way: [`Exchange::conversation`] is `None`, and whoever records finds it from the request's bytes.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use foreword_core::api_token::ProxyMode;
use foreword_core::id::{ConversationId, TokenId};
use foreword_core::provider::WireDialect;
use foreword_core::timestamp::Timestamp;
use http::StatusCode;

use super::record::Tapped;
use super::route::Route;

/// Who pays for a request, and so whose conversations it may join.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Payer {
    /// Somebody with a token of ours.
    Token {
        /// Which.
        id: TokenId,
        /// Who speaks: the user it stands for, or whom it asserts, if that is somebody known.
        user: Option<Arc<str>>,
        /// What their conversations are kept by: its id, and behind it what stands for an occasion it asserts. What is said on
        /// one is not joined on another, where others hear it.
        line: Arc<str>,
    },
    /// Somebody on this machine with a key of the provider's own, known by a keyed hash of it: nobody is trusted for that.
    ClientKey(Arc<str>),
}

impl Payer {
    /// What stands for them where requests are kept: no secret.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Token { line, .. } => line,
            Self::ClientKey(hash) => hash,
        }
    }

    /// What they have shown, whomever they speak for: no secret either.
    pub(crate) fn shown(&self) -> &str {
        match self {
            Self::Token { id, .. } => id.as_str(),
            Self::ClientKey(hash) => hash,
        }
    }

    /// The user, if it is somebody known.
    pub(crate) fn user(&self) -> Option<&str> {
        match self {
            Self::Token { user, .. } => user.as_deref(),
            Self::ClientKey(_) => None,
        }
    }
}

/// What came of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The answer was passed on to its end; its status may still be an error's.
    Answered,
    /// The client did not wait for it.
    ClientWentAway,
    /// The provider broke off in the middle.
    BrokeOff,
    /// The provider said nothing for too long.
    TimedOut,
    /// Nobody answered there.
    NotReached,
}

/// One request that passed through, and what came of it.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) payer: Payer,
    pub(crate) route: Route,
    pub(crate) dialect: WireDialect,
    /// The provider's name in the configuration.
    pub(crate) provider: Arc<str>,
    pub(crate) mode: ProxyMode,
    /// What the client calls the conversation (`x-foreword-conversation`). Nothing has been checked but that it is text.
    pub(crate) named: Option<Arc<str>>,
    /// The conversation, if it was decided before the request was sent.
    pub(crate) conversation: Option<ConversationId>,
    /// The epoch whose prompt was sent, if it was ours.
    pub(crate) epoch: Option<u64>,
    /// Our name for the request, which the client was told as `x-foreword-request-id`.
    pub(crate) request_id: String,
    /// The body as it was sent to the provider.
    pub(crate) request: Bytes,
    /// When it had come in.
    pub(crate) began: Timestamp,
    /// From then to the first byte of the answer, if one came.
    pub(crate) first_byte: Option<Duration>,
    /// From then to the end.
    pub(crate) took: Duration,
    /// Of that, what was spent here and not in waiting for the provider or the client.
    pub(crate) overhead: Duration,
    /// The provider's status, if it answered.
    pub(crate) status: Option<StatusCode>,
    /// The provider's own name for the request.
    pub(crate) upstream_request_id: Option<String>,
    pub(crate) outcome: Outcome,
    /// How often it was tried again before that.
    pub(crate) retries: u32,
    /// What was seen in the answer.
    pub(crate) tapped: Tapped,
}
