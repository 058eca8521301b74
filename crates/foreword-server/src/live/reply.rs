//! WebSocket messages of the server, besides the events of conversations.

use axum::extract::ws::Utf8Bytes;
use foreword_core::id::{ConversationId, MessageId, TurnId};
use serde::Serialize;
use utoipa::ToSchema;

use crate::problem::Problem;

/// A reply of the server.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Reply {
    /// A message is stored and will be answered.
    #[serde(rename_all = "camelCase")]
    Accepted {
        #[schema(value_type = String)]
        session_id: ConversationId,
        #[schema(value_type = String)]
        message_id: MessageId,
        /// Whether it was accepted before, under the same key.
        before: bool,
    },
    /// Events of the conversation follow.
    #[serde(rename_all = "camelCase")]
    Subscribed {
        #[schema(value_type = String)]
        session_id: ConversationId,
        /// The number of the event before the first one that follows.
        after: u64,
        /// The number of the newest event now.
        last: u64,
    },
    /// No more events of the conversation follow.
    #[serde(rename_all = "camelCase")]
    Unsubscribed {
        #[schema(value_type = String)]
        session_id: ConversationId,
    },
    /// The settings of a conversation are changed; they apply from the next turn on.
    #[serde(rename_all = "camelCase")]
    Updated {
        #[schema(value_type = String)]
        session_id: ConversationId,
    },
    /// The running turn is asked to stop; its `turn_end` follows.
    #[serde(rename_all = "camelCase")]
    Cancelling {
        #[schema(value_type = String)]
        session_id: ConversationId,
    },
    /// The answer to a question was delivered.
    #[serde(rename_all = "camelCase")]
    Answered {
        #[schema(value_type = String)]
        session_id: ConversationId,
    },
    /// The turn waits for the owner's approval, so the stream of server-sent events that waited for its end is over.
    /// Further events are in the conversation's stream.
    #[serde(rename_all = "camelCase")]
    WaitingForApproval {
        #[schema(value_type = String)]
        session_id: ConversationId,
        #[schema(value_type = String)]
        turn_id: TurnId,
        /// Always `waiting_for_approval`.
        outcome: &'static str,
        /// The question's id, which an `answer` names as `callId`.
        question: String,
    },
    /// The answer to `ping`.
    Pong,
    /// A status of the server itself, such as that it stops.
    #[serde(rename_all = "camelCase")]
    Status {
        /// The conversation, on a stream of a single one.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<String>)]
        session_id: Option<ConversationId>,
        message: String,
    },
    /// A request was refused.
    Problem {
        #[serde(flatten)]
        problem: Problem,
    },
}

/// A reply with the id of its request.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReplyEnvelope<'a> {
    #[serde(flatten)]
    reply: &'a Reply,
    #[serde(skip_serializing_if = "Option::is_none")]
    in_reply_to: Option<&'a str>,
}

impl Reply {
    /// Serialises the reply.
    pub(super) fn to_wire(&self, in_reply_to: Option<&str>) -> Utf8Bytes {
        // Serialising strings and numbers can't fail.
        serde_json::to_string(&ReplyEnvelope { reply: self, in_reply_to }).unwrap_or_default().into()
    }
}

impl From<Problem> for Reply {
    fn from(problem: Problem) -> Self {
        Self::Problem { problem }
    }
}
