//! One proxied request and its response, as it is recorded.
//!
//! The forwarding side creates one [`Exchange`] for each admitted request and passes it to
//! [`Recording::note`](super::record::Recording::note) exactly once: after the last byte of the response, when the
//! response is aborted, or when the client disconnects. That happens on the connection's task, so it must not block.
//! Each chunk of the response is fed to a [`Tap`](super::record::Tap), unless it is compressed.
//!
//! In `prepend` and `replace` [`Recording::thread`](super::record::Recording::thread) determines the conversation
//! before the request is sent, because the prompt depends on it. In `observe` [`Exchange::conversation`] is `None`, and
//! the recorder determines it from the request body afterwards.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use foreword_core::api_token::ProxyMode;
use foreword_core::id::{ConversationId, TokenId};
use foreword_core::provider::WireDialect;
use foreword_core::timestamp::Timestamp;
use http::StatusCode;

use super::record::AnswerSummary;
use super::route::Route;

/// The payer of a request, which decides which conversations it may join.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Payer {
    /// A client with a token of this server.
    Token {
        id: TokenId,
        /// The token's user, or the asserted one, if known.
        user: Option<Arc<str>>,
        /// The scope of the conversations: the token's id, plus a hash of the asserted occasion. A conversation is
        /// never continued in another place, where other people may listen.
        scope: Arc<str>,
    },
    /// A local program with its own provider key, identified by a keyed hash of it. It conveys no trust.
    ClientKey(Arc<str>),
}

impl Payer {
    /// The name in stored records. Not a secret.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Token { scope, .. } => scope,
            Self::ClientKey(hash) => hash,
        }
    }

    /// The id of the token or key, without an asserted occasion. Not a secret.
    pub(crate) fn credential(&self) -> &str {
        match self {
            Self::Token { id, .. } => id.as_str(),
            Self::ClientKey(hash) => hash,
        }
    }

    /// The user, if known.
    pub(crate) fn user(&self) -> Option<&str> {
        match self {
            Self::Token { user, .. } => user.as_deref(),
            Self::ClientKey(_) => None,
        }
    }
}

/// How an exchange ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExchangeOutcome {
    /// The response was forwarded to its end. Its status may be an error.
    Answered,
    ClientDisconnected,
    /// The provider aborted the response.
    Aborted,
    /// The provider was silent for too long.
    TimedOut,
    /// The provider could not be reached.
    Unreachable,
}

#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) payer: Payer,
    pub(crate) route: Route,
    pub(crate) dialect: WireDialect,
    /// The provider's name in the configuration.
    pub(crate) provider: Arc<str>,
    pub(crate) mode: ProxyMode,
    /// The client's name for the conversation (`x-foreword-conversation`). Only checked to be text.
    pub(crate) client_name: Option<Arc<str>>,
    /// The conversation, if it was determined before the request was sent.
    pub(crate) conversation: Option<ConversationId>,
    /// The epoch whose prompt was injected.
    pub(crate) epoch: Option<u64>,
    /// The request's id, which the client got as `x-foreword-request-id`.
    pub(crate) request_id: String,
    /// The body as sent to the provider.
    pub(crate) request: Bytes,
    /// When the request arrived.
    pub(crate) began: Timestamp,
    /// Time to the first byte of the response.
    pub(crate) first_byte: Option<Duration>,
    /// Total time.
    pub(crate) took: Duration,
    /// The part of it not spent waiting for the provider or the client.
    pub(crate) overhead: Duration,
    /// The provider's status, if it answered.
    pub(crate) status: Option<StatusCode>,
    /// The provider's id of the request.
    pub(crate) upstream_request_id: Option<String>,
    pub(crate) outcome: ExchangeOutcome,
    pub(crate) retries: u32,
    /// The data extracted from the response.
    pub(crate) summary: AnswerSummary,
}
