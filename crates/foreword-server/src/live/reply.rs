//! What a client of the WebSocket is told besides what happens in conversations.

use axum::extract::ws::Utf8Bytes;
use foreword_core::id::{ConversationId, MessageId};
use serde::Serialize;
use utoipa::ToSchema;

use crate::problem::Problem;

/// What a client is told.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(crate) enum Reply {
    /// A message is taken in: it is durable, and going to be answered.
    Accepted {
        #[schema(value_type = String)]
        session_id: ConversationId,
        #[schema(value_type = String)]
        message_id: MessageId,
        /// Whether it had been taken in before.
        before: bool,
    },
    /// What happens is shown from now on.
    Subscribed {
        #[schema(value_type = String)]
        session_id: ConversationId,
        /// Behind which number.
        after: u64,
        /// The last number there is now.
        last: u64,
    },
    /// What happens is not shown any more.
    Unsubscribed {
        #[schema(value_type = String)]
        session_id: ConversationId,
    },
    /// The settings of a conversation are changed; they apply from the next turn on.
    Updated {
        #[schema(value_type = String)]
        session_id: ConversationId,
    },
    /// The turn that runs is asked to stop; its `turn_end` follows.
    Cancelling {
        #[schema(value_type = String)]
        session_id: ConversationId,
    },
    /// The answer to a question is passed on.
    Answered {
        #[schema(value_type = String)]
        session_id: ConversationId,
    },
    /// The answer to `ping`.
    Pong,
    /// How it goes with the server itself.
    Status { text: String },
    /// Something was refused.
    Problem {
        #[serde(flatten)]
        problem: Problem,
    },
}

/// The same, with what it is a reply to.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct To<'a> {
    #[serde(flatten)]
    reply: &'a Reply,
    #[serde(skip_serializing_if = "Option::is_none")]
    in_reply_to: Option<&'a str>,
}

impl Reply {
    /// As it goes over the wire.
    pub(super) fn to_wire(&self, in_reply_to: Option<&str>) -> Utf8Bytes {
        // Texts and numbers have a JSON form.
        serde_json::to_string(&To { reply: self, in_reply_to }).unwrap_or_default().into()
    }
}

impl From<Problem> for Reply {
    fn from(problem: Problem) -> Self {
        Self::Problem { problem }
    }
}
