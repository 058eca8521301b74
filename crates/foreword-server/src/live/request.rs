//! What a client of the WebSocket may say.

use foreword_core::turn::Asked;
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::api::present;
use crate::problem::Problem;

/// The longest name of a message.
pub(crate) const LONGEST_KEY: usize = 200;
/// The longest name of anything else a client says, in bytes: it comes back with the answer.
const LONGEST_ID: usize = 200;
/// How much is told of what can't be read.
const TOLD: usize = 500;

/// What a client says, with a name for it if it wants the answer to bear it.
#[derive(Debug, Clone, PartialEq, Deserialize, ToSchema)]
pub(crate) struct Said {
    /// Comes back as `inReplyTo`. At most 200 bytes.
    pub(super) id: Option<String>,
    #[serde(flatten)]
    pub(super) request: Request,
}

/// What a client asks for.
#[derive(Debug, Clone, PartialEq, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(crate) enum Request {
    /// Somebody says something. From then on the client sees what happens in the conversation.
    Message {
        /// In which conversation. Without one a new one is begun.
        session_id: Option<String>,
        text: String,
        /// What the client calls it: the same again is answered once.
        key: Option<String>,
        /// Who says it; for tokens that may assert it.
        user: Option<String>,
        /// Where, as `family:identifier`; for tokens that may assert it.
        channel: Option<String>,
        /// In which situation; for tokens that may assert it.
        situation: Option<String>,
        /// Instructions for a new conversation alone; without `sessionId`. Only for the owner, or with the scope `assert`.
        session_instructions: Option<String>,
        /// The working directory of a new conversation; without `sessionId`. Only for the owner, or with the scope `assert`.
        cwd: Option<String>,
        /// Values for templates in a new conversation; without `sessionId`. Only for the owner, or with the scope `assert`.
        #[schema(value_type = Option<Object>)]
        context: Option<Map<String, Value>>,
    },
    /// Changes the settings of a conversation. What is left out stays as it is; `null` removes it. Only for the owner, or with
    /// the scope `assert`.
    Update {
        session_id: String,
        #[serde(default, deserialize_with = "present")]
        #[schema(value_type = Option<String>, required = false)]
        session_instructions: Option<Option<String>>,
        #[serde(default, deserialize_with = "present")]
        #[schema(value_type = Option<String>, required = false)]
        cwd: Option<Option<String>>,
        #[serde(default, deserialize_with = "present")]
        #[schema(value_type = Option<Object>, required = false)]
        context: Option<Option<Map<String, Value>>>,
    },
    /// Stops the turn that runs. What was said is kept.
    Cancel { session_id: String },
    /// Shows what happens in a conversation: behind number `after`, or from now on.
    Subscribe { session_id: String, after: Option<u64> },
    /// Shows no more of it.
    Unsubscribe { session_id: String },
    /// The owner's answer to a question.
    Answer {
        session_id: String,
        call_id: String,
        /// `once`, `rest_of_turn` or `no`.
        #[schema(value_type = String)]
        answer: Asked,
    },
    /// Asks for a `pong`; for clients that can't send pings of the protocol.
    Ping,
}

impl Said {
    /// The id of a text that can't be read otherwise, so that whoever sent it knows which it was.
    pub(super) fn id_in(text: &str) -> Option<String> {
        let said: serde_json::Value = serde_json::from_str(text).ok()?;
        said["id"].as_str().filter(|id| id.len() <= LONGEST_ID).map(str::to_owned)
    }

    /// What a text says.
    pub(super) fn read(text: &str) -> Result<Self, Problem> {
        let said: Self = serde_json::from_str(text).map_err(|error| {
            // As JSON it can neither end a line nor be taken for anything else.
            let error: String = error.to_string().chars().take(TOLD).collect();
            Problem::bad_request("bad_message", format!("this can't be read: {error}")).help(
                "send JSON with a `type`: message, update, cancel, subscribe, unsubscribe, answer or ping",
            )
        })?;
        if said.id.as_ref().is_some_and(|id| id.len() > LONGEST_ID) {
            let detail = format!("`id` has {LONGEST_ID} bytes at most");
            return Err(Problem::bad_request("bad_message", detail));
        }
        Ok(said)
    }
}
